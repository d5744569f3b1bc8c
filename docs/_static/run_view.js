// One drawing code for a run in steps: a map of the run, what stands at the left with the present
// line marked and what it changed beside it, the pool or the order of the streams as that line left
// them, a sentence of what happened, keys, and a teacher's view. The stepper (stepper.js) and the
// pool bench (bench.js) show their runs with it.
//
//   const view = runView(place, options);   makes it in the element `place`
//   view.show(run, at)                      from its first step on, or from step `at` on
//   view.go(at), view.forward()             to a step; or to the next one
//   view.refresh()                          draws the step again
//   view.list(code)                         shows other lines
//   view.run, view.at
//
// A run is {file, code: [[number, text]], tops: {pool: segments}, steps, begin, view, lanes, rows},
// as run_steps.js makes it. A step is {line, number, call, say, row, marks, report, state,
// streams}: row is what names it beside the pool; its state is null, or {pool, used, reserved,
// threshold, limit, segments, live, pending}; its streams are [name, [[words, state] of what is
// queued]]; its report is {earlier, later, words, missing, todo}: where the edge between two rows
// is missing, and what the checker says of it. repair: {program, code} of the program without
// mistakes.
// Lanes are [name of a stream in the program, its name in the journal, its color]; a row is {at,
// line, lane, words, kind, runs, done, source, replaced}, where another is named by its step. view
// is "pool" or "order": what is shown first. A run may have names, {allocation: name}. The options:
//
//   title      what stands above
//   has        "rows", "report": what the first run will have, so that the bar has its place
//   controls   more elements for the bar
//   editor     a text field that lies over the lines, whose texts are then empty
//   poolName   (pool) => what it is called
//   keys       the element in which the keys make steps, if not the place alone
//   days       (program, arguments) => () => an element in which 300 days of it run; or null
//   question   (at) => nodes that stand in the place of the sentence of this step, whose state is
//              not shown yet; or null
//   asks       () => true while the map may show nothing of later steps
//   held       () => true while the run stops ahead of the call that its first report is about
//   prefix     (at) => words before the sentence
//   forward    () => true if it did what the next step would have done
//   shown      (step) => called when it is drawn
"use strict";

