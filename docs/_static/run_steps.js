// The steps of a run, from its journal: the one program that computes them, in the book's build
// (book/run_steps.py gives it to QuickJS) and in the browser, for a run that was made
// there. What is in the streams is read as order_picture.py does, function by function with their
// names.
//
//   runSteps(journal, { sources, because, errors, numbers, upToReport, nameOf, isOwn })
//
// journal: its lines, parsed; sources: {file: text} of the program; because: {rung: its sentence}
// (rungs.py); errors: what the run wrote to its standard error, with the reports; numbers: of the
// calls that are shown, if not all; upToReport: the first report ends the run; nameOf: what a
// stream is called, if not as in the program; isOwn: which lines of the journal are steps, if not
// those of the program's functions. Returns what run_view.js takes. A run without a step is an
// Error, and so is one with too many.
//
//   runSteps.pools(journal)
//
// The pools, for the pictures (memory_picture.py): of each its number, threshold, limit, and a
// moment for each call that is about it or changed it, by the call's place in the journal. A pool
// whose allocations lie on more segments than it has is an Error.
//
// A step is a call that stands in the program itself, or several equal queries or launches in a
// row; what a helper of lessons/*.h calls is part of the next step. Calls after the last step of
// the run have none. What the checker reported is a step of its own, behind that of the call.
"use strict";

