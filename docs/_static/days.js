// The first screen: 300 days of a program with a race. The reader makes the GPU busier and draws
// the missing order. The days that stand there at first are from runs while the book was built; all
// others run here, on the simulated device, which is loaded when it is first needed. Its checker
// says which pairs are unordered.
"use strict";

(() => {
    const place = document.querySelector(".days-toy");
    if (!place) return;
    const { element } = workbook;
    const { loads, pairs, script } = JSON.parse(place.dataset.days);
    const part = (selector) => place.querySelector(selector);
    if (!script) {
        place.classList.add("is-still");
        return;
    }
    const DAYS = 300;
    const RIGHT = 42;
    const CALLS = { launch_fill: "fill", launch_add: "add", cudaMemcpyAsync: "copy",
        cudaFreeAsync: "free" };
    const board = part(".days-lanes");
    const svg = part("svg");
    const slider = part("input");
    const hint = part(".days-hint");
    const squares = [...part(".days-squares").children];
    const steps = [...place.querySelectorAll("[data-step]")]
        .sort((one, other) => Object.values(CALLS).indexOf(one.dataset.step) -
            Object.values(CALLS).indexOf(other.dataset.step));
    const stepOf = (name) => steps.find((each) => each.dataset.step === name);
    const streamOf = (step) => step.parentElement.querySelector("b").textContent;
    const ARROWS = steps.flatMap((from, at) => steps.slice(at + 1)
        .filter((to) => streamOf(from) !== streamOf(to))
        .map((to) => `${from.dataset.step}-${to.dataset.step}`));
    const shown = (arrow) => arrow.replace("-", " \u2192 ");
    let arrows = []; // as the program takes them: "fill-add"
    let chosen = null; // the step from which an arrow begins
    let run = 0; // the number of the newest run of days
    const known = new Map([["0 ", { days: Array(DAYS).fill(RIGHT), pairs }]]);
    const key = () => `${loads[slider.value]} ${arrows.join(" ")}`;

    // ---- the device ----

    let loading = null;
    function load() {
        loading = loading || workbook.load(script).then(workbook.devices);
        loading.catch(() => { loading = null; });
        return loading;
    }

    // Runs all days on a few threads. Returns null if the reader wants others meanwhile. They begin
    // when the threads have ended the days that they run (`last`), because threads answer in turn.
    let last = Promise.resolve();
    async function runDays(mine) {
        const threads = await load();
        const found = { days: Array(DAYS).fill(null), pairs: [] };
        const given = [String(loads[slider.value]), ...arrows];
        let next = 0;
        await Promise.all(threads.map(async (thread) => {
            while (next < DAYS && mine === run) {
                const day = next++;
                // What the checker reports is the same on each day.
                const checks = day === 0;
                const result = await thread.runApart("docs/live/days", given, {
                    SIM_SCHEDULE: `random:${day + 1}`,
                    SIM_CHECK: checks ? "on" : "off",
                    SIM_JOURNAL: checks ? "journal" : "",
                });
                found.days[day] = Number(result.output);
                if (checks) {
                    found.pairs = result.journal.split("\n").filter(Boolean)
                        .map((line) => JSON.parse(line)).filter(({ did }) => did === "hazard")
                        .map((one) => `${CALLS[one.earlier_call]}-${CALLS[one.call]}`);
                }
                if (mine !== run) break;
                showDay(day, found.days[day]);
                count(found.days);
            }
        }));
        return mine === run ? found : null;
    }

    // ---- what is shown ----

    function showDay(day, number) {
        squares[day].className = number === null ? "later" : number === RIGHT ? "" : "wrong";
        squares[day].title = number === null ? "" : `day ${day + 1} prints ${number}`;
    }

    function others(days) {
        const counts = {};
        for (const number of days) if (number !== RIGHT) counts[number] = (counts[number] || 0) + 1;
        const words = Object.entries(counts).sort((one, other) => other[1] - one[1])
            .map(([number, count]) => `${count} print ${number}`);
        return words.length ? `; ${words.join(", ")}` : "";
    }

    const listed = (all) => all.flatMap((pair, i) => [i ? ", " : "",
        element("code", {}, shown(pair))]);

    // kind: "wrong" and "right" are results, "next" is what to do.
    function say(kind, ...content) {
        const box = part(".days-say");
        box.dataset.kind = kind;
        box.replaceChildren(...content);
    }

    // While days run, how many of them were right so far.
    function count(days) {
        const over = days.filter((number) => number !== null);
        const right = over.filter((number) => number === RIGHT).length;
        part(".days-result strong").textContent = `${right} of ${over.length}`;
        part(".days-result span").textContent = `days print ${RIGHT}${others(over)}`;
        return right;
    }

    function showResult({ days, pairs: open }) {
        const right = count(days);
        days.forEach((number, day) => showDay(day, number));
        part(".days-result").ariaBusy = "false";
        part(".days-squares").ariaLabel = `${right} of ${DAYS} days print ${RIGHT}`;
        if (open.length) {
            const lead = right === DAYS
                ? [element("b", {}, `All ${DAYS} days are right, and the program is wrong.`), " "]
                : [];
            const many = `${open.length} ${open.length > 1 ? "pairs" : "pair"}`;
            say("wrong", ...lead, `The checker finds ${many} of steps without an order: `,
                ...listed(open), right === DAYS ? "." : ". Luck is not order.");
        } else {
            say("right", element("b", {}, "No schedule can break it."),
                ` You used ${arrows.length} arrows. Each is one `,
                element("code", {}, "cudaEventRecord"), " and one ",
                element("code", {}, "cudaStreamWaitEvent"), ": ",
                element("a", { href: "08_stream_order.html" }, "where they stand in a program"),
                ".");
        }
        draw(open);
    }

    const NS = "http://www.w3.org/2000/svg";
    let open = pairs; // what the checker has reported of what is drawn

    function draw(unordered = open, loose = null) {
        open = unordered;
        const frame = board.getBoundingClientRect();
        const line = (kind, x1, y1, x2, y2) => {
            const made = document.createElementNS(NS, "g");
            made.setAttribute("class", kind);
            const bend = Math.max(18, (x2 - x1) / 2);
            made.innerHTML = `<path d="M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend - 6} ${y2} ` +
                `${x2 - 7} ${y2}"/><polygon points="${x2},${y2} ${x2 - 9},${y2 - 5} ` +
                `${x2 - 9},${y2 + 5}"/>`;
            return made;
        };
        const between = (pair, kind) => {
            const [from, to] = pair.split("-").map((name) => stepOf(name).getBoundingClientRect());
            return line(kind, from.right - frame.left, from.top + from.height / 2 - frame.top,
                to.left - frame.left, to.top + to.height / 2 - frame.top);
        };
        const missing = hint.ariaPressed === "true" ? unordered : [];
        svg.replaceChildren(...missing.map((pair) => between(pair, "missing")),
            ...arrows.map((pair) => between(pair, "drawn")));
        if (loose) {
            const from = loose.step.getBoundingClientRect();
            svg.append(line("drawn loose", from.right - frame.left,
                from.top + from.height / 2 - frame.top, loose.x - frame.left, loose.y - frame.top));
        }
        for (const step of steps) step.ariaPressed = String(step === chosen);
    }

    function list() {
        part(".days-drawn ul").replaceChildren(...arrows.map((arrow) => {
            const remove = () => {
                change(arrows.filter((each) => each !== arrow));
                (part(".days-drawn ul button") || steps[0]).focus();
            };
            return element("li", {}, workbook.button(`${shown(arrow)} \u00d7`, remove,
                { ariaLabel: `Remove the arrow ${shown(arrow)}` }));
        }));
        part(".days-clear").hidden = !arrows.length;
    }

    // ---- what the reader changes ----

    async function show() {
        const mine = ++run;
        const name = key();
        slider.ariaValueText = loads[slider.value]
            ? `${loads[slider.value]} kernels of other programs before each step`
            : "no kernels of other programs";
        list();
        draw(known.get(name)?.pairs || open);
        part(".days-text").hidden = true;
        part(".days-share").textContent = "Share";
        if (!known.has(name)) {
            squares.forEach((_, day) => showDay(day, null));
            part(".days-result").ariaBusy = "true"; // it is said at the end
            try {
                last = last.catch(() => {}).then(() => runDays(mine));
                const found = await last;
                if (found) known.set(name, found);
            } catch (reason) {
                if (mine === run)
                    say("wrong", `The days did not run: ${reason.message || reason}.`);
                return;
            }
        }
        if (mine === run) showResult(known.get(name));
    }

    function change(to) {
        arrows = ARROWS.filter((arrow) => to.includes(arrow));
        const state = arrows.length || slider.value > 0
            ? `#${new URLSearchParams({ arrows: arrows.join(" "), busy: loads[slider.value] })}`
            : location.pathname.split("/").pop() || ".";
        history.replaceState(null, "", state);
        show();
    }

    function connect(from, to) {
        chosen = null;
        const [one, other] = [from, to].map((step) => step.dataset.step);
        const arrow = `${one}-${other}`;
        if (ARROWS.includes(arrow)) {
            change(arrows.includes(arrow) ? arrows.filter((each) => each !== arrow)
                : [...arrows, arrow]);
            return;
        }
        draw();
        if (from === to) return;
        say("next", streamOf(from) === streamOf(to)
            ? `${one} and ${other} are in one stream, which runs them in this order anyway.`
            : `The program calls ${other} before ${one}. It could only wait for an event that ` +
                "no call has recorded yet, and such a wait waits for nothing.");
    }

    for (const step of steps) {
        step.addEventListener("click", () => {
            if (chosen) {
                connect(chosen, step);
                return;
            }
            chosen = step;
            draw();
            say("next", `Now choose the step that must wait for ${step.dataset.step}.`);
        });
        step.addEventListener("keydown", (event) => {
            if (event.key !== "Escape" || !chosen) return;
            chosen = null;
            show();
        });
        step.addEventListener("pointerdown", (event) => {
            if (event.button) return;
            const target = ({ clientX, clientY }) =>
                document.elementFromPoint(clientX, clientY)?.closest("[data-step]");
            const move = (at) => draw(open, { step, x: at.clientX, y: at.clientY });
            const end = (at) => {
                removeEventListener("pointermove", move);
                removeEventListener("pointerup", end);
                removeEventListener("pointercancel", end);
                const to = at.type === "pointerup" && target(at);
                if (to && to !== step) connect(step, to);
                else draw();
            };
            step.releasePointerCapture?.(event.pointerId);
            addEventListener("pointermove", move);
            addEventListener("pointerup", end);
            addEventListener("pointercancel", end);
            load().catch(() => {}); // it is there when the arrow is
        });
    }
    slider.addEventListener("input", () => change(arrows));
    slider.addEventListener("pointerdown", () => load().catch(() => {}));
    hint.addEventListener("click", () => {
        hint.ariaPressed = String(hint.ariaPressed !== "true");
        draw();
    });
    part(".days-clear").addEventListener("click", () => {
        change([]);
        steps[0].focus();
    });

    // ---- a link, and the days as text ----

    part(".days-share").addEventListener("click", async () => {
        const { days } = known.get(key()) || {};
        if (!days) return; // they are running
        const right = days.filter((number) => number === RIGHT).length;
        const rows = Array.from({ length: 10 }, (_, row) => days.slice(row * 30, row * 30 + 30)
            .map((number) => (number === RIGHT ? "\u{1F7E9}" : "\u{1F7E5}")).join(""));
        const text = [`Your program prints ${RIGHT}. Today.`, `${right} of ${DAYS} days, ` +
            `${arrows.length} arrow${arrows.length === 1 ? "" : "s"}`, ...rows, location.href]
            .join("\n");
        const field = part(".days-text");
        field.value = text;
        field.hidden = false;
        field.select();
        try {
            await navigator.clipboard.writeText(text);
            part(".days-share").textContent = "Copied";
        } catch {
            field.focus(); // the reader copies it
        }
    });

    function fromAddress() {
        const state = new URLSearchParams(location.hash.slice(1));
        if (!state.has("arrows") && !state.has("busy")) return;
        slider.value = Math.max(0, loads.indexOf(Number(state.get("busy"))));
        const wanted = (state.get("arrows") || "").split(" ");
        arrows = ARROWS.filter((arrow) => wanted.includes(arrow));
        show();
    }

    addEventListener("hashchange", fromAddress);
    new ResizeObserver(() => draw()).observe(board);
    draw();
    fromAddress();
})();