const runView = (() => {
    const { element, hatched } = workbook;
    const MIB = 2 ** 20;
    const SEGMENT = 32 * MIB;
    const WIDTH = 320; // of a picture, at least
    const LEFT = 44; // of the pool
    const BESIDE = 116; // what stands at its right
    const ROW = 25; // the height of a row of the order
    const ROWS = 6; // so many are shown at least
    const LARGE = 12; // in the teacher's view
    const ABOVE = 192; // what stands above a picture: the sentence and the figures
    const HEAD = 40; // above them
    const GUTTER = 34; // left of the lanes
    const NEAR = 1; // lines around one that a report names, where the rest is folded
    const MOST_LANES = 6; // with more, words stand at the right of thin lanes
    // What the arrow keys do something else in.
    const TAKES_KEYS = "input:not(.ask), select, textarea";
    const escaped = (text) => String(text).replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
    const mib = (bytes) => String(Math.round((bytes / MIB) * 100) / 100);
    // A change, with its unit; "" where a figure in MiB stays as it is.
    function signed(bytes) {
        const size = Math.abs(bytes);
        const sign = bytes < 0 ? "−" : "+";
        if (size >= MIB / 100) return `${sign}${mib(size)} MiB`;
        return size ? `${sign}${size < 1024 ? `${size} B` : `${Math.round(size / 1024)} KiB`}` : "";
    }
    const part = (kind, text) => `<span class="${kind}">${text}</span>`;

    // A line of C with the classes that the page's listings have.
    const TOKENS = new RegExp(
        "(\\/\\*.*?(?:\\*\\/|$)|^ \\*.*$|\\/\\/.*$)|(&#34;.*?&#34;)|" +
        "\\b(static|int|void|const|for|if|else|return|while|size_t|sizeof|struct|char|float)\\b|" +
        "\\b((?:cuda|launch_|pool_|reserved_|gate_)\\w+)(?=\\()", "g");

    function highlighted(text) {
        const parts = escaped(text).replace(TOKENS, (all, comment, words, keyword) =>
            part(comment ? "cm" : words ? "s" : keyword ? "k" : "nf", all));
        return parts.replaceAll("(", "(<wbr>"); // a long call goes on below after a parenthesis
    }

    // A line of C in which the names of the streams have the colors of their lanes.
    function withLanes(text, lanes) {
        const colors = new Map((lanes || []).filter(([name]) => /^\w+$/.test(name))
            .map(([name, , color]) => [name, color]));
        if (!colors.size) return highlighted(text);
        const names = new RegExp(`\\b(${[...colors.keys()].join("|")})\\b(?![^<]*>)`, "g");
        return highlighted(text).replace(names, (name) =>
            `<em class="${colors.get(name)}">${name}</em>`);
    }

    // ---- what a step changed ----

    // [{kind, text}] of the steps. kind: up and down of what is reserved, edge (a record, a wait),
    // bad (a report, a refusal), or none.
    function effectsOf(run) {
        const pools = new Map();
        const rows = new Map((run.rows || []).map((row) => [row.at, row]));
        return run.steps.map((step, at) => {
            const { state } = step;
            const before = pools.get(state?.pool) || { used: 0, reserved: 0, segments: [] };
            if (state) pools.set(state.pool, state);
            const effect = { ...ofState(state, before), before };
            const row = rows.get(at);
            if (step.marks)
                return { ...effect, kind: "bad", text: step.report ? "the report" : "" };
            if (row?.kind === "refused") effect.text = `refused ${effect.text}`.trim();
            if (row?.kind === "refused" && effect.kind === "none") effect.kind = "bad";
            return effect.kind === "none" && row ? { ...effect, ...ofRow(run, row) } : effect;
        });
    }

    function ofState(state, before) {
        if (!state) return { kind: "none", text: "" };
        const reserved = state.reserved - before.reserved;
        const used = state.used - before.used;
        const kind = reserved > 0 ? "up" : reserved < 0 ? "down" : "none";
        if (reserved) return { kind, text: `reserved ${signed(reserved)}` };
        return { kind, text: used ? `used ${signed(used)}` : "" };
    }

    function ofRow(run, row) {
        if (row.words.startsWith("record")) {
            const old = run.rows.find((other) => other.replaced === row.at);
            const lane = old && run.lanes[old.lane]?.[0];
            return { kind: "edge", text: old ? `replaces the record in ${lane}` : "recorded here" };
        }
        if (row.words.startsWith("wait")) {
            const source = run.rows.find((other) => other.at === row.source);
            const lane = source && run.lanes[source.lane]?.[0];
            return { kind: "edge", text: source ? `takes the record in ${lane}` : "no record" };
        }
        return row.words === "host waits" ? { kind: "edge", text: "the host waits" } : {};
    }

    // ---- drawing by keys: what stays moves, and what is new comes in ----

    const SVG = "http://www.w3.org/2000/svg";

    // nodes: [key, tag, x, y, attributes, text]; the elements of the last drawing are used again.
    function draw(svg, nodes) {
        const old = new Map([...svg.children].map((node) => [node.dataset.key, node]));
        const wanted = nodes.map(([key, tag, x, y, attributes, text = ""]) => {
            let node = old.get(key);
            old.delete(key);
            if (node?.nodeName !== tag) {
                node?.remove();
                node = document.createElementNS(SVG, tag);
                node.dataset.key = key;
            }
            for (const [name, value] of Object.entries(attributes))
                if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
            node.style.transform = `translate(${x}px, ${y}px)`;
            if (node.textContent !== text) node.textContent = text;
            return node;
        });
        for (const node of old.values()) node.remove();
        // One that stands where it should is not moved: it would lose its movement.
        wanted.forEach((node, at) => {
            if (svg.children[at] !== node) svg.insertBefore(node, svg.children[at] || null);
        });
    }

    // ---- the pool ----

    const raised = (limit) => Math.ceil(limit / SEGMENT);
    const isOnScale = (run, pool, edge) => edge <= (run.tops[pool] + 3) * SEGMENT;

    // How many segments a pool's picture has, how high one is, and the whole.
    function sizeOf(run, pool) {
        const edges = run.steps.filter(({ state }) => String(state?.pool) === String(pool))
            .flatMap(({ state }) => [state.threshold, state.limit])
            .filter((edge) => isOnScale(run, pool, edge)).map(raised);
        const top = Math.max(run.tops[pool], ...edges);
        // A stage has less room in a low window, and while it asks; and more for few streams.
        const stage = document.querySelector("[data-stage]");
        const isLow = stage && innerHeight < 850;
        const room = (stage?.querySelector(".asked") ? 128 : 200) - (isLow ? 40 : 0);
        const most = isLow ? 32 : Math.max(32, 80 - 16 * run.steps[0].streams.length);
        const unit = Math.min(most, room / top);
        return { top, unit, height: top * unit + 40 };
    }

    // Rows of segments that lie on each other: [first, count].
    function groupsOf(segments) {
        const groups = [];
        for (const at of segments) {
            const last = groups.at(-1);
            if (last && last[0] + last[1] === at) last[1]++;
            else groups.push([at, 1]);
        }
        return groups;
    }

    // The nodes of a pool after a step, in a picture of this width. 0 is at the bottom, as in
    // memory_picture.py.
    function poolNodes(run, state, before, wide) {
        const { pool, segments, live, pending, threshold, limit } = state;
        const { top, unit } = sizeOf(run, pool);
        const yOf = (bytes) => 24 + (top - bytes / SEGMENT) * unit;
        const own = wide - LEFT - BESIDE;
        const right = LEFT + own + 8;
        const nodes = [];
        const words = [];
        const every = 2 ** Math.ceil(Math.log2(Math.max(1, 15 / unit)));
        for (let at = 0; at <= top; at += every)
            nodes.push([`axis ${at}`, "text", LEFT - 8, yOf(at * SEGMENT) + 4,
                { class: "figure", "text-anchor": "end" }, String(at * 32)]);
        const gone = before.segments.filter((at) => !segments.includes(at));
        const added = segments.filter((at) => !before.segments.includes(at));
        for (let at = 0; at < run.tops[pool]; at++) {
            const kind = segments.includes(at) ? "segment" : gone.includes(at) ? "ghost" : "gone";
            nodes.push([`segment ${at}`, "rect", LEFT, yOf((at + 1) * SEGMENT) -
                (kind === "ghost" ? 4 : 0), { class: kind, width: own, height: unit }]);
        }
        for (const [offset, bytes, color, allocation] of pending) {
            const high = (bytes / SEGMENT) * unit - 2;
            if (high < 3) continue;
            nodes.push([`pending ${allocation} ${offset}`, "path", LEFT + 4, yOf(offset) - high - 1,
                { class: `pending ${color}`, d: hatched(own - 8, high) }]);
        }
        for (const [offset, bytes, color, allocation] of live) {
            const inset = bytes < SEGMENT / 4 ? 0.5 : 1;
            const high = Math.max(2, (bytes / SEGMENT) * unit - 2 * inset);
            const y = yOf(offset) - high - inset;
            const name = run.names?.[allocation];
            nodes.push([`live ${allocation} ${offset}`, "rect", LEFT + 3 * inset, y,
                { class: `used ${color}`, width: own - 6 * inset, height: high }]);
            if (high >= 15)
                nodes.push([`live ${allocation} ${offset} words`, "text", LEFT + own / 2,
                    y + high / 2 + 4, { class: "on", "text-anchor": "middle" },
                    `${name ? `${name}: ` : ""}${mib(bytes)}`]);
        }
        for (const [first, count] of groupsOf(gone))
            words.push([`ghost ${first}`, yOf((first + count / 2) * SEGMENT) + 2, "returned",
                `↑ ${count * 32} returned`]);
        for (const [first, count] of groupsOf(added))
            words.push([`new ${first}`, yOf((first + count / 2) * SEGMENT) + 4, "new",
                `+ ${count * 32} new`]);
        const edge = (kind, bytes, text) => {
            const isOn = isOnScale(run, pool, bytes);
            const y = isOn ? yOf(bytes) : 8;
            const line = isOn ? { class: kind, d: `M0 0H${own + 10}` }
                : { class: `${kind} off`, d: `M${own - 8} 12V0M${own - 13} 5l5 -5l5 5` };
            nodes.push([kind, "path", LEFT - 4, y, line]);
            words.unshift([kind, y + 4, `bold ${kind}`, text]);
        };
        if (limit) edge("limit", raised(limit) * SEGMENT, `maxSize ${mib(limit)}`);
        const isTaught = run.steps.some((step) =>
            step.state?.pool === pool && step.state.threshold);
        if (isTaught)
            edge("threshold", threshold,
                threshold > 2 ** 61 ? "threshold: all" : `threshold ${mib(threshold)}`);
        // Beside the pool, the edges first, and no two on each other.
        const taken = [];
        for (const [key, y, kind, text] of words) {
            if (taken.some((other) => Math.abs(other - y) < 15)) continue;
            taken.push(y);
            nodes.push([`${key} words`, "text", right, y, { class: kind }, text]);
        }
        return nodes;
    }

    // ---- the order of the streams ----

    const byStep = (run, at) => run.rows.find((row) => row.at === at);

    // The rows that are shown after a step: what its edges need, and then the last ones.
    function shownRows(run, at, most) {
        const known = run.rows.filter((row) => row.at <= at);
        const { report } = run.steps[at] || {};
        const now = known.at(-1);
        const needed = [report?.earlier, report?.later, now?.source, now?.at].map((one) =>
            byStep(run, one));
        if (now?.words.startsWith("record"))
            needed.push(known.find((row) => row.replaced === now.at));
        const chosen = new Set(needed.filter((row) => row && row.at <= at));
        for (const row of [...known].reverse()) if (chosen.size < most) chosen.add(row);
        return known.filter((row) => chosen.has(row));
    }

    // The report of a step, or the last one before it while both of its calls are in the picture:
    // the steps after a report don't repair it.
    function openReport(run, at, rows) {
        const isShown = (step) => rows.some((row) => row.at === step);
        return run.steps[at]?.report || run.steps.slice(0, at + 1).map(({ report }) => report)
            .findLast((one) => one && isShown(one.earlier) && isShown(one.later));
    }

    // `wide`: the width of the picture; `most`: how many rows it has.
    // isRepaired: the missing edge is drawn as one that is there.
    function orderNodes(run, at, wide, most, isRepaired) {
        const nodes = [];
        const rows = shownRows(run, at, most);
        const report = openReport(run, at, rows);
        const isThin = run.lanes.length > Math.max(MOST_LANES, wide / 60);
        const room = (wide - GUTTER - (isThin ? 130 : 0)) / Math.max(1, run.lanes.length);
        // Of a box; between two of them there is room for an arrow.
        const half = isThin ? Math.min(room / 2 - 1, 9)
            : Math.min(room / 2 - 3, Math.max(36, room * 0.4));
        const xOf = (lane) => GUTTER + (lane + 0.5) * room;
        const places = new Map(rows.map((row, place) => [row.at, HEAD + 16 + place * ROW]));
        const bottom = HEAD + 4 + most * ROW;
        const fit = (words, space) => {
            const count = Math.max(1, Math.floor(space / 6.5));
            return words.length > count ? `${words.slice(0, count - 1)}…` : words;
        };
        run.lanes.forEach(([name, journal, color], lane) => {
            const own = isThin ? name.replace(/^.*?(\d+\]?)$/, "$1")
                : fit(name.replace(/ stream$|^stream of (?=thread)/, ""), room - 2);
            nodes.push([`lane ${lane}`, "path", xOf(lane), HEAD, {
                class: `lane ${color}`, d: `M0 0V${bottom - HEAD}` }]);
            nodes.push([`lane ${lane} name`, "text", xOf(lane), 15,
                { class: "bold", "text-anchor": "middle" }, own]);
            if (!isThin && journal !== name)
                nodes.push([`lane ${lane} stream`, "text", xOf(lane), 31,
                    { class: "figure", "text-anchor": "middle" }, fit(journal, room)]);
        });
        const nowAt = rows.at(-1)?.at;
        rows.forEach((row, place) => {
            const y = places.get(row.at);
            const key = `row ${row.at}`;
            if (row.at === nowAt && (nowAt === at || run.steps[at]?.report))
                nodes.push([`${key} now`, "rect", 0, y - ROW / 2,
                    { class: "now", width: wide, height: ROW, rx: 3 }]);
            const above = rows[place - 1];
            if (above && run.rows.some((one) => one.at > above.at && one.at < row.at))
                nodes.push([`${key} cut`, "path", 0, y - ROW / 2,
                    { class: "cut", d: `M4 0H${wide - 4}` }]);
            nodes.push([`${key} line`, "text", GUTTER - 6, y + 4,
                { class: "figure", "text-anchor": "end" }, `:${row.line}`]);
            nodes.push(...rowNodes(row, key, y));
        });

        function rowNodes(row, key, y) {
            const isDone = row.done !== null && row.done <= at;
            const isRunning = !isDone && row.runs !== null && row.runs <= at;
            const isGone = row.replaced !== null && row.replaced <= at;
            const isBad = report && !isRepaired &&
                (row.at === report.earlier || row.at === report.later);
            const color = run.lanes[row.lane]?.[2] || "";
            const state = isDone ? "done" : isRunning ? "runs" : "queued";
            const kind = ["box", row.kind, state, color, isGone && "replaced", isBad && "bad"]
                .filter(Boolean).join(" ");
            const words = row.kind === "refused" ? `✗ ${row.words}` : row.words;
            if (row.kind === "host") {
                const own = Math.min(wide - GUTTER, words.length * 6.8 + 16);
                const middle = row.lane === null ? (GUTTER + wide) / 2 : xOf(row.lane);
                const x = Math.max(GUTTER, Math.min(wide - own, middle - own / 2));
                return [
                    [`${key} rule`, "path", GUTTER, y, {
                        class: "rule", d: `M0 0H${wide - GUTTER}` }],
                    [key, "rect", x, y - 10, { class: kind, width: own, height: 20, rx: 3 }],
                    [`${key} words`, "text", x + own / 2, y + 4,
                        { class: "words", "text-anchor": "middle" }, words],
                ];
            }
            const x = xOf(row.lane);
            const round = row.kind === "point" ? 10 : 3;
            const box = [key, "rect", x - half, y - 10,
                { class: kind, width: 2 * half, height: 20, rx: round }];
            const isFull = isDone && row.kind !== "point" && row.kind !== "refused";
            const label = isThin
                ? [`${key} words`, "text", wide - 124, y + 4, { class: "words" }, words]
                : [`${key} words`, "text", x, y + 4, {
                    class: `words${isFull ? " on" : ""}${isGone ? " struck" : ""}`,
                    "text-anchor": "middle" }, fit(words, 2 * half - 4)];
            return [box, label];
        }

        const ends = []; // of all arrows
        // From the side of one box to that of another.
        function arrow(key, kind, from, to, words) {
            const [y1, y2] = [places.get(from.at), places.get(to.at)];
            const side = (row, sign) =>
                row.lane === null ? GUTTER + 10 : xOf(row.lane) + sign * half;
            if (y1 === undefined || y2 === undefined) return;
            const forth = (to.lane ?? -1) > (from.lane ?? -1) ? 1 : -1;
            const isSame = to.lane === from.lane;
            const [x1, x2] = isSame ? [side(from, 1), side(to, 1)]
                : [side(from, forth), side(to, -forth)];
            const bend = isSame ? 30 : forth * Math.max(14, Math.abs(x2 - x1) / 2);
            const end = isSame ? x2 + 2 : x2 - forth * 2;
            const back = isSame ? -1 : forth;
            const d = `M${x1} ${y1}C${x1 + bend} ${y1} ${isSame ? x2 + bend : x2 - bend} ${y2} ` +
                `${end} ${y2}M${end - back * 7} ${y2 - 4}L${end} ${y2}l${-back * 7} 4`;
            nodes.push([key, "path", 0, 0, { class: kind, d }]);
            ends.push([x1, y1], [end, y2]);
            if (!words) return;
            const long = words.length * 6.8 + 14;
            const [x, y] = freePlace(long, (x1 + x2) / 2, (y1 + y2) / 2);
            nodes.push([`${key} ground`, "rect", x - long / 2, y - 9,
                { class: "missing-ground", width: long, height: 18, rx: 9 }]);
            nodes.push([`${key} words`, "text", x, y + 4,
                { class: "missing-words", "text-anchor": "middle" }, words]);
        }

        // Where words of this width stand on no box and on no arrow's end, as near as can be to a
        // place.
        function freePlace(long, nearX, nearY) {
            const boxes = nodes.filter(([, tag, , , { class: kind }]) =>
                tag === "rect" && kind.startsWith("box"));
            const isFree = (x, y) =>
                ends.every(([endX, endY]) =>
                    Math.abs(x - endX) > long / 2 + 9 || Math.abs(y - endY) > 14) &&
                boxes.every(([, , left, top, { width, height }]) =>
                    x + long / 2 < left - 5 || x - long / 2 > left + width + 5 ||
                    y + 9 < top - 1 || y - 9 > top + height + 1);
            let best = [nearX, HEAD + 16 + rows.length * ROW];
            let least = Infinity;
            for (let place = 0; place <= Math.min(rows.length, most - 1); place++) {
                const y = HEAD + 16 + place * ROW;
                for (let x = GUTTER + long / 2; x <= wide - long / 2; x += 4) {
                    const far = Math.hypot(x - nearX, 1.5 * (y - nearY));
                    if (far < least && isFree(x, y)) [best, least] = [[x, y], far];
                }
            }
            return best;
        }

        for (const row of rows) {
            const source = row.source === null ? null : byStep(run, row.source);
            if (source && source.lane !== row.lane)
                arrow(`edge ${row.at}`, "edge", source, row);
        }
        if (report && report.earlier !== null && report.later !== null) {
            const [from, to] = [byStep(run, report.earlier), byStep(run, report.later)];
            if (from && to && from !== to && isRepaired) arrow("missing", "edge added", from, to);
            else if (from && to && from !== to)
                arrow("missing", "missing", from, to, report.words);
        }
        return nodes;
    }

    // ---- the map ----

    // The run as a line: what is reserved as an area, a tick where something changed, the names of
    // rows or pools above. `seen`: the last step of which it may show something.
    function mapNodes(run, effects, size, at, seen) {
        const count = run.steps.length;
        const xOf = (step) => 12 + (count > 1 ? (step * (size - 24)) / (count - 1) : 0);
        const nodes = [];
        const most = Math.max(1, ...run.steps.map(({ state }) => state?.reserved || 0));
        const high = run.steps.map(({ state }) => ((state?.reserved || 0) / most) * 22);
        let path = `M${xOf(0)} 46`;
        for (let step = 0; step <= seen; step++)
            path += `L${xOf(step)} ${46 - high[step]}L${xOf(Math.min(count - 1, step + 1))} ` +
                `${46 - high[step]}`;
        if (high.some(Boolean) && seen >= 0)
            nodes.push(["area", "path", 0, 0,
                { class: "area", d: `${path}V46Z` }]);
        effects.slice(0, seen + 1).forEach(({ kind }, step) => {
            const tall = kind === "none" ? 4 : 14;
            const wide = kind === "none" ? 1 : 3;
            nodes.push([`tick ${step}`, "rect", xOf(step) - wide / 2, 50 - tall,
                { class: `tick ${kind}`, width: wide, height: tall }]);
        });
        let end = 0;
        let last = "";
        const isNamed = new Set(run.steps.map(nameOf).filter(Boolean)).size > 1;
        if (isNamed) run.steps.forEach((step, place) => {
            const name = nameOf(step);
            if (name === last) return;
            last = name;
            const x = Math.max(2, xOf(place) - 4);
            if (!name || x < end || x + name.length * 6.5 > size || place > seen) return;
            end = x + name.length * 6.5 + 10;
            nodes.push([`name ${place}`, "text", x, 14, { class: "figure" }, name]);
        });
        nodes.push(["now", "path", xOf(at), 0, { class: "here", d: "M0 20V50M-6 56h12l-6 -9z" }]);
        return nodes;
    }

    // What names a step above the map: the row that the program prints, or the pool.
    function nameOf({ row, state }) {
        if (row) return row;
        return Number.isInteger(state?.pool) ? `pool ${state.pool}` : "";
    }

    // Each stream with the color of its memory (svg.py, stream_class()); those with nothing to do
    // share a line.
    function streamRows(streams) {
        let number = 0;
        const rows = [];
        const idle = [];
        for (const [name, queue] of streams) {
            const color = name === "legacy stream" ? "s-legacy" : `s-${(number++ % 4) + 1}`;
            const named = `<b class="${color}">${escaped(name)}</b>`;
            const words = queue.map(
                ([what, state]) => `<span class="piece ${state}">${escaped(what)}, ${state}</span>`,
            );
            if (words.length) rows.push(`${named} ${words.join(" ")}`);
            else idle.push(named);
        }
        if (idle.length) rows.push(`${idle.join(" ")} <span class="idle">nothing queued</span>`);
        return rows;
    }

    // What the shapes mean: [class of a sample, words], for each picture.
    const LEGENDS = {
        order: [["queued", "queued"], ["runs", "runs"], ["done", "done"], ["edge", "order"],
            ["missing", "no order"]],
        pool: [["used", "allocated"], ["pending", "free is pending"], ["segment", "reserved"],
            ["gone", "not reserved"]],
    };
    const legend = (shows) => LEGENDS[shows].map(([kind, words]) =>
        `<span><i class="sample sample-${kind}"></i>${words}</span>`).join("");

    let views = 0;

    return (place, options = {}) => {
        const view = { run: null, at: 0 };
        let isRepaired = false; // what the repair adds is in the program
        let effects = [];
        let shows = "pool";
        const poolName = options.poolName ||
            ((pool) => (pool === "graphs" ? "Memory for graphs" : `Pool ${pool}`));
        const state = `run-state-${views++}`;
        place.setAttribute("role", "region");
        place.setAttribute("aria-label", options.title || "A run in steps");
        place.innerHTML = `<div class="stepper-head">
              <p class="stepper-title">${escaped(options.title || "")}</p><p class="where"></p>
              <span class="views" role="group" aria-label="What is drawn" hidden>
                <button type="button" data-view="pool">Pool</button><button type="button"
                data-view="order">Order</button></span>
              <button type="button" class="large" aria-pressed="false"
                aria-label="Large: this alone on the screen">Large</button>
            </div>
            <div class="stepper-map" role="slider" tabindex="0" aria-label="Step of the run"
              aria-valuemin="1" aria-valuenow="1"><svg aria-hidden="true" height="58"></svg></div>
            <div class="stepper-bars"><div class="stepper-bar">
              <button type="button" class="back" aria-keyshortcuts="ArrowLeft"><span
                aria-hidden="true">◀ </span>Back</button>
              <button type="button" class="next" aria-keyshortcuts="ArrowRight">Step<span
                aria-hidden="true"> ▶</span></button>
              <button type="button" class="jump" aria-keyshortcuts="n"
                title="The next step that changes something: key n">Next change</button>
              <span class="count">&nbsp;</span><button type="button" class="stage-open"
                aria-expanded="false">Open</button></div>
              <div class="stepper-tools">
                <button type="button" class="to-report" hidden>To the report</button></div>
            </div>
            <div class="stepper-run">
              <pre class="highlight" tabindex="0" role="group" aria-label="The program"><span
                class="code"></span></pre>
              <div class="stepper-report" aria-live="polite"></div>
              <div class="stepper-state" id="${state}" tabindex="0" role="group"
                aria-label="After this line">
                <div class="stepper-words" aria-live="polite"><div class="say"></div><p
                  class="figures"></p></div>
                <div class="picture"><svg role="img" aria-label="Nothing yet"
                  width="${WIDTH}"></svg></div>
                <div class="queues"></div>
              </div>
            </div>
            <p class="legend"></p>`;
        const part = (selector) => place.querySelector(selector);
        const [back, next, jump, toReport, large, map] =
            [".back", ".next", ".jump", ".to-report", ".large", ".stepper-map"].map(part);
        const listing = part("pre");
        const picture = part(".picture svg");
        const { editor } = options;
        part(".stepper-tools").append(...(options.controls || []));
        part(".stepper-title").hidden = !options.title;
        part(".views").hidden = !options.has?.includes("rows");
        toReport.hidden = !options.has?.includes("report");
        nameReport();
        if (editor) {
            listing.append(editor);
            listing.removeAttribute("tabindex"); // the editor has the focus
            listing.firstChild.setAttribute("aria-hidden", "true");
        }

        function list(code) {
            let last = Infinity;
            const lines = code.map(([number, text, kind = number === "+" ? "new" : ""]) => {
                const isCut = last + 1 < number;
                if (number !== "+") last = number;
                const line = `<i>${number}</i>${withLanes(text, view.run?.lanes)}`;
                const cut = isCut ? '<span class="cut">⋮</span>' : "";
                return `${cut}<span class="line ${kind}" data-line="${number}">${line}</span>`;
            });
            listing.firstChild.innerHTML = lines.join("");
        }

        // Puts what the repair adds into the program, or takes it out again.
        function repair(on) {
            isRepaired = on;
            list(on ? view.run.repair.code : view.run.code);
            refresh();
            // The first one near the present line comes to the top: the report lies over the end.
            const now = part(".line.now")?.offsetTop || 0;
            const half = highNow() / 2;
            const added = [...place.querySelectorAll(".line.new")];
            const first = added.find((line) => line.offsetTop > now - half) || added.at(-1);
            if (!first) return;
            const isNear = Math.abs(first.offsetTop - now) < half;
            listing.scrollTop = (isNear ? Math.min(first.offsetTop, now) : first.offsetTop) -
                first.offsetHeight;
        }

        // What is missing and what to do, with the repair, and with many days of the program.
        function drawReport({ report }, isAsked) {
            if (!options.days) return;
            const foot = part(".stepper-report");
            const { repair: right } = view.run;
            const program = isRepaired ? right.program : view.run.program;
            const key = report && !isAsked ? `${view.at} ${isRepaired} ${view.run.run}` : "";
            if (foot.dataset.key === key) return;
            foot.dataset.key = key;
            foot.replaceChildren();
            if (!key) return;
            const row = (name, text) => text ? `<dt>${name}</dt><dd>${escaped(text)}</dd>` : "";
            foot.innerHTML = isRepaired
                ? "<p>With the green lines this pair is in order. In a run with them the checker " +
                    "reports nothing.</p>"
                : `<dl>${row("Missing", report.missing)}${row("To do", report.todo)}</dl>`;
            const buttons = element("p");
            const add = (words, act) => buttons.append(workbook.button(words, act));
            if (right)
                add(isRepaired ? "Take it back" : "Show the repair in the code", () => {
                    repair(!isRepaired);
                    part(".stepper-report button")?.focus({ preventScroll: true });
                });
            const days = program && options.days(program, view.run.arguments);
            if (days) add("Run 300 days", () => {
                foot.querySelector(".run-days")?.remove();
                foot.append(days());
                foot.scrollTop = foot.scrollHeight;
            });
            if (buttons.firstChild) foot.append(buttons);
        }

        // What the run's picture is: its order where streams wait for each other, or a report.
        function viewOf(run) {
            if (run.view) return run.view;
            const isOrder = run.rows?.some((row) => row.source !== null) ||
                run.steps.some(({ report }) => report && report.earlier !== null);
            return isOrder && run.lanes.length > 1 ? "order" : "pool";
        }

        function show(run, at = run.begin || 0) {
            view.run = run;
            view.rows = Math.max(...run.steps.map(({ streams }) => streamRows(streams).length));
            view.at = Math.min(at, end());
            isRepaired = false;
            effects = effectsOf(run);
            shows = viewOf(run);
            list(run.code);
            listing.setAttribute("aria-label", run.file);
            map.setAttribute("aria-valuemax", run.steps.length);
            part(".views").hidden = !run.rows?.length;
            toReport.hidden = !run.steps.some(({ report }) => report);
            refresh();
        }

        function nameReport() {
            toReport.textContent = options.held?.() ? "To the question" : "To the report";
        }

        // The last step that may be shown.
        function end() {
            const report = options.held?.() ? view.run.steps.findIndex((step) => step.report) : -1;
            return report < 0 ? view.run.steps.length - 1 : Math.max(0, report - 2);
        }

        // [width, height, rows of the order] of the picture. Below it nothing moves at a step.
        function sizeNow() {
            const heights = Object.keys(view.run.tops).map((pool) => sizeOf(view.run, pool).height);
            // For a room the whole is drawn larger, and not more of it.
            const isLarge = place.classList.contains("is-large");
            const wide = isLarge ? WIDTH : Math.max(WIDTH, part(".picture").clientWidth - 4);
            if (shows === "pool") return [wide, Math.max(0, ...heights)];
            if (isLarge) return [480, HEAD + 8 + LARGE * ROW, LARGE];
            // Its words stand above it, or at its left. A question has the whole width.
            const pane = part(".stepper-state");
            const isBeside = getComputedStyle(pane).display === "grid";
            const above = isBeside ? part(".picture").offsetTop - pane.offsetTop : ABOVE;
            const room = pane.clientHeight - above;
            const least = pane.querySelector(".asked") ? 3 : ROWS;
            const rows = Math.max(least, Math.floor((room - HEAD - 8) / ROW));
            return [wide, HEAD + 8 + rows * ROW, rows];
        }

        function mark(step, effect) {
            part(".chip")?.remove();
            for (const line of place.querySelectorAll(".line")) {
                const isNow = Number(line.dataset.line) === step.line;
                line.classList.toggle("now", isNow);
                line.classList.toggle("access", Boolean(step.marks?.includes(+line.dataset.line)));
                if (isNow) line.setAttribute("aria-current", "step");
                else line.removeAttribute("aria-current");
            }
            const now = part(".line.now");
            if (!now) return; // nothing has run yet
            if (effect?.text) {
                now.append(element("span", { className: `chip ${effect.kind}` }, effect.text));
            }
            if (!editor) fold(step);
            const [top, high] = [now.offsetTop - listing.scrollTop, highNow()];
            const isSeen = top >= 0 && top + 2 * now.offsetHeight < high;
            // Within the listing alone: the page stays where it is, and so does the listing while
            // the line is in it. An editor moves no more than it must, under who types.
            if (!isSeen) listing.scrollTop = now.offsetTop - high / 2;
        }

        // How much of the program is seen: the report may lie over its end.
        function highNow() {
            const [code, card] = [listing, part(".stepper-report")].map((one) =>
                one.getBoundingClientRect());
            const isOver = card.height && card.top > code.top && card.top < code.bottom;
            return isOver ? card.top - code.top : listing.clientHeight;
        }

        // Of a program whose report names lines that are too far apart, only what is near them.
        function fold(step) {
            const lines = [...place.querySelectorAll(".line")];
            for (const line of place.querySelectorAll(".line, .cut")) line.hidden = false;
            const marked = lines.filter((line) => line.matches(".access"));
            if (!step.marks || marked.length < 2 || isRepaired) return;
            const far = marked.at(-1).offsetTop - marked[0].offsetTop;
            if (far < highNow() - 3 * marked[0].offsetHeight) {
                listing.scrollTop = marked[0].offsetTop - marked[0].offsetHeight;
                return;
            }
            for (const cut of place.querySelectorAll(".cut")) cut.hidden = true;
            listing.scrollTop = 0;
            for (let near = NEAR; near >= 0; near--) {
                const around = (at) => lines.slice(Math.max(0, at - near), at + near + 1);
                const kept = new Set(marked.flatMap((line) => around(lines.indexOf(line))));
                for (const line of lines) line.hidden = !kept.has(line);
                const last = marked.at(-1);
                if (last.offsetTop + last.offsetHeight <= highNow()) break;
            }
        }

        function drawState(run, seen) {
            const now = run.steps[seen];
            const [wide, high, rows] = sizeNow();
            picture.setAttribute("width", wide);
            picture.setAttribute("height", high);
            const pool = now?.state;
            // A pool that is lower than another one stands at the bottom.
            const above = shows === "pool" && pool ? sizeOf(run, pool.pool).height - high : 0;
            picture.setAttribute("viewBox", `0 ${above} ${wide} ${high}`);
            picture.setAttribute("class", shows);
            if (shows === "order") {
                draw(picture, orderNodes(run, seen, wide, rows, isRepaired));
                picture.setAttribute("aria-label", inWords(run, seen));
            } else if (pool) {
                draw(picture, poolNodes(run, pool, effects[seen].before, wide));
                picture.setAttribute("aria-label", `The pool after this line: ${mib(pool.used)} ` +
                    `MiB used, ${mib(pool.reserved)} reserved`);
            } else {
                draw(picture, []);
                picture.setAttribute("aria-label", "No pool yet");
            }
            if (part(".legend").dataset.of !== shows) part(".legend").innerHTML = legend(shows);
            part(".legend").dataset.of = shows;
        }

        // The order in a sentence: the last row, and its edge.
        function inWords(run, at) {
            const row = run.rows.findLast((one) => one.at <= at);
            if (!row) return "Nothing is in a stream yet";
            const lane = run.lanes[row.lane]?.[0];
            const { report } = run.steps[at];
            const edge = effects[row.at].kind === "edge" ? `, ${effects[row.at].text}` : "";
            const missing = report ? `; ${report.words}` : "";
            return `The order of the streams: last ${row.words}${lane ? ` in ${lane}` : ""}` +
                `${edge}${missing}`;
        }

        function drawMap() {
            const { run, at } = view;
            if (!run) return;
            const wide = map.clientWidth || 600;
            const isAsked = options.asks?.() || false;
            const seen = isAsked ? (options.question?.(at) ? at - 1 : at) : end();
            const svg = map.firstChild;
            svg.setAttribute("width", wide);
            svg.setAttribute("viewBox", `0 0 ${wide} 58`);
            draw(svg, mapNodes(run, effects, wide, at, seen));
        }

        function figures(now, effect) {
            if (!now?.state) return "No pool of this process has memory yet.";
            const { pool, used, reserved } = now.state;
            const change = (bytes) => bytes ? ` <em class="${bytes > 0 ? "up" : "down"}">` +
                `${signed(bytes).replace(" MiB", "")}</em>` : "";
            return `${escaped(poolName(pool))}: used ${mib(used)} MiB` +
                `${change(used - effect.before.used)}, reserved ${mib(reserved)} MiB` +
                `${change(reserved - effect.before.reserved)}`;
        }

        function refresh() {
            if (!view.run) return;
            const { run, at } = view;
            const step = run.steps[at];
            const last = end();
            const question = options.question?.(at);
            const seen = question ? at - 1 : at;
            const now = run.steps[seen];
            const idle = step.streams.map(([name]) => [name, []]);
            drawReport(step, Boolean(question));
            const hadFocus = part(".say").contains(document.activeElement);
            if (question) part(".say").replaceChildren(...question);
            else part(".say").textContent =
                `${options.prefix?.(at) || ""}${step.call}: ${step.say}`;
            if (hadFocus) next.focus({ preventScroll: true });
            part(".figures").innerHTML = figures(now, effects[seen]);
            // Of these depends how much room there is.
            place.classList.toggle("is-asked", Boolean(part(".asked")));
            place.classList.toggle("is-order", shows === "order");
            drawState(run, seen);
            const queues = now ? now.streams : idle;
            const rows = streamRows(queues).map((row) => `<li>${row}</li>`).join("");
            part(".queues").innerHTML = `<ul class="streams">${rows}</ul>`;
            // With room for a third line of one of them, so that none moves what is above.
            part(".queues").style.minHeight = `${view.rows * 1.66 + 3.2}rem`;
            // Now the listing has its height: what is asked may take lines away.
            mark(step, question ? null : effects[at]);
            part(".count").textContent = `${at + 1} of ${run.steps.length}`;
            nameReport();
            part(".where").textContent = part(".where").title = step.row || "";
            for (const button of part(".views").children)
                button.setAttribute("aria-pressed", String(button.dataset.view === shows));
            map.setAttribute("aria-valuenow", at + 1);
            map.setAttribute("aria-valuetext", `${part(".count").textContent}, line ${step.line}` +
                `${!question && effects[at].text ? `: ${effects[at].text}` : ""}`);
            drawMap();
            // Not disabled: one that is loses the focus, and the keys with it.
            back.setAttribute("aria-disabled", String(at === 0));
            next.setAttribute("aria-disabled", String(at === last));
            jump.setAttribute("aria-disabled", String(at === last));
            options.shown?.(step);
        }

        function go(to) {
            if (!view.run) return;
            view.at = Math.max(0, Math.min(end(), to));
            if (isRepaired) repair(false);
            else refresh();
        }

        function forward() {
            if (!options.forward?.()) go(view.at + 1);
        }

        // To the next step that changed something, or that asks.
        function change() {
            if (!view.run || options.forward?.()) return;
            const last = end();
            let to = view.at + 1;
            while (to < last && effects[to].kind === "none" && !options.question?.(to)) to++;
            go(to);
        }

        // The next report, or the first one again.
        function report() {
            const { steps } = view.run;
            if (options.held?.()) return;
            const found = steps.findIndex((step, at) => step.report && at > view.at);
            shows = view.run.rows.length ? "order" : shows;
            go(found < 0 ? steps.findIndex((step) => step.report) : found);
        }

        function enlarge(on) {
            place.classList.toggle("is-large", on);
            large.setAttribute("aria-pressed", String(on));
            // What is behind it can't be reached.
            for (let node = place; node !== document.body; node = node.parentElement)
                for (const other of node.parentElement.children)
                    if (other !== node && !other.matches("script, style")) other.inert = on;
            refresh();
        }

        function toMap(event) {
            const { left, width } = map.getBoundingClientRect();
            const { length } = view.run?.steps || [];
            go(Math.round(((event.clientX - left - 12) / (width - 24)) * (length - 1)));
        }

        back.addEventListener("click", () => go(view.at - 1));
        next.addEventListener("click", forward);
        jump.addEventListener("click", change);
        toReport.addEventListener("click", report);
        large.addEventListener("click", () => enlarge(!place.classList.contains("is-large")));
        part(".views").addEventListener("click", ({ target }) => {
            shows = target.dataset.view || shows;
            refresh();
        });
        map.addEventListener("pointerdown", (event) => {
            map.setPointerCapture(event.pointerId);
            toMap(event);
        });
        map.addEventListener("pointermove", (event) => {
            if (map.hasPointerCapture(event.pointerId)) toMap(event);
        });
        new ResizeObserver(() => refresh()).observe(map);
        (options.keys || place).addEventListener("keydown", (event) => {
            if (event.key === "Escape" && place.classList.contains("is-large")) enlarge(false);
            const isOther = event.ctrlKey || event.altKey || event.metaKey || event.shiftKey;
            if (isOther || event.target.matches(TAKES_KEYS)) return;
            const moves = {
                ArrowLeft: () => go(view.at - 1), ArrowRight: forward, n: change,
                Home: () => go(0), End: () => go(Infinity),
            };
            if (!Object.hasOwn(moves, event.key)) return;
            event.preventDefault();
            moves[event.key]();
        });
        return Object.assign(view, { show, refresh, go, forward, list });
    };
})();
