// Steps through a run on its page. The run is a script in the folder steps, which is loaded when
// the reader comes near. docs/extensions/stepper.py wrote it: the code, and for each step what
// changed of its line, a sentence, and the pool and the streams as that line left them.
"use strict";

window.workbookSteps = {};

(() => {
    const root = document.documentElement.dataset.content_root || "./";
    const NEAR = "800px"; // so far above or below the screen a run is loaded
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

    // How many segments a pool's picture has, how high one is, and the whole.
    function sizeOf(run, pool) {
        const top = Math.max(run.tops[pool], Math.ceil(run.thresholds[pool] / SEGMENT));
        const unit = Math.min(26, 200 / top);
        return { top, unit, height: top * unit + 34 };
    }

    // The pool after a step. 0 is at the bottom, as in memory_picture.py.
    function poolPicture(run, step) {
        const { pool, segments, live, pending, used, reserved, threshold } = step;
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
        for (const [offset, bytes, color] of live) {
            const { y, high } = box(`used ${color}`, offset, bytes, bytes < SEGMENT / 4 ? 0.5 : 1);
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

    function streamRows(names, streams) {
        const rows = streams.map((queue, at) => {
            const words = queue.map(
                ([what, state]) => `<span class="piece ${state}">${escaped(what)}, ${state}</span>`,
            );
            const text = words.join(" ") || '<span class="idle">nothing queued</span>';
            return `<li><b>${escaped(names[at])}</b> ${text}</li>`;
        });
        return `<ul class="streams">${rows.join("")}</ul>`;
    }

    // Each step as it is, from what changed in it.
    function unpacked(run) {
        let now = { segments: [], live: [], pending: [], streams: run.streams.map(() => []) };
        return run.steps.map((step) => {
            now = { ...now, streams: [...now.streams] };
            for (const [key, value] of Object.entries(step)) {
                if (key === "call" || key === "say") now[key] = run.words[value];
                else if (key.startsWith("stream "))
                    now.streams[key.slice(7)] = value.map(([what, s]) => [run.words[what], s]);
                else if (Array.isArray(now[key])) {
                    const [gone, added] = value;
                    now[key] = now[key].filter((_, at) => !gone.includes(at)).concat(added);
                } else now[key] = value;
            }
            return now;
        });
    }

    function load(name, version) {
        return new Promise((done, failed) => {
            const script = document.createElement("script");
            script.src = `${root}_static/steps/${name}.js?v=${version}`;
            script.onload = () => done(window.workbookSteps[name]);
            script.onerror = () => failed(new Error(`${script.src} could not be loaded`));
            document.head.append(script);
        });
    }

    function start(place) {
        let run = null;
        let steps = [];
        let at = 0;
        let asked = new Set(); // the steps before which there is a question
        let answers = {}; // of a step: what the reader said
        place.innerHTML = `<p class="stepper-title">Step through this run</p>
            <div class="stepper-bar">
              <button type="button" class="back" aria-keyshortcuts="ArrowLeft">◀ Back</button>
              <button type="button" class="next" aria-keyshortcuts="ArrowRight">Step ▶</button>
              <input type="range" min="0" value="0" aria-label="Step of the run">
              <span class="count">&nbsp;</span>
              <select class="runs" aria-label="Run"></select>
              <button type="button" class="large" aria-pressed="false">Large</button>
              <label><input type="checkbox" class="ask"> Ask me before a step that matters</label>
            </div>
            <div class="stepper-run">
              <pre tabindex="0" role="group" aria-label="The program"></pre>
              <div class="stepper-state" tabindex="0" role="group" aria-label="After this line">
                <div class="say" aria-live="polite"></div>
                <p class="figures"></p>
                <div class="picture"></div>
                <div class="queues"></div>
              </div>
            </div>`;
        const part = (selector) => place.querySelector(selector);
        const [back, next, slider, large] = [".back", ".next", "[type=range]", ".large"].map(part);
        const runs = JSON.parse(place.dataset.runs);
        const list = part(".runs");
        list.hidden = runs.length === 1;
        list.append(...runs.map(([name]) => new Option(name)));
        const listing = part("pre");
        if (place.dataset.part) part(".stepper-title").append(`: ${place.dataset.part}`);

        function showCode() {
            const lines = run.code.map(([number, text], index) => {
                const isCut = index && run.code[index - 1][0] + 1 < number;
                const line = `<i>${number}</i>${escaped(text)}`;
                const cut = isCut ? '<span class="cut">⋮</span>' : "";
                return `${cut}<span class="line" data-line="${number}">${line}</span>`;
            });
            listing.innerHTML = lines.join("");
            listing.setAttribute("aria-label", run.file);
            slider.max = steps.length - 1;
            // Below the picture nothing moves at a step.
            run.thresholds = {};
            for (const { pool, threshold } of steps)
                run.thresholds[pool] = Math.max(run.thresholds[pool] || 0, threshold);
            const heights = Object.keys(run.tops).map((pool) => sizeOf(run, pool).height);
            part(".picture").style.minHeight = `${Math.max(0, ...heights)}px`;
        }

        // A step matters when what it does to the reserved memory is new at its line.
        function findQuestions() {
            const seen = new Set();
            asked = new Set();
            steps.forEach((step, i) => {
                const before = steps[i - 1];
                if (!step.asks || step.pool === undefined || before?.pool !== step.pool) return;
                const key = `${step.line} ${Math.sign(step.reserved - before.reserved)}`;
                if (!seen.has(key)) asked.add(i);
                seen.add(key);
            });
        }

        // The question in the place of the sentence. What the step did is not shown yet.
        function ask(step, before) {
            const sizes = [0, 32, 64, 128].map((size) => size * MIB);
            const choices = [...new Set([...sizes, before.reserved, step.reserved])];
            const buttons = choices.sort((a, b) => a - b).map((bytes) => {
                const button = document.createElement("button");
                button.type = "button";
                button.textContent = mib(bytes);
                button.addEventListener("click", () => {
                    answers[at] = bytes;
                    show();
                    next.focus();
                });
                return button;
            });
            const question = `Line ${step.line} is next. How many MiB are reserved after it?`;
            const row = document.createElement("span");
            row.className = "choices";
            row.append(...buttons);
            part(".say").replaceChildren(question, row);
        }

        function verdict(step) {
            if (typeof answers[at] !== "number") return "";
            return answers[at] === step.reserved ? "Correct. "
                : `Not ${mib(answers[at])}, but ${mib(step.reserved)} MiB. `;
        }

        const isOpen = () => part(".ask").checked && asked.has(at) && answers[at] === undefined;

        function show() {
            if (!run) return;
            const step = steps[at];
            const last = steps.length - 1;
            const shown = isOpen() ? steps[at - 1] : step;
            for (const line of place.querySelectorAll(".line")) {
                const isNow = Number(line.dataset.line) === step.line;
                line.classList.toggle("now", isNow);
                line.classList.toggle("access", Boolean(step.marks?.includes(+line.dataset.line)));
                if (isNow) line.setAttribute("aria-current", "step");
                else line.removeAttribute("aria-current");
            }
            const now = part(".line.now");
            // Within the listing alone: the page stays where it is.
            listing.scrollTop = now.offsetTop - listing.clientHeight / 2;
            if (isOpen()) ask(step, shown);
            else part(".say").textContent = `${verdict(step)}${step.call}: ${step.say}`;
            const hasPool = shown.pool !== undefined;
            const pool = shown.pool === "graphs" ? "Memory for graphs" : `Pool ${shown.pool}`;
            part(".figures").textContent = hasPool
                ? `${pool}: used ${mib(shown.used)} MiB, reserved ${mib(shown.reserved)} MiB`
                : "No pool of this process has memory yet.";
            part(".picture").innerHTML = hasPool ? poolPicture(run, shown) : "";
            part(".queues").innerHTML = streamRows(run.streams, shown.streams);
            part(".count").textContent = `${at + 1} of ${last + 1}`;
            slider.value = at;
            slider.setAttribute("aria-valuetext", `${at + 1} of ${last + 1}, line ${step.line}`);
            // Not disabled: one that is loses the focus, and the keys with it.
            back.setAttribute("aria-disabled", String(at === 0));
            next.setAttribute("aria-disabled", String(at === last));
            Object.assign(place.dataset, { number: step.number, run: run.run });
            Object.assign(place.dataset, { process: run.process, shown: list.selectedIndex });
        }

        // On from a question without an answer: the step is shown, and does not ask again.
        function forward() {
            if (isOpen()) {
                answers[at] = null;
                show();
            } else go(at + 1);
        }

        function go(to) {
            at = Math.max(0, Math.min(steps.length - 1, to));
            show();
        }

        function enlarge(on) {
            place.classList.toggle("is-large", on);
            large.setAttribute("aria-pressed", String(on));
            show();
        }

        async function open() {
            near.disconnect();
            place.removeEventListener("focusin", open);
            const chosen = list.selectedIndex;
            const [, name, version] = runs[chosen];
            try {
                const loaded = window.workbookSteps[name] || (await load(name, version));
                if (chosen !== list.selectedIndex) return; // another one since then
                run = loaded;
                steps = unpacked(run);
                at = 0;
                answers = {};
                findQuestions();
                showCode();
                show();
            } catch (reason) {
                part(".say").textContent = `The run cannot be shown: ${reason.message}.`;
            }
        }

        const near = new IntersectionObserver(
            (found) => found.some((one) => one.isIntersecting) && open(),
            { rootMargin: NEAR },
        );
        near.observe(place);
        place.addEventListener("focusin", open);
        back.addEventListener("click", () => go(at - 1));
        next.addEventListener("click", forward);
        part(".ask").addEventListener("change", () => {
            answers = {};
            show();
        });
        list.addEventListener("change", open);
        slider.addEventListener("input", () => go(Number(slider.value)));
        large.addEventListener("click", () => enlarge(!place.classList.contains("is-large")));
        place.addEventListener("keydown", (event) => {
            if (event.key === "Escape") enlarge(false);
            const isOther = event.ctrlKey || event.altKey || event.metaKey;
            if (isOther || [slider, list].includes(event.target)) return;
            const moves = { ArrowLeft: at - 1, Home: 0, End: steps.length - 1 };
            if (!(event.key in moves) && event.key !== "ArrowRight") return;
            event.preventDefault();
            if (event.key === "ArrowRight") forward();
            else go(moves[event.key]);
        });
    }

    document.querySelectorAll(".stepper").forEach(start);
})();