const runSteps = (() => {
    const MIB = 2 ** 20;
    const SEGMENT = 32 * MIB;
    const GRAPHS_POOL = "graphs"; // stands where other pools have their number
    const ALLOCATIONS = ["cudaMallocAsync", "cudaMallocFromPoolAsync"];
    const FREES = ["cudaFreeAsync", "cudaFree"];
    const WAITS = ["cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize"];
    const GRAPHS = ["cudaGraphLaunch", "cudaDeviceGraphMemTrim"];
    const QUERIES = ["cudaStreamQuery", "cudaEventQuery"];
    const ATTRIBUTE_SET = "cudaMemPoolSetAttribute";
    const THRESHOLD = "cudaMemPoolAttrReleaseThreshold";
    const RESETS = ["cudaMemPoolAttrUsedMemHigh", "cudaMemPoolAttrReservedMemHigh"];
    const KERNEL = "sim_launch_kernel";
    const LAUNCH = "cudaGraphLaunch";
    const RUNS = [
        "launch_fill", "launch_add", "launch_hold", "cudaMemcpyAsync", "cudaMemcpy",
        "cudaMemcpyPeerAsync", "cudaMemsetAsync", "cudaMemset", "cudaLaunchHostFunc",
    ];
    const REPEATS = 3; // so many equal calls in a row are one
    const EVENTS = { cudaEventRecord: "recorded", cudaStreamWaitEvent: "wait is over" };
    const POINTS = {
        cudaFreeAsync: "free", cudaEventRecord: "record", cudaStreamWaitEvent: "wait",
        cudaMallocAsync: "allocate", cudaMallocFromPoolAsync: "allocate",
    };
    const ASKS = [...ALLOCATIONS, ...FREES, ...WAITS, ...GRAPHS, "cudaMemPoolTrimTo"];
    const HEADERS = ["lessons/workbook.h", "lessons/processes.h", "lessons/kernels.h"];
    const STREAM_COLORS = 4;
    const MOST_STEPS = 400;
    const succeeded = (line) => line.result === "cudaSuccess";

    // ---- words (memory_picture.py, svg.py) ----

    function mib(count) {
        if (0 < count && count < 1024) return `${count} B`;
        if (0 < count && count < MIB) return `${Number((count / 1024).toPrecision(4))} KiB`;
        return String(count % MIB ? Number((count / MIB).toPrecision(4)) : count / MIB);
    }

    const withUnit = (count) => (0 < count && count < MIB ? mib(count) : `${mib(count)} MiB`);

    function thresholdWords(threshold) {
        if (threshold >= 2 ** 62) return "the maximum";
        return threshold ? withUnit(threshold) : "0";
    }

    // A tie goes to the even digit, as in Python; of ties, only those of .25 and .75 are exact.
    const microseconds = (nanoseconds) =>
        ((nanoseconds % 1000 === 250 ? nanoseconds - 50 : nanoseconds) / 1000).toFixed(1);

    function streamName(stream) {
        if (typeof stream === "string")
            return stream.startsWith("stream ") ? stream : `${stream} stream`;
        return `stream ${stream}`;
    }

    function streamClass(stream, streams) {
        if (stream === "legacy") return "s-legacy";
        const at = streams.filter((one) => one !== "legacy").indexOf(stream);
        return `s-${(at % STREAM_COLORS) + 1}`;
    }

    const streamOf = (line) =>
        line.stream === "per-thread" ? `stream of thread ${line.thread || 0}` : line.stream;

    // ---- the program (chosen.py) ----

    // {name: [first line, last line]} of a source in the workbook's form.
    function functionsOf(text) {
        const found = {};
        let name = null;
        let first = 0;
        text.split("\n").forEach((line, index) => {
            const head = /^\w[^;=]*?\b(\w+)\(/.exec(line);
            if (head && !/^(typedef|#)/.test(line)) [name, first] = [head[1], index + 1];
            if ((line === "}" || (head && line.endsWith("}"))) && name) {
                found[name] = [first, index + 1];
                name = null;
            }
        });
        return found;
    }

    function functionFinder(sources) {
        const known = Object.fromEntries(
            Object.entries(sources).map(([file, text]) => [file, functionsOf(text)]),
        );
        return (line) => {
            if (line.file === undefined || HEADERS.includes(line.file)) return "";
            const all = Object.entries(known[line.file] || {});
            const own = all.find(([, [first, last]]) => first <= line.line && line.line <= last);
            return own ? own[0] : "";
        };
    }

    // ---- the pools ----
    //
    // The journal does not say which segments are mapped, only how many: they are those that
    // allocations lie on, and then the lowest. A free is pending until the host has waited for it,
    // or a later allocation takes its memory. What a device keeps for graphs is one more pool. The
    // journal has no watermarks: each is the most that its figure has been since its reset.

    function segmentsOf(offset, bytes) {
        const first = Math.floor(offset / SEGMENT);
        const last = Math.floor((offset + bytes - 1) / SEGMENT);
        return Array.from({ length: last - first + 1 }, (_, at) => first + at);
    }

    function mappedSegments(pool, live) {
        const needed = new Set([...live.values()].flatMap(([offset, bytes]) =>
            segmentsOf(offset, bytes)));
        const count = Math.floor(pool.reserved / SEGMENT);
        if (needed.size > count)
            throw new RangeError(`pool ${pool.number} holds ${count} segments, but its ` +
                `allocations lie on ${needed.size}`);
        for (let at = 0; needed.size < count; at++) needed.add(at);
        return needed;
    }

    // Two graphs may use one address for different memory: the second is drawn below the first.
    function belowOthers(offset, bytes, live) {
        const others = [...live.values()].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
        for (const [other, count] of others)
            if (offset < other + count && other < offset + bytes)
                offset = Math.ceil((other + count) / SEGMENT) * SEGMENT;
        return offset;
    }

    // Which frees the host has waited for: those before a synchronization in the order of streams
    // and events.
    class Frees {
        constructor() {
            this.streams = new Map();
            this.events = new Map();
            this.all = new Set();
        }

        of(stream) {
            if (!this.streams.has(stream)) this.streams.set(stream, new Set());
            return this.streams.get(stream);
        }

        take(line) {
            const { call, stream, event } = line;
            if (!succeeded(line)) return new Set();
            if (call === "cudaFreeAsync" && "allocation" in line) {
                this.of(stream).add(line.allocation);
                this.all.add(line.allocation);
            } else if (call === "cudaEventRecord") {
                this.events.set(event, new Set(this.of(stream)));
            } else if (call === "cudaStreamWaitEvent") {
                const own = this.of(stream);
                for (const one of this.events.get(event) || []) own.add(one);
            } else if (WAITS.includes(call) || line.acquired) {
                if ("stream" in line) return this.of(stream);
                return "event" in line ? this.events.get(event) || new Set() : this.all;
            }
            return new Set();
        }
    }

    // Leaves of the pending frees what no live allocation lies on.
    function withoutTaken(pending, live) {
        for (const [at, bytes] of live.values()) {
            for (const [key, [offset, count, stream, allocation]] of [...pending]) {
                if (!(offset < at + bytes && at < offset + count)) continue;
                pending.delete(key);
                const end = offset + count;
                for (const [begin, rest] of [[offset, at - offset], [at + bytes, end - at - bytes]])
                    if (rest > 0)
                        pending.set(`${allocation} ${begin}`, [begin, rest, stream, allocation]);
            }
        }
    }

    function raiseWatermarks(pool) {
        pool.high = [Math.max(pool.high[0], pool.used), Math.max(pool.high[1], pool.reserved)];
    }

    function addMoments(pool, line, own) {
        for (const live of pool.launch.length ? pool.launch : [pool.live]) {
            const isLaunch = pool.launch.length > 0;
            let { used } = pool;
            const mapped = mappedSegments(pool, live);
            for (const [key, [offset, bytes]] of [...pool.pending])
                if (!segmentsOf(offset, bytes).every((one) => mapped.has(one)))
                    pool.pending.delete(key); // a refused request may return memory that is freed
            if (isLaunch) used = [...live.values()].reduce((sum, place) => sum + place[1], 0);
            pool.moments.push({
                call: line.n,
                own, // the call is about this pool
                live: new Map(live),
                pending: isLaunch ? new Map() : new Map(pool.pending),
                mapped,
                used,
                reserved: pool.reserved,
                high: pool.high,
            });
        }
    }

    function poolsOf(journal) {
        const pools = new Map();
        const frees = new Frees();
        const poolWith = (number) => {
            if (!pools.has(number))
                pools.set(number, {
                    number, limit: 0, threshold: 0, used: 0, reserved: 0, high: [0, 0],
                    live: new Map(), pending: new Map(), moments: [],
                    launch: [], // what is live after each allocation of a launch
                    last: [0, 0], // used and reserved after the last call
                    destroyed: false, over: false, // destroyed, and nothing of it is left
                });
            return pools.get(number);
        };
        const hasChanged = (pool) => pool.used !== pool.last[0] || pool.reserved !== pool.last[1];
        for (const line of journal) {
            let pool = line.pool === undefined ? null : poolWith(line.pool);
            if ("did" in line) {
                const graphs = poolWith(GRAPHS_POOL);
                if (pool && "reserved" in line) {
                    pool.reserved = line.reserved;
                    raiseWatermarks(pool);
                } else if (line.did === "allocate") {
                    const offset = belowOthers(line.offset, line.bytes, graphs.live);
                    const place = [offset, line.bytes, line.stream, line.allocation];
                    graphs.live.set(line.allocation, place);
                    graphs.launch.push(new Map(graphs.live));
                } else if (line.did === "free") {
                    graphs.live.delete(line.allocation);
                }
                continue;
            }
            const { call } = line;
            if ("node" in line) continue; // captured: nothing of it happens before a launch
            if (GRAPHS.includes(call) && pools.has(GRAPHS_POOL)) pool = poolWith(GRAPHS_POOL);
            if (call === "cudaMemPoolCreate" && succeeded(line)) {
                pool.limit = line.max_size;
            } else if (call === ATTRIBUTE_SET && succeeded(line)) {
                if (line.attribute === THRESHOLD) pool.threshold = line.value;
                pool.high = pool.high.map((most, at) => (RESETS[at] === line.attribute ? 0 : most));
            } else if (ALLOCATIONS.includes(call) && succeeded(line) && "allocation" in line) {
                const place = [line.offset, line.bytes, line.stream, line.allocation];
                pool.live.set(line.allocation, place);
            } else if (FREES.includes(call) && succeeded(line) && pool) {
                // An imported one was never allocated here.
                const place = pool.live.get(line.allocation);
                pool.live.delete(line.allocation);
                if (place && call === "cudaFreeAsync")
                    pool.pending.set(`${line.allocation} ${place[0]}`,
                        [place[0], place[1], line.stream, line.allocation]);
            } else if (call === "cudaMemPoolDestroy" && succeeded(line)) {
                pool.destroyed = true;
            }
            if (pool) {
                pool.used = line.used ?? pool.used;
                pool.reserved = line.reserved ?? pool.reserved;
                raiseWatermarks(pool);
            }
            const over = frees.take(line);
            for (const one of pools.values()) {
                for (const [key, place] of [...one.pending])
                    if (over.has(place[3])) one.pending.delete(key);
                withoutTaken(one.pending, one.live);
                if (!one.reserved) one.pending.clear();
            }
            const touched = pool ? [pool] : [...pools.values()].filter(
                (one) => one.moments.length && !one.over && one.number !== GRAPHS_POOL &&
                    (WAITS.includes(call) || over.size || hasChanged(one)),
            );
            for (const one of touched) {
                addMoments(one, line, one === pool);
                one.last = [one.used, one.reserved];
                one.over = one.destroyed && one.used === 0 && one.reserved === 0;
                one.launch = [];
            }
        }
        const rank = (pool) => (pool.number === GRAPHS_POOL ? Infinity : pool.number);
        return [...pools.values()].sort((a, b) => rank(a) - rank(b));
    }

    // None where a pool's allocations lie on more segments than it has.
    function momentsOf(journal) {
        try {
            // One that is imported never has memory of its own here.
            return poolsOf(journal).filter(({ moments }) =>
                moments.some(({ reserved, live }) => reserved || live.size));
        } catch (reason) {
            if (reason instanceof RangeError) return [];
            throw reason;
        }
    }

    // ---- the streams (order_picture.py, pieces_of()) ----

    function piecesOf(journal) {
        const work = new Map();
        const turns = new Map();
        const pieces = new Map();
        for (const line of journal) {
            if (line.did === "run") work.set(line.of, [...(work.get(line.of) || []), line]);
            else if (line.did === "turn") turns.set(line.of, line.t);
        }
        for (const call of journal) {
            const { number } = call;
            const column = streamOf(call);
            const turn = "turn" in call ? call.end : turns.get(number);
            if (work.has(number)) {
                const runs = work.get(number);
                const first = runs.reduce((a, b) => (b.start < a.start ? b : a));
                const finish = Math.max(...runs.map((run) => run.finish));
                const words = call.call === LAUNCH ? `graph ${call.graph}` : first.op;
                const kind = words === "hold" ? "hold" : "work";
                pieces.set(number, { call, column, words, kind, start: first.start, finish });
            } else if (turn !== undefined) {
                const words = EVENTS[call.call] || "";
                const kind = "point";
                pieces.set(number, { call, column, words, kind, start: turn, finish: turn });
            }
        }
        return pieces;
    }

    // ---- the steps ----

    function merged(calls) {
        const keys = ["call", "line", "result", "stream", "thread"];
        const groups = [];
        for (const line of calls) {
            const last = groups.at(-1);
            if (last && keys.every((key) => last[0][key] === line[key])) last.push(line);
            else groups.push([line]);
        }
        return groups.flatMap((group) => {
            const name = group[0].call;
            const repeats = RUNS.includes(name) && group.length >= REPEATS;
            return QUERIES.includes(name) || repeats ? [group] : group.map((one) => [one]);
        });
    }

    // What happened, from the journal's facts: the call's own piece of work; what the pool used and
    // reserved before and after; whether a free is pending there; the row that it has in the order
    // of the streams.
    function sentence(group, piece, before, after, pending, row, { because, nameOf }) {
        const line = group.at(-1);
        const name = line.call;
        const times = group.length > 1 ? `${group.length} times: ` : "";
        const returned = before[1] - after[1];
        const gone = returned > 0 ? `${withUnit(returned)} return to the device.` : "";
        if (!succeeded(line)) {
            const all = gone && `All the same ${gone}`;
            return [`${times}It returns ${line.result}.`, all].filter(Boolean).join(" ");
        }
        if (line.captured && name in EVENTS)
            return "It is captured, as an order between nodes. Nothing happens before a launch.";
        if ("node" in line)
            return "It becomes a node of the graph. Nothing happens before a launch.";
        const stream = "stream" in line ? nameOf(streamOf(line)) : "";
        if (ALLOCATIONS.includes(name) && "offset" in line)
            return `It allocates ${withUnit(line.bytes)}. ${because[line.from]}`;
        if (name === "cudaFreeAsync" && !("used" in line))
            return "The free is queued. The memory still belongs to the other process.";
        if (name === "cudaFreeAsync") {
            const words = "The memory goes back to the pool, not to the device.";
            return pending ? `${words} The free is pending.` : words;
        }
        const took = `${microseconds(line.end - line.t)} µs`;
        if (WAITS.includes(name) || name === "cudaFree") {
            const kept = after[1] ? `The pool keeps ${withUnit(after[1])}.` : "";
            // notes/statistics has the recording.
            const counted = name === "cudaFree" && "pool" in line && after[0] === before[0]
                ? "The memory is free at once; the driver's figure of what is used still has it."
                : "";
            return [`It takes ${took}.`, gone, kept, counted].filter(Boolean).join(" ");
        }
        if (name === "cudaMemPoolTrimTo")
            return `${gone || "Nothing returns to the device."} ` +
                `The pool keeps ${withUnit(after[1])}.`;
        if (name === ATTRIBUTE_SET) {
            const words = line.value >= 1024 ? thresholdWords(line.value) : String(line.value);
            return `${line.attribute.replace(/^cudaMemPoolAttr/, "")} is now ${words}.`;
        }
        if (RUNS.includes(name) || name === KERNEL || name === LAUNCH) {
            const what = name === LAUNCH ? "graph" : "work";
            if (piece && piece.finish <= line.end)
                return `${times}The call returns when the ${what} is over, after ${took}.`;
            return `${times}The ${what} is queued. The call takes ${took}.`;
        }
        if (name === "cudaEventRecord") {
            const words = `It is recorded when ${stream} has come to this place.`;
            if (!row?.replaces) return words;
            const other = nameOf(row.replaces.stream);
            return `${words} It replaces the record in ${other}, for which nothing has waited.`;
        }
        if (name === "cudaStreamWaitEvent" && line.unrecorded)
            return "The event has no record yet, so nothing comes after it.";
        if (name === "cudaStreamWaitEvent") {
            const where = row?.source ? ` in ${nameOf(row.source.stream)}` : "";
            return `What is queued in ${stream} from here on comes after the record${where}.`;
        }
        return `${times}It returns cudaSuccess.`;
    }

    // Equal ones in a row are one: "fill × 3".
    function counted(pieces) {
        const groups = [];
        for (const [words, state] of pieces) {
            const last = groups.at(-1);
            if (last && last[0] === words && last[1] === state) last[2]++;
            else groups.push([words, state, 1]);
        }
        return groups.map(([words, state, count]) =>
            [count > 1 ? `${words} × ${count}` : words, state]);
    }

    function queuesAt(pieces, line, streams, nameOf) {
        const found = new Map(streams.map((stream) => [stream, []]));
        for (const piece of pieces) {
            if (piece.call.number > line.number || piece.finish <= line.end) continue;
            const words = POINTS[piece.call.call] ?? piece.words;
            const running = piece.kind === "hold" ? "held" : "runs";
            found.get(piece.column).push([words, piece.start > line.end ? "queued" : running]);
        }
        return streams.map((stream) => [nameOf(stream), counted(found.get(stream))]);
    }

    // The journal, in which a call has as a key whether it was captured, and whether its event has
    // no record. A stream of a thread has the thread's name.
    function withMore(journal) {
        let streams = new Set();
        const events = new Set();
        return journal.map((one) => {
            const line = "stream" in one ? { ...one, stream: streamOf(one) } : { ...one };
            if (line.call === "cudaStreamBeginCapture" || ("graph" in line && "node" in line))
                streams.add(line.stream);
            else if (line.call === "cudaStreamWaitEvent" && "graph" in line)
                streams.add(line.stream);
            else if (line.call === "cudaStreamEndCapture") streams = new Set();
            if (["cudaEventRecord", "cudaIpcOpenEventHandle"].includes(line.call))
                events.add(line.event);
            line.captured = streams.has(line.stream);
            line.unrecorded = !events.has(line.event);
            return line;
        });
    }

    // The pool that a step shows: that which a call was about last, or which it changed. take() is
    // for one call after the other.
    class Shown {
        constructor(journal) {
            this.pools = new Map(momentsOf(journal).map((pool) => [pool.number, pool]));
            this.ahead = journal.filter((line) => succeeded(line) || "attribute" in line);
            this.moments = [...this.pools.values()]
                .flatMap((pool) => pool.moments.map((moment) => [moment.call, pool, moment]));
            this.moments.sort((a, b) => a[0] - b[0]);
            this.known = new Map(); // of a pool: its moment
            this.about = []; // the pools of calls, the last one at the end
            this.thresholds = new Map();
            this.ofGraphs = null; // the pictures count bytes there, the device whole segments
            this.figures = new Map();
        }

        // {pool, moment, figures, threshold} after the call, or null if there is no pool with
        // memory yet.
        take(line) {
            while (this.moments.length && this.moments[0][0] <= line.n) {
                const [, pool, moment] = this.moments.shift();
                this.known.set(pool.number, moment);
            }
            while (this.ahead.length && this.ahead[0].n <= line.n) {
                const one = this.ahead.shift();
                if (!succeeded(one)) continue;
                const isGraphs = GRAPHS.includes(one.call);
                const name = isGraphs ? GRAPHS_POOL : one.pool;
                if (this.pools.has(name)) this.about.push(name);
                if (isGraphs && "used" in one) this.ofGraphs = [one.used, one.reserved];
                if (one.attribute === THRESHOLD && "value" in one)
                    this.thresholds.set(one.pool, one.value);
            }
            const { known } = this;
            const about = this.about.findLast((name) => known.has(name));
            if (about === undefined) return null;
            const figures = new Map();
            for (const [name] of this.pools)
                if (known.has(name))
                    figures.set(name, [known.get(name).used, known.get(name).reserved]);
            if (this.ofGraphs) figures.set(GRAPHS_POOL, this.ofGraphs);
            const changed = [...figures.keys()].filter((name) => {
                const [used, reserved] = this.figures.get(name) || [0, 0];
                return used !== figures.get(name)[0] || reserved !== figures.get(name)[1];
            });
            let pool = about;
            if (this.figures.size && changed.length && !changed.includes(pool))
                pool = changed.at(-1);
            this.figures = figures;
            return {
                pool, moment: known.get(pool), figures: figures.get(pool),
                threshold: this.thresholds.get(pool) || 0,
            };
        }
    }

    const colored = (places, streams) =>
        [...places.values()].map(([offset, bytes, stream, allocation]) =>
            [offset, bytes, streamClass(stream, streams), allocation]);

    // ---- the order of the streams ----

    // How the program calls what the first argument of its call names: {number: name}. A call that
    // names one variable several times, `&workers[i]` in a loop, has made [0], [1] and so on, or in
    // a loop that counts down the last one first. Of several with one name, such as a variable of a
    // function that runs twice, the second is #2.
    function namesOf(journal, sources, call, key) {
        const found = new Map();
        const calls = journal.filter((one) => call.test(one.call) && succeeded(one));
        for (const line of calls) {
            const above = sources[line.file]?.split("\n").slice(0, line.line) || [""];
            const made = /cuda(?:Stream|Event)Create\w*\(\s*&([^,;]+?)\s*[,)]/;
            const name = made.exec(above.at(-1))?.[1];
            if (!name || found.has(line[key])) continue;
            const here = calls.filter((one) => one.file === line.file && one.line === line.line);
            if (above.findLast((text) => text.includes("for ("))?.includes("--")) here.reverse();
            const at = here.findIndex((one) => one[key] === line[key]);
            found.set(line[key], name.replace(/\[\w*[a-z]\w*\]$/, `[${at}]`));
        }
        const counts = new Map();
        for (const [number, name] of found) {
            counts.set(name, (counts.get(name) || 0) + 1);
            if (counts.get(name) > 1) found.set(number, `${name} #${counts.get(name)}`);
        }
        return found;
    }

    const streamNames = (journal, sources) =>
        namesOf(journal, sources, /^cudaStreamCreate/, "stream");

    // What a call does in its stream, in a word or two.
    function wordsOf(line, piece, count, eventOf) {
        const name = line.call;
        const allocation = line.allocation ?? "";
        const words = {
            cudaEventRecord: `record ${eventOf(line)}`,
            cudaStreamWaitEvent: `wait ${eventOf(line)}`,
            cudaFreeAsync: `free ${allocation}`, cudaFree: `cudaFree ${allocation}`,
            cudaMallocAsync: `alloc ${allocation}`, cudaMallocFromPoolAsync: `alloc ${allocation}`,
        }[name] ?? piece?.words ?? name;
        return `${words.trim()}${count > 1 ? ` × ${count}` : ""}`;
    }

    // [{numbers, line, stream, words, kind, source, replaces, piece}]: what the calls put into
    // streams, and where the host waited. kind: work, hold, point, host (it waits, or a call of
    // which it waits), refused. source: the row of the record that a wait has; replaces: of a
    // record the one that nothing has waited for. A host that waits for all has no stream.
    function rowsOf(groups, work, eventOf) {
        const newest = new Map(); // of an event: the row of its last record
        const waited = new Set(); // rows of records that something has waited for
        const rows = [];
        for (const group of groups) {
            const line = group.at(-1);
            const name = line.call;
            const own = group.map((one) => work.get(one.number)).filter(Boolean);
            const isHost = WAITS.includes(name) ||
                (line.acquired && succeeded(line) && !own.length);
            const isMeant = name in POINTS || RUNS.includes(name) || name === LAUNCH;
            const isRefused = !succeeded(line) && isMeant;
            if (line.captured || "node" in line) continue;
            if (!own.length && !isHost && !isRefused && name !== "cudaFree") continue;
            const piece = own.at(-1);
            const row = {
                numbers: group.map((one) => one.number), line: line.line,
                stream: own.length ? piece.column : line.stream ?? null,
                words: QUERIES.includes(name) ? "query: done" : isHost ? "host waits"
                    : wordsOf(line, piece, own.length, eventOf),
                kind: isRefused ? "refused" : isHost || !own.length ? "host" : piece.kind,
                start: own.length ? own[0].start : line.t,
                finish: own.length ? piece.finish : line.end,
            };
            if (isHost && "event" in line) row.stream = newest.get(line.event)?.stream ?? null;
            if (name === "cudaStreamWaitEvent" || (isHost && "event" in line)) {
                row.source = newest.get(line.event);
                waited.add(row.source);
            }
            if (name === "cudaEventRecord") {
                const old = newest.get(line.event);
                if (old && !waited.has(old) && old.stream !== row.stream) row.replaces = old;
                newest.set(line.event, row);
            }
            rows.push(row);
        }
        return rows;
    }

    // The rows as the picture takes them. `at` is the step of a row, by which others name it;
    // `runs` and `done` are the steps from which on it runs and is over.
    function drawnRows(rows, steps, lanes) {
        const from = (time, first) => {
            const found = steps.findIndex((step, at) => at >= first && step.end >= time);
            return found < 0 ? null : found;
        };
        for (const row of rows)
            row.at = steps.findIndex((step) => row.numbers.includes(step.number));
        const shown = rows.filter((row) => row.at >= 0);
        return shown.map((row) => {
            const { at, line, words, kind } = row;
            const lane = row.stream === null ? null : lanes.indexOf(row.stream);
            const drawn = { at, line, lane: lane < 0 ? null : lane, words, kind };
            Object.assign(drawn, { source: null, replaced: null });
            drawn.runs = from(row.start, at);
            drawn.done = from(row.finish, at);
            if (row.source?.at >= 0) drawn.source = row.source.at;
            const next = shown.find((other) => other.replaces === row);
            if (next) drawn.replaced = next.at;
            return drawn;
        });
    }

    // ---- what the checker reported ----

    const BY_HOST = "a load or store"; // no call: an access of the host

    // What a report says under a heading, with the names that the program has for its streams and
    // for the memory, and with the lines alone of the file that is shown.
    function wordsUnder(heading, text, inProgram) {
        const found = new RegExp(`^ {2}${heading}: +(.*(?:\\n {4,}.*)*)`, "m").exec(text);
        return found ? inProgram(found[1].replace(/\n +/g, " ")) : "";
    }

    // (text) => the text in the program's own names. The checker calls a stream "stream 1
    // (worker)", and memory "allocation 2", which was allocated at a line that names it.
    function programNames(report, file, source, streams) {
        const lines = source.split("\n");
        const memory = [...report.matchAll(/:(\d+) \((allocation \d+),/g)].flatMap(
            ([, line, name]) => {
                const words = /&(\w+(?:(?:\.|->)\w+|\[\w+\])*)/.exec(lines[line - 1] || "");
                return words ? [[name, words[1]]] : [];
            });
        const own = new Map([...streams, ...memory]);
        const at = new RegExp(`${file.replace(/\./g, "\\.")}:(\\d+)`, "g");
        return (text) => text.replace(/\b(stream \d+) \([^\s():]+\)/g, "$1")
            .replace(/\b(?:stream|allocation) \d+\b/g, (name) => own.get(name) || name)
            .replace(at, "line $1");
    }

    // [{n, number, marks, words, say, missing, todo, earlier, later}] of the reports, each place
    // and kind once. errors: what the program wrote to its standard error, with the reports in this
    // order; streams: their names in the program.
    function reportsOf(journal, errors, file, source, streams) {
        const texts = [...errors.matchAll(/^hazard: (.*\n(?: {2}.*\n)*)/gm)].map((one) => one[1]);
        const calls = new Map(journal.filter((line) => "number" in line && !("did" in line))
            .map((line) => [line.number, line]));
        const found = new Map();
        for (const hazard of journal.filter((line) => line.did === "hazard")) {
            const at = texts.findIndex((text) => text.startsWith(hazard.kind));
            const [text] = at < 0 ? [""] : texts.splice(at, 1);
            const places = [...text.matchAll(/^ {2}([a-z]\w*) +.*?\bat ([\w/.]+):(\d+)/gm)];
            // Three: where it was allocated, and then the two accesses.
            let marks = places.slice(-2).filter((one) => one[2] === file).map((one) => +one[3]);
            if (!places.length)
                marks = [hazard.earlier, hazard.later].map((number) => calls.get(number))
                    .filter((call) => call?.file === file).map((call) => call.line);
            const key = `${hazard.kind} ${marks}`;
            if (found.has(key) || !marks.length) continue;
            const inProgram = programNames(text, file, source, streams);
            found.set(key, {
                n: hazard.n, hazard, marks, number: hazard.later,
                say: inProgram(text.split("\n")[0]) || `${hazard.kind}.`,
                missing: wordsUnder("Missing", text, inProgram),
                todo: wordsUnder("To do", text, inProgram),
                words: hazard.kind === "use after free" ? "✗ after the free" : "✗ no order",
            });
        }
        return [...found.values()];
    }

    // The edge that is missing, from one row to another, if it is one of order. An access of the
    // host has a row of its own, at the report.
    function missing({ hazard, words, missing: what, todo }, placeOf, at) {
        const isOrder = "earlier" in hazard &&
            ("unordered" in hazard || hazard.kind === "use after free");
        return {
            earlier: placeOf(hazard.earlier),
            later: hazard.call === BY_HOST ? at : placeOf(hazard.later),
            words: isOrder ? words : "✗",
            missing: what,
            todo,
        };
    }

    // The steps with a step for each report, behind that of the call which it is about.
    function withReports(steps, reports) {
        const all = [...steps];
        for (const report of reports) {
            const { n, number, marks, say, hazard } = report;
            const isLeak = hazard.kind === "leak"; // found when the program ends
            const before = isLeak ? all.at(-1) : all.findLast((step) =>
                number ? step.first <= number : step.n < n);
            if (!before) continue;
            const lines = [...new Set(marks)].map((line) => `line ${line}`).join(" and ");
            const step = {
                ...before, line: marks.at(-1), call: `The report, ${lines}`, say,
                marks: [...new Set(marks)], report,
            };
            delete step.asks;
            all.splice(all.indexOf(before) + 1, 0, step);
        }
        return all;
    }

    // ---- the whole ----

    // What a run begins with: its first allocation ahead of a report, else what is no preparation.
    const ALLOCATES = /^cudaMalloc((FromPool)?Async)?$|MemAllocNode$/;
    const SET_UP = /^cuda(Stream|Event)Create|^cuda(Set|Get)Device|GetDefaultMemPool|MallocHost$/;

    function read(journalRead, options) {
        const { sources = {}, because, isOwn, numbers, errors = "", upToReport = false } = options;
        const journal = withMore(journalRead);
        const functionOf = functionFinder(sources);
        const chosen = numbers && new Set(numbers);
        let own = journal.filter((line) =>
            "call" in line && !("did" in line) && "number" in line &&
                (isOwn ? isOwn(line) : functionOf(line)) &&
                (!chosen || chosen.has(line.number)));
        const hazard = upToReport && journal.find((line) => line.did === "hazard");
        if (hazard)
            own = own.filter((line) => "later" in hazard
                ? line.number <= hazard.later : line.n < hazard.n);
        const groups = merged(own);
        if (!groups.length || groups.length > MOST_STEPS)
            throw new Error(`it would have ${groups.length} steps, and not 1 to ${MOST_STEPS}`);
        const names = streamNames(journal, sources);
        const events = namesOf(journal, sources, /^cudaEventCreate/, "event");
        const nameOf = options.nameOf || ((stream) => names.get(stream) ?? streamName(stream));
        const bare = (name) => name?.replace(/ #\d+$/, "") || "";
        const isOne = new Set([...events.values()].map(bare)).size < 2;
        const eventOf = ({ event }) => (isOne ? "" : bare(events.get(event)));
        const shown = new Shown(journal);
        const work = piecesOf(journal);
        const pieces = [...work]
            .filter(([number]) => number <= own.at(-1).number)
            .sort((a, b) => a[0] - b[0])
            .map(([, piece]) => piece);
        const streams = [...new Set(pieces.map((piece) => piece.column))];
        const places = [...shown.pools.values()].flatMap(({ moments }) =>
            moments.flatMap(({ live }) => [...live.values()]));
        const colors = [...new Set([...streams, ...places.map((place) => place[2])])];
        const rows = rowsOf(groups, work, eventOf);
        const rowOf = new Map(rows.map((row) => [row.numbers.at(-1), row]));
        const tops = {};
        const before = new Map();
        let steps = groups.map((group) => {
            const line = group.at(-1);
            const taken = shown.take(line);
            let state = null;
            if (taken) {
                const { pool, moment, figures: [used, reserved], threshold } = taken;
                const segments = [...moment.mapped].sort((a, b) => a - b);
                tops[pool] = Math.max(tops[pool] || 1, ...segments.map((one) => one + 1));
                const live = colored(moment.live, colors);
                const pending = colored(moment.pending, colors);
                const { limit } = shown.pools.get(pool);
                state = { pool, used, reserved, threshold, limit, segments, live, pending };
            }
            const after = state ? [state.used, state.reserved] : [0, 0];
            const isPending = Boolean(state?.pending.length);
            const piece = work.get(line.number);
            const past = before.get(state?.pool) || [0, 0];
            const row = rowOf.get(line.number);
            before.set(state?.pool, after);
            return {
                line: line.line,
                number: line.number,
                first: group[0].number,
                n: line.n,
                end: line.end,
                call: line.call + ("stream" in line ? `, ${nameOf(line.stream)}` : ""),
                ...(ASKS.includes(line.call) ? { asks: 1 } : {}),
                say: sentence(group, piece, past, after, isPending, row, { because, nameOf }),
                state,
                streams: queuesAt(pieces, line, streams, nameOf),
            };
        });
        const { file } = own[0];
        const called = [...names].map(([stream, name]) => [streamName(stream), name]);
        let reports = reportsOf(journal, errors, file, sources[file] || "", called);
        if (hazard) reports = reports.filter((report) => report.hazard === hazard);
        const last = own.at(-1);
        reports = reports.filter(({ hazard: one, number, n }) =>
            one.kind === "leak" || (number ? number <= last.number : n <= last.n + 1));
        steps = withReports(steps, reports);
        const lanes = [...new Set(rows.map((row) => row.stream).filter((one) => one !== null))];
        const drawn = drawnRows(rows, steps, lanes);
        const placeOf = (number) => {
            const found = rows.find((row) => row.numbers.includes(number));
            return found && found.at >= 0 ? found.at : null;
        };
        steps.forEach((step, at) => {
            if (step.report) step.report = missing(step.report, placeOf, at);
            if (step.report?.later === at)
                drawn.push({
                    at, line: step.line, lane: null, words: "the host's access", kind: "host",
                    runs: at, done: at, source: null, replaced: null,
                });
            delete step.n;
            delete step.first;
            delete step.end;
        });
        drawn.sort((a, b) => a.at - b.at);
        const calls = steps.map(({ call }) => call.split(",")[0]);
        const report = steps.findIndex((step) => step.report);
        const ahead = report < 0 ? calls : calls.slice(0, report);
        const allocation = ahead.findIndex((call) => ALLOCATES.test(call));
        const begin = allocation < 0 ? calls.findIndex((call) => !SET_UP.test(call)) : allocation;
        const named = new Set(own.map(functionOf));
        const marks = steps.flatMap((step) => step.marks || []);
        return {
            file,
            code: codeOf(sources[file] || "", named, marks),
            steps,
            tops,
            begin: Math.max(0, begin),
            lanes: lanes.map((stream) =>
                [nameOf(stream), streamName(stream), streamClass(stream, colors)]),
            rows: drawn,
        };
    }

    // [[number, text]] of the lines of these functions, and of those that have a mark.
    function codeOf(source, names, marks) {
        const text = source.split("\n");
        return Object.entries(functionsOf(source))
            .filter(([name, [first, last]]) =>
                names.has(name) || marks.some((line) => first <= line && line <= last))
            .map(([, span]) => span)
            .sort((a, b) => a[0] - b[0])
            .flatMap(([first, last]) =>
                text.slice(first - 1, last).map((words, at) => [first + at, words]));
    }

    function poolsToDraw(journal) {
        return poolsOf(journal.map((line, n) => ({ ...line, n }))).map((pool) => ({
            number: pool.number,
            threshold: pool.threshold,
            limit: pool.limit,
            moments: pool.moments.map((moment) => ({
                ...moment,
                live: [...moment.live.values()],
                pending: [...moment.pending.values()],
                mapped: [...moment.mapped],
            })),
        }));
    }

    return Object.assign(read, { pools: poolsToDraw });
})();
