// Steps through a run on its page. The run is data that docs/extensions/stepper.py wrote: the code,
// and for each step its line, a sentence, and the pool and the streams as that line left them.
"use strict";

(() => {
    const MIB = 2 ** 20;
    const SEGMENT = 32 * MIB;
    const WIDTH = 300;
    const LEFT = 46;
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

    // The pool after a step. 0 is at the bottom, as in memory_picture.py.
    function poolPicture(run, { pool, segments, live, pending, used, reserved }) {
        const threshold = run.thresholds[pool];
        const top = Math.max(run.tops[pool], threshold ? Math.ceil(threshold / SEGMENT) : 0);
        const unit = Math.max(8, Math.min(26, 200 / top));
        const height = top * unit + 34;
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
        for (const [offset, bytes, color] of live) {
            const { y, high } = box(`used ${color}`, offset, bytes, 1);
            if (high >= 15)
                parts.push(
                    `<text class="on" x="${LEFT + width / 2}" y="${y + high / 2 + 4}" ` +
                        `text-anchor="middle">${mib(bytes)}</text>`,
                );
        }
        if (threshold) {
            const y = yOf(threshold);
            const words = `release threshold ${mib(threshold)}`;
            parts.push(
                `<line class="threshold" x1="${LEFT - 4}" x2="${WIDTH}" y1="${y}" y2="${y}"/>`,
            );
            parts.push(
                `<rect class="plate" x="${WIDTH - 170}" y="${y - 17}" width="168" height="15"/>` +
                    `<text class="bold" x="${WIDTH - 4}" y="${y - 5}" ` +
                    `text-anchor="end">${words}</text>`,
            );
        }
        const title = `The pool after this line: ${mib(used)} MiB used, ${mib(reserved)} reserved`;
        return (
            `<svg role="img" width="${WIDTH}" height="${height}" ` +
            `viewBox="0 0 ${WIDTH} ${height}"><title>${title}</title>${parts.join("")}</svg>`
        );
    }

    function streamRows(streams) {
        const rows = streams.map(([name, queue]) => {
            const words = queue.map(
                ([what, state]) => `<span class="piece ${state}">${escaped(what)}, ${state}</span>`,
            );
            const text = words.join(" ") || '<span class="idle">nothing queued</span>';
            return `<li><b>${escaped(name)}</b> ${text}</li>`;
        });
        return `<ul class="streams">${rows.join("")}</ul>`;
    }

    function start(place) {
        const run = JSON.parse(place.querySelector("script").textContent);
        const last = run.steps.length - 1;
        let at = 0;
        const code = run.code.map(([number, text], index) => {
            const isCut = index && run.code[index - 1][0] + 1 < number;
            const line = `<i>${number}</i>${escaped(text)}`;
            const cut = isCut ? '<span class="cut">⋮</span>' : "";
            return `${cut}<span class="line" data-line="${number}">${line}</span>`;
        });
        place.insertAdjacentHTML(
            "beforeend",
            `<p class="stepper-title">Step through this run</p>
            <div class="stepper-bar">
              <button type="button" class="back" aria-keyshortcuts="ArrowLeft">◀ Back</button>
              <button type="button" class="next" aria-keyshortcuts="ArrowRight">Step ▶</button>
              <input type="range" min="0" max="${last}" value="0" aria-label="Step of the run">
              <span class="count"></span>
              <button type="button" class="large" aria-pressed="false">Large</button>
            </div>
            <div class="stepper-run">
              <pre tabindex="0" aria-label="${escaped(run.file)}">${code.join("")}</pre>
              <div class="stepper-state">
                <p class="say" aria-live="polite"></p>
                <p class="figures"></p>
                <div class="picture"></div>
                <div class="queues"></div>
              </div>
            </div>`,
        );
        const part = (selector) => place.querySelector(selector);
        const [back, next, slider, large] = [".back", ".next", "input", ".large"].map(part);
        const listing = part("pre");

        function show() {
            const step = run.steps[at];
            for (const line of place.querySelectorAll(".line.now")) {
                line.classList.remove("now");
                line.removeAttribute("aria-current");
            }
            const now = part(`[data-line="${step.line}"]`);
            now.classList.add("now");
            now.setAttribute("aria-current", "step");
            // Within the listing alone: the page stays where it is.
            const below = now.offsetTop - listing.offsetTop;
            listing.scrollTop = below - listing.clientHeight / 2;
            part(".say").textContent = `${step.call}: ${step.say}`;
            const { state } = step;
            part(".figures").textContent = state
                ? `Pool ${state.pool}: used ${mib(state.used)} MiB, ` +
                  `reserved ${mib(state.reserved)} MiB`
                : "No pool has memory yet.";
            part(".picture").innerHTML = state ? poolPicture(run, state) : "";
            part(".queues").innerHTML = streamRows(step.streams);
            part(".count").textContent = `${at + 1} of ${last + 1}`;
            slider.value = at;
            slider.setAttribute("aria-valuetext", `${at + 1} of ${last + 1}, line ${step.line}`);
            back.disabled = at === 0;
            next.disabled = at === last;
            place.dataset.number = step.number;
        }

        function go(to) {
            at = Math.max(0, Math.min(last, to));
            show();
        }

        function enlarge(on) {
            place.classList.toggle("is-large", on);
            large.setAttribute("aria-pressed", String(on));
            show();
        }

        back.addEventListener("click", () => go(at - 1));
        next.addEventListener("click", () => go(at + 1));
        slider.addEventListener("input", () => go(Number(slider.value)));
        large.addEventListener("click", () => enlarge(!place.classList.contains("is-large")));
        place.addEventListener("keydown", (event) => {
            if (event.key === "Escape") enlarge(false);
            if (event.target === slider || event.ctrlKey || event.altKey || event.metaKey) return;
            const moves = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: last };
            if (!(event.key in moves)) return;
            event.preventDefault();
            go(moves[event.key]);
        });
        place.hidden = false;
        show();
    }

    document.querySelectorAll(".stepper").forEach(start);
})();
