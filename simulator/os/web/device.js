// Loads the simulated device that was compiled for a page, and runs a program with it. A book has
// docs/live/live.wasm as text after this file (workbook/simulated_device.py). Of WASI, this file
// has what the programs use: arguments, environment, and output.
"use strict";

// On the window, so that a script can ask whether it is loaded.
const simulatedDevice = (globalThis.simulatedDevice = {
    wasm: "", // the module, with a character for each byte
    module: null, // a promise of the compiled module

    compile() {
        if (!this.module) {
            const bytes = Uint8Array.from(this.wasm, (byte) => byte.charCodeAt(0));
            this.module = WebAssembly.compile(bytes);
        }
        return this.module;
    },

    // Runs a program, such as "docs/live/bench", in a new process: with these arguments, and with
    // the environment as an object, {SIM_SCHEDULE: "late"}. Returns its exit status, what it
    // printed, and its journal: a text of JSON Lines.
    async run(program, programArguments, environment) {
        const result = { status: 0, output: "", errors: "", journal: "" };
        const end = {}; // thrown when the program ends
        // By descriptor: standard output, standard error, and the journal (os/web/web_page.c).
        const files = { 1: "output", 2: "errors", 3: "journal" };
        const decoders = { 1: new TextDecoder(), 2: new TextDecoder(), 3: new TextDecoder() };
        const texts = {
            arguments: ["live", program, ...programArguments],
            environment: Object.entries({ SIM_JOURNAL: "journal", ...environment }).map(
                ([name, value]) => `${name}=${value}`,
            ),
        };
        let memory;
        const view = () => new DataView(memory.buffer);
        const bytesAt = (at, count) => new Uint8Array(memory.buffer, Number(at), Number(count));
        const encoded = (text) => new TextEncoder().encode(`${text}\0`);

        // An address is a BigInt, because it has 64 bits.
        const sizes = (list) => (countAt, bytesAtAddress) => {
            const total = list.reduce((sum, text) => sum + encoded(text).length, 0);
            view().setBigUint64(Number(countAt), BigInt(list.length), true);
            view().setBigUint64(Number(bytesAtAddress), BigInt(total), true);
            return 0;
        };
        const copy = (list) => (pointersAt, textAt) => {
            list.forEach((text, number) => {
                const bytes = encoded(text);
                view().setBigUint64(Number(pointersAt) + 8 * number, textAt, true);
                bytesAt(textAt, bytes.length).set(bytes);
                textAt += BigInt(bytes.length);
            });
            return 0;
        };
        const write = (descriptor, piecesAt, count, writtenAt) => {
            let written = 0n;
            for (let piece = 0; piece < Number(count); piece++) {
                const at = Number(piecesAt) + 16 * piece;
                const length = view().getBigUint64(at + 8, true);
                const bytes = bytesAt(view().getBigUint64(at, true), length).slice();
                result[files[descriptor]] += decoders[descriptor].decode(bytes, { stream: true });
                written += length;
            }
            view().setBigUint64(Number(writtenAt), written, true);
            return 0;
        };
        const exit = (status) => {
            result.status = status;
            throw end;
        };
        const imports = {
            wasi_snapshot_preview1: {
                args_sizes_get: sizes(texts.arguments),
                args_get: copy(texts.arguments),
                environ_sizes_get: sizes(texts.environment),
                environ_get: copy(texts.environment),
                fd_write: write,
                fd_close: () => 0,
                fd_seek: () => 0,
                proc_exit: exit,
            },
            env: { emscripten_notify_memory_growth() {} },
        };
        const instance = await WebAssembly.instantiate(await this.compile(), imports);
        memory = instance.exports.memory;
        try {
            instance.exports._start();
        } catch (reason) {
            if (reason !== end) throw reason;
        }
        return result;
    },

    apart: null, // the thread of runApart, and the function that gives its run up

    // Does what run does in a thread of its own. A page from a file may have one, too, if the
    // thread's script is no file. stop() ends the run, whose promise then fails. After a failure
    // the next run has a new thread.
    runApart(...given) {
        if (!this.apart) {
            const script = `const simulatedDevice = {
                wasm: ${JSON.stringify(this.wasm)}, module: null, ${this.compile}, ${this.run} };
                onmessage = async ({ data }) => {
                    try {
                        postMessage({ result: await simulatedDevice.run(...data) });
                    } catch (reason) {
                        postMessage({ failed: String(reason) });
                    }
                };`;
            const address = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
            this.apart = { thread: new Worker(address) };
        }
        const { apart } = this;
        return new Promise((resolve, reject) => {
            apart.giveUp = (why) => {
                apart.thread.terminate();
                this.apart = null;
                reject(new Error(why));
            };
            apart.thread.onmessage = ({ data: { result, failed } }) =>
                result ? resolve(result) : apart.giveUp(failed);
            apart.thread.onerror = (event) => apart.giveUp(event.message || "its thread ended");
            apart.thread.postMessage(given);
        });
    },

    stop() {
        this.apart?.giveUp("it was stopped");
    },
});
