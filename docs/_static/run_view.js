// One drawing code for a run in steps: what stands at the left with the present line marked, the
// pool and the streams as that line left them, a sentence of what happened, keys, a slider and a
// teacher's view. The stepper (stepper.js) and the pool bench (bench.js) show their runs with it.
//
//   const view = runView(place, options);   makes it in the element `place`
//   view.show(run)                          from its first step on; or show(run, at)
//   view.go(at), view.forward()             to a step; or to the next one
//   view.refresh()                          draws the step again
//   view.list(code)                         shows other lines
//   view.run, view.at
//
// A run is {file, code: [[number, text]], tops: {pool: segments}, steps}, as read() of
// workbook/run_steps.py makes it. A step is {line, number, call, say, marks, state,
// streams}. Its state is null, or {pool, used, reserved, threshold, limit, segments, live,
// pending}; its streams are [name, [[words, state] of what is queued]]. A run may have names,
// {allocation: name}. The options:
//
//   title      what stands above
//   controls   more elements for the bar
//   editor     a text field that lies over the lines, whose texts are then empty
//   poolName   (pool) => what it is called
//   keys       the element in which the keys make steps, if not the place alone
//   question   (at) => nodes that stand in the place of the sentence of this step, whose state is
//              not shown yet; or null
//   prefix     (at) => words before the sentence
//   forward    () => true if it did what the next step would have done
//   shown      (step) => called when it is drawn
"use strict";

