// The pool bench (docs/bench.rst): a script of CUDA calls that the reader edits, buttons that write
// into it, and its run in steps. Every change runs the script from its first line, on the project's
// own C in the browser (simulated_device.js). The journal becomes steps by the rules that the
// book's build has (run_steps.js), and they are shown as those of a lesson's run (run_view.js).
"use strict";

(() => {
    const root = document.getElementById("pool-bench");
    if (!root) return;
    const ready = JSON.parse(root.dataset.scripts);

    // ---- what is on the page ----

    const { element: make, button } = workbook;
    let fields = 0;
    const labelled = (words, control) => {
        control.id = `bench-field-${fields++}`;
        const label = make("label", { htmlFor: control.id }, words);
        return make("span", { className: "bench-field" }, label, control);
    };
    const choice = (values) =>
        make(
            "select",
            {},
            ...values.map(([value, words]) => make("option", { value }, words || value)),
        );

    const script = make("textarea", { wrap: "off", spellcheck: false, autocapitalize: "off",
        "aria-label": "Script, one call per line" });
    const messages = make("div", { className: "bench-messages", "aria-live": "polite" });
    const program = make("code");
    const size = make("input", { type: "number", min: 1, max: 960, value: 64 });
    const streams = choice([["s1"], ["s2"], ["s3"], ["s4"]]);
    const allocations = choice([["a"]]);
    const events = choice([["e"]]);
    const titles = ready.map((one, at) => [String(at), one.title]);
    const scripts = choice([["", "choose a script"], ...titles]);
    const schedules = choice([["measured"], ["instant"], ["late"], ["random:1"], ["random:2"]]);
    const limits = choice([["", "none"], ["32 MiB"], ["64 MiB"], ["128 MiB"], ["256 MiB"]]);
    const sizes = ["0 MiB", "32 MiB", "48 MiB", "64 MiB", "128 MiB", "UINT64_MAX"];
    const thresholds = choice(sizes.map((one) => [one]));
    // The rungs of the reuse ladder: the journal's word for each, its policy, and why an allocation
    // has the memory that it has (simulator/mem/rungs.def).
    const rungs = JSON.parse(root.dataset.rungs);
    const policies = rungs
        .filter((rung) => rung.policy)
        .map((rung) => ({
            name: rung.policy,
            box: make("input", { type: "checkbox", checked: true }),
        }));
    const origins = Object.fromEntries(rungs.map((rung) => [rung.name, rung.because]));

    // ---- the state ----

    const MOST_LINES = "200"; // of a script (docs/live/bench.c)
    const FULLEST = -1;
    // The line of the script that the step shows; 0: before the first; FULLEST: the first one after
    // which the pool has the most, which is what a script is opened at.
    let lines = 0;
    const past = []; // scripts and lines before each change by a button
    let running = null; // the last run that was started

    const textLines = () => script.value.replace(/\n+$/, "").split("\n");

    // The lines behind the field's text, and one on which it may go on.
    const numbered = () => [...textLines(), ""].map((_, index) => [index + 1, ""]);

    // Each line of a script that is a call: its number, the call's name and arguments.
    function commandsOf(text) {
        return text.split("\n").flatMap((line, index) => {
            const match = /^\s*(\w+)\s*\((.*)\)/.exec(line.replace(/\/\/.*/, ""));
            if (!match) return [];
            const words = match[2].split(",")
                .map((word) => word.trim().replace(/^(\(void \*\*\))?&/, ""));
            return [{ line: index + 1, name: match[1], words }];
        });
    }

    const remember = () => past.push([script.value, lines]);

    // Inserts a line behind the present one, and shows its step.
    const add = (line) => {
        remember();
        const all = script.value.trim() ? textLines() : [];
        all.splice(lines, 0, line);
        script.value = `${all.join("\n")}\n`;
        lines += 1;
        show();
    };

    // Sets an attribute: in the line that has set it for the present one, or will, or else in a
    // line of its own.
    const setAttribute = (attribute, value) => {
        const line = `cudaMemPoolSetAttribute(${attribute}, ${value})`;
        const sets = commandsOf(script.value)
            .filter(({ name, words }) =>
                name === "cudaMemPoolSetAttribute" && words[0] === attribute);
        const own = sets.findLast((one) => one.line <= lines) || sets[0];
        if (!own) {
            add(line);
            return;
        }
        remember();
        const all = textLines();
        all[own.line - 1] = all[own.line - 1]
            .replace(/\bcudaMemPoolSetAttribute\s*\([^)]*\)/, line);
        script.value = `${all.join("\n")}\n`;
        show();
    };

    const undo = () => {
        if (!past.length) return;
        [script.value, lines] = past.pop();
        show();
    };

    // A limit belongs to the pool's creation, which is the first call.
    const setLimit = () => {
        remember();
        const all = textLines().filter((line) => !/^\s*cudaMemPoolCreate/.test(line));
        if (limits.value) {
            const at = all.findIndex((line) => line.trim() && !/^\s*\/\//.test(line));
            all.splice(at < 0 ? all.length : at, 0, `cudaMemPoolCreate(maxSize, ${limits.value})`);
        }
        lines = Math.max(0, lines + all.length - textLines().length);
        script.value = `${all.join("\n")}\n`;
        show();
    };

    const fresh = (taken, letters) => [...letters].find((one) => !taken.includes(one)) || "z";

    const calls = [
        ["cudaMallocAsync", () => {
            const name = fresh(names("cudaMallocAsync", 0), "abcdfghijklmnopqrtuvwxyz");
            add(`cudaMallocAsync(${name}, ${size.value} MiB, ${streams.value})`);
            allocations.value = name;
        }],
        ["cudaFreeAsync", () => add(`cudaFreeAsync(${allocations.value}, ${streams.value})`)],
        ["cudaFree", () => add(`cudaFree(${allocations.value})`)],
        ["launch_fill", () => add(`launch_fill(${allocations.value}, ${streams.value})`)],
        ["cudaEventRecord", () => {
            const taken = names("cudaEventRecord", 0);
            const all = ["e", "e2", "e3", "e4", "e5", "e6"];
            const name = all.find((one) => !taken.includes(one)) || "e7";
            add(`cudaEventRecord(${name}, ${streams.value})`);
            events.value = name;
        }],
        ["cudaStreamWaitEvent", () =>
            add(`cudaStreamWaitEvent(${streams.value}, ${events.value})`)],
        ["cudaStreamSynchronize", () => add(`cudaStreamSynchronize(${streams.value})`)],
        ["cudaDeviceSynchronize", () => add("cudaDeviceSynchronize()")],
        ["cudaEventSynchronize", () => add(`cudaEventSynchronize(${events.value})`)],
        ["cudaStreamQuery", () => add(`cudaStreamQuery(${streams.value})`)],
        ["cudaEventQuery", () => add(`cudaEventQuery(${events.value})`)],
        ["cudaMemPoolTrimTo", () => add(`cudaMemPoolTrimTo(${size.value} MiB)`)],
        ["launch_hold", () => add(`launch_hold(${streams.value})`)],
        ["gate_open", () => add(`gate_open(${streams.value})`)],
    ];

    // The names that a call of the script has as this argument.
    function names(call, argument) {
        const all = commandsOf(script.value).filter((one) => one.name === call);
        return [...new Set(all.map((one) => one.words[argument]))];
    }

    const setOptions = (select, values, otherwise) => {
        const chosen = select.value;
        const all = values.length ? values : [otherwise];
        select.replaceChildren(...all.map((value) => make("option", { value }, value)));
        select.value = all.includes(chosen) ? chosen : all[all.length - 1];
    };

    // The controls show what the script has set so far.
    function showControls() {
        setOptions(allocations, names("cudaMallocAsync", 0), "a");
        const waited = names("cudaStreamWaitEvent", 1);
        setOptions(events, [...new Set([...names("cudaEventRecord", 0), ...waited])], "e");
        const set = {};
        let limit = "";
        for (const command of commandsOf(script.value)) {
            if (command.name === "cudaMemPoolCreate") [, limit] = command.words;
            if (command.line <= lines && command.name === "cudaMemPoolSetAttribute")
                [, set[command.words[0]]] = command.words;
        }
        for (const { name, box } of policies) box.checked = set[name] !== "0";
        const threshold = set.ReleaseThreshold || "0 MiB";
        for (const [select, value] of [[thresholds, threshold], [limits, limit]]) {
            if (![...select.options].some((one) => one.value === value))
                select.append(make("option", { value }, value));
            select.value = value;
        }
    }

    // ---- a run, and what it shows ----

    const message = (kind, heading, text) =>
        make(
            "div",
            { className: `bench-message ${kind}` },
            make("strong", {}, heading),
            make("pre", {}, text),
        );

    const START = { line: 0, number: 0, call: "Before the first line", state: null };

    // What the script cannot be or did not do, as one step.
    function refused(errors, code) {
        const [, line, reason] = /^line (\d+): (.*)/.exec(errors) || [null, 0, errors];
        const number = Number(line);
        const step = { ...START, line: number, say: reason, streams: [], marks: [number] };
        if (number) step.call = `Line ${number}`;
        return { file: "The script", code, tops: {}, steps: [step] };
    }

    // The run in steps: before the first line, and then a step for each line that calls. To open a
    // gate is no CUDA call, and the pool with its limit is made before all lines.
    function runOf(result, text) {
        const journal = result.journal.split("\n").filter(Boolean).map((line) => JSON.parse(line));
        const code = numbered();
        if (result.status === 2) return refused(result.errors, code);
        // The first of each line: what the program does at its end stands in the last one.
        const calls = new Map();
        for (const line of journal)
            if (line.file === "line" && !("did" in line) && !calls.has(line.line))
                calls.set(line.line, line);
        const because = origins;
        const nameOf = (stream) => `s${stream}`;
        const isOwn = (line) => calls.get(line.line)?.n === line.n;
        const made = calls.size
            ? runSteps(journal, { because, nameOf, isOwn, errors: result.errors })
            : { steps: [], tops: {}, lanes: [], rows: [] };
        const names = {};
        const idle = (made.steps[0]?.streams || []).map(([name]) => [name, []]);
        const steps = [{ ...START, say: "Nothing has run.", streams: idle }];
        const places = new Map(); // of a step of the run: its place among these
        for (const { line, name, words } of commandsOf(text)) {
            const before = { ...steps[steps.length - 1], line, number: 0, call: name };
            delete before.marks;
            delete before.report;
            if (calls.has(line)) {
                const call = calls.get(line);
                made.steps.forEach((step, at) => {
                    if (step.number !== call.number) return;
                    places.set(at, steps.length);
                    steps.push(step.marks ? { ...step, line } : step);
                });
                if (name === "cudaMallocAsync") names[call.allocation] = words[0];
                if (result.status === 1 && line === made.steps.at(-1).line) break;
            } else if (name === "cudaMemPoolCreate") {
                steps.push({ ...before, say: `The pool's limit is ${words[1]}.` });
            } else if (name === "gate_open") {
                const streams = before.streams.map(([stream, queue]) =>
                    [stream, queue.filter(([, state]) => stream !== words[0] || state !== "held")]);
                const say = `${words[0]} goes on with what is queued.`;
                steps.push({ ...before, call: `${name}, ${words[0]}`, say, streams });
            }
        }
        // What names a step by its place in the run has its place here.
        const moved = (one, ...keys) =>
            Object.fromEntries(Object.entries(one).map(([key, value]) =>
                [key, keys.includes(key) && value !== null ? places.get(value) ?? null : value]));
        const rows = made.rows.map((row) => moved(row, "at", "runs", "done", "source", "replaced"));
        for (const step of steps)
            if (step.report) step.report = moved(step.report, "earlier", "later");
        const { tops, lanes } = made;
        return { file: "The script", code, names, tops, steps, lanes, rows, view: "pool" };
    }

    function showMessages({ errors, output }) {
        const shown = [];
        const text = errors.replace(/\bline:(\d+)/g, "line $1").trim();
        const heading = /^hazard:/m.test(text) ? "The checker reports" : "The run ended";
        if (text) shown.push(message("bad", heading, text));
        if (output) shown.push(message("", "The program prints", output.trim()));
        messages.replaceChildren(...shown);
        messages.tabIndex = shown.length ? 0 : -1;
    }

    // The step of a line, or of the last one above it.
    function stepOf(steps, line) {
        const used = steps.map(({ state }) => state?.used || 0);
        const at = line === FULLEST ? used.indexOf(Math.max(...used))
            : steps.findLastIndex((step) => step.line <= line);
        return Math.max(0, at);
    }

    async function show() {
        const text = script.value;
        view.list(numbered());
        const mine = (running = {});
        root.dataset.state = "runs";
        const environment = { SIM_CHECK: "on", SIM_SCHEDULE: schedules.value };
        try {
            const bench = (...words) => simulatedDevice.run("docs/live/bench", words, environment);
            const result = await bench("run", MOST_LINES, text);
            if (mine !== running) return;
            const run = runOf(result, text);
            showMessages(result); // first: the script's line is scrolled to in what is left
            view.show(run, stepOf(run.steps, lines));
            const source = await bench("c", text);
            program.textContent = source.output || source.errors;
            root.dataset.state = "shown";
        } catch (reason) {
            messages.replaceChildren(message("bad", "The simulated device failed", String(reason)));
            root.dataset.state = "failed";
        }
    }

    // ---- the link ----

    const link = () =>
        `#${new URLSearchParams({ script: script.value, lines, schedule: schedules.value })}`;

    const share = async () => {
        history.replaceState(null, "", link());
        try {
            await navigator.clipboard.writeText(location.href);
            said.textContent = "The link to this script is copied.";
        } catch (refusal) {
            said.textContent = "The address of this page is now the link to this script.";
        }
    };

    function open() {
        const shared = new URLSearchParams(location.hash.slice(1));
        if (shared.get("script") !== null) {
            script.value = shared.get("script");
            lines = Number(shared.get("lines")) || 0;
            if ([...schedules.options].some((one) => one.value === shared.get("schedule")))
                schedules.value = shared.get("schedule");
        } else {
            script.value = ready[0].text;
            lines = FULLEST;
        }
        show();
    }

    // ---- putting it together ----

    scripts.addEventListener("change", () => {
        if (!scripts.value) return;
        remember();
        script.value = ready[Number(scripts.value)].text;
        lines = FULLEST;
        show();
    });
    let typing = 0;
    script.addEventListener("input", () => {
        view.list(numbered());
        clearTimeout(typing);
        // The step of the line that is written.
        typing = setTimeout(() => {
            lines = script.value.slice(0, script.selectionEnd).split("\n").length;
            show();
        }, 300);
    });
    schedules.addEventListener("change", show);
    limits.addEventListener("change", setLimit);
    thresholds.addEventListener("change", () => setAttribute("ReleaseThreshold", thresholds.value));
    for (const { name, box } of policies)
        box.addEventListener("change", () => setAttribute(name, box.checked ? 1 : 0));

    const row = (...nodes) => make("div", { className: "bench-row" }, ...nodes);
    const fold = (name, properties, ...nodes) =>
        make("details", properties, make("summary", {}, name), ...nodes);
    const said = make("span", { role: "status" });
    const view = runView(root, {
        editor: script,
        has: ["rows"],
        keys: document,
        poolName: () => "Pool",
        controls: [
            button("Undo", undo, { title: "Undoes the last change that a button made" }),
            button("Copy a link", share,
                { title: "Copies the address of this page with the script in it" }),
        ],
        shown: (step) => {
            lines = step.line;
            showControls();
            root.dataset.number = step.number;
        },
    });
    root.prepend(row(labelled("Ready script", scripts), labelled("Schedule", schedules), said));
    root.querySelector(".stepper-run").append(messages);
    root.append(
        fold("Add a call", { className: "tools", open: true },
            row(
                labelled("MiB", size), labelled("stream", streams),
                labelled("allocation", allocations), labelled("event", events)),
            make("div", { className: "bench-calls" },
                ...calls.map(([name, action]) => button(name, action)))),
        fold("Set up the pool", { className: "tools" },
            row(labelled("maxSize", limits), labelled("ReleaseThreshold", thresholds)),
            row(...policies.map(({ name, box }) => labelled(name, box)))),
        fold("As a C program", {}, make("pre", { className: "program", tabIndex: 0 }, program)),
    );
    open();
})();
