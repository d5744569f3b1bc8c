// The steps of a run, from its journal: by the rules of workbook/run_steps.py,
// memory_picture.py and order_picture.py, function by function with their names. What a book's
// build computes there, this computes in the browser, for a run that was made there.
// tests/workbook/same_steps.py compares the two.
//
//   runSteps(journal, { sources, because, nameOf, isOwn })
//
// journal: its lines, parsed; sources: {file: text} of the program; because: {rung: its sentence}
// (rungs.py); nameOf: what a stream is called, if not as in the journal; isOwn: which lines of the
// journal are steps, if not those of the program's functions. Returns {file, code, steps, tops}, as
// read() of run_steps.py does and run_view.js takes. A run without a step is an Error, and so is
// one with too many.
//
//   runSteps.withReports(run, journal)      the run with what the checker reported in it
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

    // ---- the pools (memory_picture.py, read() with each call) ----

    function mappedSegments(pool, live) {
        const needed = new Set();
        for (const [offset, bytes] of live.values()) {
            const last = Math.floor((offset + bytes - 1) / SEGMENT);
            for (let at = Math.floor(offset / SEGMENT); at <= last; at++) needed.add(at);
        }
        const count = Math.floor(pool.reserved / SEGMENT);
        if (needed.size > count) throw new RangeError(`pool ${pool.number} has fewer segments`);
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

    // Which frees the host has waited for.
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

    function addMoments(pool, line) {
        for (const live of pool.launch.length ? pool.launch : [pool.live]) {
            const isLaunch = pool.launch.length > 0;
            let { used } = pool;
            if (isLaunch) used = [...live.values()].reduce((sum, place) => sum + place[1], 0);
            pool.moments.push({
                call: line.n,
                refused: !succeeded(line),
                live: new Map(live),
                pending: isLaunch ? new Map() : new Map(pool.pending),
                mapped: mappedSegments(pool, live),
                used,
                reserved: pool.reserved,
            });
        }
    }

    function poolsOf(journal) {
        const pools = new Map();
        const frees = new Frees();
        const poolWith = (number) => {
            if (!pools.has(number))
                pools.set(number, {
                    number, limit: 0, used: 0, reserved: 0, live: new Map(), pending: new Map(),
                    moments: [], launch: [], last: [0, 0], destroyed: false, over: false,
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
                addMoments(one, line);
                one.last = [one.used, one.reserved];
                one.over = one.destroyed && one.used === 0 && one.reserved === 0;
                one.launch = [];
            }
        }
        const rank = (pool) => (pool.number === GRAPHS_POOL ? Infinity : pool.number);
        // One that is imported never has memory of its own here.
        return [...pools.values()]
            .filter((one) => one.moments.some((moment) => moment.reserved || moment.live.size))
            .sort((a, b) => rank(a) - rank(b));
    }

    // None where a pool's allocations lie on more segments than it has.
    function momentsOf(journal) {
        try {
            return poolsOf(journal);
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

    // ---- the steps (run_steps.py) ----

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

    function sentence(group, piece, before, after, pending, { because, nameOf }) {
        const line = group.at(-1);
        const name = line.call;
        const times = group.length > 1 ? `${group.length} times: ` : "";
        if (!succeeded(line)) return `${times}It returns ${line.result}.`;
        if (line.captured && name in EVENTS)
            return "It is captured, as an order between nodes. Nothing happens before a launch.";
        if ("node" in line)
            return "It becomes a node of the graph. Nothing happens before a launch.";
        const stream = "stream" in line ? nameOf(streamOf(line)) : "";
        const returned = before[1] - after[1];
        const gone = returned > 0 ? `${withUnit(returned)} return to the device.` : "";
        if (ALLOCATIONS.includes(name) && "offset" in line)
            return `It allocates ${withUnit(line.bytes)}. ${because[line.from]}`;
        if (name === "cudaFreeAsync" && !("used" in line))
            return "The free is queued. The memory stays the other process's.";
        if (name === "cudaFreeAsync") {
            const words = "The memory goes back to the pool, not to the device.";
            return pending ? `${words} The free is pending.` : words;
        }
        const took = `${microseconds(line.end - line.t)} µs`;
        if (WAITS.includes(name) || name === "cudaFree") {
            const kept = after[1] ? `The pool keeps ${withUnit(after[1])}.` : "";
            return [`It takes ${took}.`, gone, kept].filter(Boolean).join(" ");
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
        if (name === "cudaEventRecord")
            return `It is recorded when ${stream} has come to this place.`;
        if (name === "cudaStreamWaitEvent" && line.unrecorded)
            return "The event has no record yet, so nothing comes after it.";
        if (name === "cudaStreamWaitEvent")
            return `What is queued in ${stream} from here on comes after the event's record.`;
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

    // The pool that a step shows: that which a call was about last, or which it changed.
    class Shown {
        constructor(journal) {
            this.pools = new Map(momentsOf(journal).map((pool) => [pool.number, pool]));
            this.about = [];
            this.thresholds = [];
            this.graphs = [];
            for (const line of journal.filter(succeeded)) {
                const isGraphs = GRAPHS.includes(line.call);
                const name = isGraphs ? GRAPHS_POOL : line.pool;
                if (this.pools.has(name)) this.about.push([line.n, name]);
                if (isGraphs && "used" in line)
                    this.graphs.push([line.n, line.used, line.reserved]);
                if (line.attribute === THRESHOLD && "value" in line)
                    this.thresholds.push([line.n, line.pool, line.value]);
            }
            this.figures = new Map();
        }

        // {pool, moment, figures, threshold} after the call, or null if there is no pool with
        // memory yet.
        take(line) {
            const known = new Map();
            for (const [name, { moments }] of this.pools) {
                const moment = moments.findLast(({ call }) => call <= line.n);
                if (moment) known.set(name, moment);
            }
            const about = this.about.filter(([n, name]) => n <= line.n && known.has(name));
            if (!about.length) return null;
            const figures = new Map();
            for (const [name, { used, reserved }] of known) figures.set(name, [used, reserved]);
            for (const [n, ...ofGraphs] of this.graphs)
                if (n <= line.n) figures.set(GRAPHS_POOL, ofGraphs);
            const changed = [...figures.keys()].filter((name) => {
                const [used, reserved] = this.figures.get(name) || [0, 0];
                return used !== figures.get(name)[0] || reserved !== figures.get(name)[1];
            });
            let [, pool] = about.at(-1);
            if (this.figures.size && changed.length && !changed.includes(pool))
                pool = changed.at(-1);
            this.figures = figures;
            const set = this.thresholds.findLast(([n, name]) => n <= line.n && name === pool);
            return {
                pool, moment: known.get(pool), figures: figures.get(pool),
                threshold: set ? set[2] : 0,
            };
        }
    }

    const colored = (places, streams) =>
        [...places.values()].map(([offset, bytes, stream, allocation]) =>
            [offset, bytes, streamClass(stream, streams), allocation]);

    function read(journalRead, { sources = {}, because, nameOf = streamName, isOwn }) {
        const journal = withMore(journalRead);
        const functionOf = functionFinder(sources);
        const own = journal.filter((line) =>
            "call" in line && !("did" in line) && "number" in line &&
                (isOwn ? isOwn(line) : functionOf(line)));
        const groups = merged(own);
        if (!groups.length || groups.length > MOST_STEPS)
            throw new Error(`it would have ${groups.length} steps, and not 1 to ${MOST_STEPS}`);
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
        const tops = {};
        const before = new Map();
        const steps = groups.map((group) => {
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
            before.set(state?.pool, after);
            return {
                line: line.line,
                number: line.number,
                first: group[0].number,
                call: line.call + ("stream" in line ? `, ${nameOf(line.stream)}` : ""),
                ...(ASKS.includes(line.call) ? { asks: 1 } : {}),
                say: sentence(group, piece, past, after, isPending, { because, nameOf }),
                state,
                streams: queuesAt(pieces, line, streams, nameOf),
            };
        });
        for (const { state } of steps.filter((step) => step.state))
            for (const edge of ["threshold", "limit"])
                if (state[edge] > (tops[state.pool] + 3) * SEGMENT)
                    state[edge] = 0; // far above what is reserved: it has no line
        const { file } = own[0];
        const named = new Set(own.map(functionOf));
        return { file, code: codeOf(sources[file] || "", named), steps, tops };
    }

    // [[number, text]] of the lines of these functions.
    function codeOf(source, names) {
        const text = source.split("\n");
        return Object.entries(functionsOf(source))
            .filter(([name]) => names.has(name))
            .map(([, span]) => span)
            .sort((a, b) => a[0] - b[0])
            .flatMap(([first, last]) =>
                text.slice(first - 1, last).map((words, at) => [first + at, words]));
    }

    // From the call on that was reported, the lines of both accesses are marks of the steps. Its
    // own step has the report's kind.
    function withReports(run, journal) {
        const calls = journal.filter((line) => "number" in line && !("did" in line));
        const lines = new Map(
            calls.filter((line) => line.file === run.file).map((line) => [line.number, line.line]),
        );
        const steps = run.steps.map((step) => ({ ...step }));
        for (const hazard of journal.filter((line) => line.did === "hazard")) {
            const later = hazard.later ?? calls.find((line) => line.n > hazard.n)?.number;
            const found = steps.filter((step) => step.number >= later);
            const marks = [hazard.earlier, later].map((number) => lines.get(number));
            const places = marks.filter((line) => line !== undefined);
            for (const step of found)
                step.marks = [...new Set([...(step.marks || []), ...places])];
            if (found.length) found[0].say += ` The checker reports: ${hazard.kind}.`;
        }
        return { ...run, steps };
    }

    return Object.assign(read, { withReports });
})();