const runView = (() => {
    const MIB = 2 ** 20;
    const SEGMENT = 32 * MIB;
    const WIDTH = 300;
    const LEFT = 46;
    // What the arrow keys do something else in.
    const TAKES_KEYS = "input:not(.ask), select, textarea";
    const escaped = (text) => String(text).replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
    const mib = (bytes) => String(Math.round((bytes / MIB) * 100) / 100);

    // The path of a box with lines that rise from left to right: svg.py, Canvas.hatched.
    function hatched(x, y, width, height) {
        let path = `M${x} ${y}h${width}v${height}h${-width}z`;
        for (let along = 7; along < width + height; along += 7) {
            path += `M${x + Math.max(0, along - height)} ${y + Math.min(along, height)}`;
            path += `L${x + Math.min(along, width)} ${y + Math.max(0, along - width)}`;
        }
        return path;
    }

    const raised = (limit) => Math.ceil(limit / SEGMENT);

    // How many segments a pool's picture has, how high one is, and the whole.
    function sizeOf(run, pool) {
        const edges = run.steps.filter(({ state }) => String(state?.pool) === String(pool))
            .flatMap(({ state }) => [raised(state.threshold), raised(state.limit)]);
        const top = Math.max(run.tops[pool], ...edges);
        const unit = Math.min(26, 200 / top);
        return { top, unit, height: top * unit + 34 };
    }

    // A pool after a step. 0 is at the bottom, as in memory_picture.py.
    function poolPicture(run, state) {
        const { pool, segments, live, pending, used, reserved, threshold, limit } = state;
        const { top, unit, height } = sizeOf(run, pool);
        const yOf = (bytes) => 20 + (top - bytes / SEGMENT) * unit;
        const width = WIDTH - LEFT - 6;
        const parts = [];
        const every = 2 ** Math.ceil(Math.log2(Math.max(1, 15 / unit)));
        for (let at = 0; at <= top; at += every)
            parts.push(
                `<text class="figure" x="${LEFT - 6}" y="${yOf(at * SEGMENT) + 4}" ` +
                    `text-anchor="end">${at * 32}</text>`,
            );
        const box = (kind, offset, bytes, inset) => {
            const high = Math.max(2, (bytes / SEGMENT) * unit - 2 * inset);
            const y = yOf(offset) - high - inset;
            parts.push(
                `<rect class="${kind}" x="${LEFT + 3 * inset}" y="${y}" ` +
                    `width="${width - 6 * inset}" height="${high}"/>`,
            );
            return { y, high };
        };
        for (let at = 0; at < run.tops[pool]; at++)
            box(segments.includes(at) ? "segment" : "gone", at * SEGMENT, SEGMENT, 0);
        for (const [offset, bytes, color] of pending) {
            const high = (bytes / SEGMENT) * unit - 2;
            if (high < 3) continue;
            const path = hatched(LEFT + 4, yOf(offset) - high - 1, width - 8, high);
            parts.push(`<path class="pending ${color}" d="${path}"/>`);
        }
        for (const [offset, bytes, color, allocation] of live) {
            const { y, high } = box(`used ${color}`, offset, bytes, bytes < SEGMENT / 4 ? 0.5 : 1);
            const name = run.names?.[allocation];
            if (high >= 15)
                parts.push(
                    `<text class="on" x="${LEFT + 14}" y="${y + high / 2 + 4}" ` +
                        `text-anchor="start">${name ? `${escaped(name)}: ` : ""}` +
                        `${mib(bytes)}</text>`,
                );
        }
        // A line with its words above it, on a plate.
        const edge = (kind, y, words, plate, x, anchor) =>
            parts.push(
                `<line class="${kind}" x1="${LEFT - 4}" x2="${WIDTH}" y1="${y}" y2="${y}"/>` +
                    `<rect class="plate" x="${anchor === "end" ? x - plate + 2 : x - 2}" ` +
                    `y="${y - 17}" width="${plate}" height="15"/>` +
                    `<text class="bold" x="${x}" y="${y - 5}" text-anchor="${anchor}">` +
                    `${words}</text>`,
            );
        if (limit)
            edge("limit", yOf(raised(limit) * SEGMENT), `maxSize ${mib(limit)}`, 82,
                LEFT + 4, "start");
        if (threshold)
            edge("threshold", yOf(threshold), `release threshold ${mib(threshold)}`, 168,
                WIDTH - 4, "end");
        const title = `The pool after this line: ${mib(used)} MiB used, ${mib(reserved)} reserved`;
        return (
            `<svg role="img" width="${WIDTH}" height="${height}" ` +
            `viewBox="0 0 ${WIDTH} ${height}"><title>${title}</title>${parts.join("")}</svg>`
        );
    }

    // Each stream with the color of its memory: svg.py, stream_class().
    function streamRows(streams) {
        let number = 0;
        const rows = streams.map(([name, queue]) => {
            const color = name === "legacy stream" ? "s-legacy" : `s-${(number++ % 4) + 1}`;
            const words = queue.map(
                ([what, state]) => `<span class="piece ${state}">${escaped(what)}, ${state}</span>`,
            );
            const text = words.join(" ") || '<span class="idle">nothing queued</span>';
            return `<li><b class="${color}">${escaped(name)}</b> ${text}</li>`;
        });
        return `<ul class="streams">${rows.join("")}</ul>`;
    }

    return (place, options = {}) => {
        const view = { run: null, at: 0 };
        const poolName = options.poolName ||
            ((pool) => (pool === "graphs" ? "Memory for graphs" : `Pool ${pool}`));
        place.innerHTML = `<p class="stepper-title">${escaped(options.title || "")}</p>
            <div class="stepper-bar">
              <button type="button" class="back" aria-keyshortcuts="ArrowLeft">◀ Back</button>
              <button type="button" class="next" aria-keyshortcuts="ArrowRight">Step ▶</button>
              <input type="range" min="0" value="0" aria-label="Step of the run">
              <span class="count">&nbsp;</span>
              <button type="button" class="large" aria-pressed="false">Large</button>
            </div>
            <div class="stepper-run">
              <pre tabindex="0" role="group" aria-label="The program"><span></span></pre>
              <div class="stepper-state" tabindex="0" role="group" aria-label="After this line">
                <div class="say" aria-live="polite"></div>
                <p class="figures"></p>
                <div class="picture"></div>
                <div class="queues"></div>
              </div>
            </div>`;
        const part = (selector) => place.querySelector(selector);
        const [back, next, slider, large] = [".back", ".next", "[type=range]", ".large"].map(part);
        const listing = part("pre");
        const { editor } = options;
        large.before(...(options.controls || []));
        part(".stepper-title").hidden = !options.title;
        if (editor) {
            listing.append(editor);
            listing.removeAttribute("tabindex"); // the editor has the focus
            listing.firstChild.setAttribute("aria-hidden", "true");
        }

        function list(code) {
            const lines = code.map(([number, text], index) => {
                const isCut = index && code[index - 1][0] + 1 < number;
                const line = `<i>${number}</i>${escaped(text)}`;
                const cut = isCut ? '<span class="cut">⋮</span>' : "";
                return `${cut}<span class="line" data-line="${number}">${line}</span>`;
            });
            listing.firstChild.innerHTML = lines.join("");
        }

        function show(run, at = 0) {
            Object.assign(view, { run, at });
            list(run.code);
            listing.setAttribute("aria-label", run.file);
            slider.max = run.steps.length - 1;
            // Below the picture nothing moves at a step.
            const heights = Object.keys(run.tops).map((pool) => sizeOf(run, pool).height);
            part(".picture").style.minHeight = `${Math.max(0, ...heights)}px`;
            refresh();
        }

        function mark(step) {
            for (const line of place.querySelectorAll(".line")) {
                const isNow = Number(line.dataset.line) === step.line;
                line.classList.toggle("now", isNow);
                line.classList.toggle("access", Boolean(step.marks?.includes(+line.dataset.line)));
                if (isNow) line.setAttribute("aria-current", "step");
                else line.removeAttribute("aria-current");
            }
            const now = part(".line.now");
            if (!now) return; // nothing has run yet
            const [top, high] = [now.offsetTop - listing.scrollTop, listing.clientHeight];
            const isSeen = top >= 0 && top + 2 * now.offsetHeight < high;
            // Within the listing alone: the page stays where it is. An editor moves no more than it
            // must, under the hands of who types.
            if (!editor || !isSeen) listing.scrollTop = now.offsetTop - high / 2;
        }

        function refresh() {
            if (!view.run) return;
            const { run, at } = view;
            const step = run.steps[at];
            const last = run.steps.length - 1;
            const question = options.question?.(at);
            const empty = { state: null, streams: step.streams.map(([name]) => [name, []]) };
            const { state, streams } = question ? run.steps[at - 1] || empty : step;
            mark(step);
            const hadFocus = part(".say").contains(document.activeElement);
            if (question) part(".say").replaceChildren(...question);
            else part(".say").textContent =
                `${options.prefix?.(at) || ""}${step.call}: ${step.say}`;
            if (hadFocus) next.focus({ preventScroll: true });
            part(".figures").textContent = state
                ? `${poolName(state.pool)}: used ${mib(state.used)} MiB, ` +
                    `reserved ${mib(state.reserved)} MiB`
                : "No pool of this process has memory yet.";
            part(".picture").innerHTML = state ? poolPicture(run, state) : "";
            part(".queues").innerHTML = streamRows(streams);
            part(".count").textContent = `${at + 1} of ${last + 1}`;
            slider.value = at;
            slider.setAttribute("aria-valuetext", `${at + 1} of ${last + 1}, line ${step.line}`);
            // Not disabled: one that is loses the focus, and the keys with it.
            back.setAttribute("aria-disabled", String(at === 0));
            next.setAttribute("aria-disabled", String(at === last));
            options.shown?.(step);
        }

        function go(to) {
            if (!view.run) return;
            view.at = Math.max(0, Math.min(view.run.steps.length - 1, to));
            refresh();
        }

        function forward() {
            if (!options.forward?.()) go(view.at + 1);
        }

        function enlarge(on) {
            place.classList.toggle("is-large", on);
            large.setAttribute("aria-pressed", String(on));
            refresh();
        }

        back.addEventListener("click", () => go(view.at - 1));
        next.addEventListener("click", forward);
        slider.addEventListener("input", () => go(Number(slider.value)));
        large.addEventListener("click", () => enlarge(!place.classList.contains("is-large")));
        (options.keys || place).addEventListener("keydown", (event) => {
            if (event.key === "Escape") enlarge(false);
            const isOther = event.ctrlKey || event.altKey || event.metaKey || event.shiftKey;
            if (isOther || event.target.matches(TAKES_KEYS)) return;
            const moves = { ArrowLeft: view.at - 1, Home: 0, End: Infinity };
            if (!(event.key in moves) && event.key !== "ArrowRight") return;
            event.preventDefault();
            if (event.key === "ArrowRight") forward();
            else go(moves[event.key]);
        });
        return Object.assign(view, { show, refresh, go, forward, list });
    };
})();
