// Steps through a run on its page. The run is a script in the folder steps, which is loaded when
// the reader comes near. book/stepper.py wrote it: the code, and for each step what
// changed of its line, a sentence, and the pool and the streams as that line left them.
// run_view.js shows it. The page's first stepper also lists what the reader has run here (live.js).
//
// With "Ask me" on, a question of the page is asked before its step (book/asked.py), in
// a form of predict.js. A run in which no question of the page is open asks how much is reserved,
// at each step at which that changes in a new way. The two are not mixed: the page's own questions
// have a reason behind their answers, and stand out only if few other steps stop the reader.
"use strict";

window.workbookSteps = {};

(() => {
    const { element, button } = workbook;
    const NEAR = "800px"; // so far above or below the screen a run is loaded
    const MIB = 2 ** 20;
    const mib = (bytes) => String(Math.round((bytes / MIB) * 100) / 100);

    // The run with each step as it is, from what is not as in the step before.
    function unpacked(run) {
        let now = {};
        const steps = run.steps.map((step) => {
            now = { ...now, marks: undefined, report: undefined, ...step };
            return now;
        });
        return { ...run, steps };
    }

    const load = (name, version) => workbook.load(`steps/${name}.js?v=${version}`)
        .then(() => window.workbookSteps[name]);

    function start(place, index) {
        let steps = [];
        let own = []; // [step, question] of the page's questions
        const forms = {}; // of these: what asks it
        let current = null; // the one that is asked
        let passed = new Set(); // and those that were
        let asked = new Set(); // the steps before which there is a question about what is reserved
        let answers = {}; // of a step: what the reader said
        let isDriven = false; // by the text
        let isAhead = false; // the text is, of the question that is asked
        const asks = JSON.parse(document.querySelector(".stepper-asks")?.dataset.asks || "{}");
        const runs = JSON.parse(place.dataset.runs);
        const list = element("select", { className: "runs", "aria-label": "Run",
            hidden: runs.length === 1 }, ...runs.map(([name]) => new Option(name)));
        const box = element("input", { type: "checkbox", className: "ask" });
        const { part } = place.dataset;
        let inView = 0; // the number of the run that is shown; a chosen one is loaded first
        const view = runView(place, {
            title: `Step through this run${part ? `: ${part}` : ""}`,
            has: (place.dataset.has || "").split(" "),
            controls: [list, element("label", {}, box, " Ask me first")],
            days: (program, given) => window.workbookDays?.(program, given) || null,
            question: (at) => {
                current = box.checked ? ownQuestion(at) : null;
                if (current) {
                    const ahead = "The text is further on: answer, or untick Ask me first. ";
                    return [`${isAhead ? ahead : ""}Line ${steps[at].line} is next. `,
                        formOf(current)];
                }
                return isOpen(at) ? question(at) : null;
            },
            asks: () => box.checked,
            held: () => place.dataset.held,
            prefix: verdict,
            forward,
            shown: (step) => Object.assign(place.dataset, {
                number: step.number, run: view.run.run || "",
                process: view.run.process || "", shown: inView,
            }),
        });

        const opens = (script) =>
            (asks[script] || []).filter(([, name]) => window.workbookQuestions.isOpen(name));

        // The first question of this step that is open or was just answered.
        function ownQuestion(at) {
            const here = own.filter(([step, name]) => step === at && !passed.has(name));
            const open = ([, name]) => name === current || window.workbookQuestions.isOpen(name);
            return here.find(open)?.[1] || null;
        }

        function formOf(name) {
            forms[name] = forms[name] || window.workbookQuestions.ask(name);
            return forms[name];
        }

        // A step matters when what it does to the reserved memory is new at its line.
        function findQuestions() {
            const seen = new Set();
            answers = {};
            passed = new Set();
            own = opens(runs[list.selectedIndex][1]);
            asked = new Set();
            if (own.length) return;
            steps.forEach(({ asks: isAsked, line, state }, i) => {
                const before = steps[i - 1]?.state;
                if (!isAsked || !state || before?.pool !== state.pool) return;
                const key = `${line} ${Math.sign(state.reserved - before.reserved)}`;
                if (!seen.has(key)) asked.add(i);
                seen.add(key);
            });
        }

        const isOpen = (at) => box.checked && asked.has(at) && answers[at] === undefined;

        // The question in the place of the sentence. What the step did is not shown yet.
        function question(at) {
            const [before, after] = [steps[at - 1].state.reserved, steps[at].state.reserved];
            const sizes = [0, 32, 64, 128].map((size) => size * MIB);
            const choices = [...new Set([...sizes, before, after])];
            const buttons = choices.sort((a, b) => a - b).map((bytes) => button(mib(bytes), () => {
                answers[at] = bytes;
                view.refresh();
            }));
            return [`Line ${steps[at].line} is next. How many MiB are reserved after it?`,
                element("span", { className: "choices" }, ...buttons)];
        }

        function verdict(at) {
            if (typeof answers[at] !== "number") return "";
            const { reserved } = steps[at].state;
            return answers[at] === reserved ? "Correct. "
                : `Not ${mib(answers[at])}, but ${mib(reserved)} MiB. `;
        }

        // On from a question, also without an answer: the step is shown, and does not ask again.
        function forward() {
            if (current) passed.add(current);
            else if (isOpen(view.at)) answers[view.at] = null;
            else return false;
            isAhead = false;
            view.refresh();
            return true;
        }

        async function open() {
            near.disconnect();
            place.removeEventListener("focusin", open);
            const chosen = list.selectedIndex;
            const [, name, version, made] = runs[chosen];
            try {
                const loaded = made || window.workbookSteps[name] || (await load(name, version));
                if (chosen !== list.selectedIndex) return; // another one since then
                const run = made || unpacked(loaded);
                ({ steps } = run);
                findQuestions();
                // The first question may stand before the step that the page begins with.
                const first = box.checked ? own[0]?.[0] : undefined;
                // What the reader has run here is shown at what was reported of it.
                const report = made ? steps.findIndex((step) => step.report) : -1;
                inView = chosen;
                view.show(run, report < 0 ? Math.min(run.begin || 0, first ?? Infinity) : report);
                if (place.dataset.stage !== undefined && !isDriven) drive();
                isDriven = true;
            } catch (reason) {
                place.querySelector(".say").textContent =
                    `The run cannot be shown: ${reason.message}.`;
            }
        }

        const near = new IntersectionObserver(
            (found) => found.some((one) => one.isIntersecting) && open(),
            { rootMargin: NEAR },
        );
        near.observe(place);
        place.addEventListener("focusin", open);
        box.addEventListener("change", () => {
            findQuestions();
            view.refresh();
        });
        list.addEventListener("change", open);
        // To answer the page's questions: the first run that asks one.
        place.addEventListener("workbook:ask", () => {
            list.selectedIndex = Math.max(0, runs.findIndex(([, script]) => opens(script).length));
            box.checked = true;
            open();
            place.querySelector(".next").focus();
        });
        // What was run on the page. The same program with the same settings has one place.
        function add({ detail: { label, run } }) {
            const known = runs.findIndex(([name]) => name === label);
            const at = known < 0 ? runs.length : known;
            runs[at] = [label, null, null, run];
            if (known < 0) list.append(new Option(label));
            list.hidden = false;
            list.selectedIndex = at;
            open();
        }

        // The stage: the text moves it, and on a narrow window it opens.
        const opener = place.querySelector(".stage-open");
        function openStage(on) {
            place.classList.toggle("is-open", on);
            opener.setAttribute("aria-expanded", String(on));
            opener.textContent = on ? "Close" : "Open";
            view.refresh();
        }

        // The step that a place of the text speaks of: a report by its number, the first step of a
        // line of the program, or the last one before a row is printed: ROW | LINE.
        function stepAt({ code, steps: all }, place) {
            const [words, row] = place.split(" | ").reverse();
            const [, number] = /^report (\d+)$/.exec(words) || [];
            if (number)
                return all.findIndex((step, at) => step.report &&
                    all.slice(0, at).filter(({ report }) => report).length === number - 1);
            const lines = words.split("\n").map((line) => line.trim()).filter((line) =>
                line.includes("("));
            const found = code.filter(([, text]) =>
                lines.some((line) => text.trim().startsWith(line))).map(([line]) => line);
            const isMeant = (step) => found.includes(step.line) && !step.report &&
                (!row || step.row === row);
            return row ? all.findLastIndex(isMeant) : all.findIndex(isMeant);
        }

        // Shows what a place of the text speaks of, and marks the place; but of what is behind an
        // open question it shows the question.
        function told(text, step) {
            const open = box.checked && own.find(([at, name]) =>
                at <= step && window.workbookQuestions.isOpen(name));
            isAhead = Boolean(open) && open[0] < step;
            text.classList.toggle("is-told", !isAhead);
            view.go(open ? open[0] : step);
        }

        function drive() {
            const { run } = view;
            const places = new Map();
            const article = place.closest("article");
            for (const mark of article.querySelectorAll(".stage-at, div.highlight pre")) {
                const isMark = mark.matches(".stage-at");
                const text = isMark ? mark.nextElementSibling : mark.closest("div[class]");
                if (!text || text.closest("details, .stepper, .predict, .live")) continue;
                const step = stepAt(run, isMark ? mark.dataset.at : mark.textContent);
                if (step >= 0) places.set(text, step);
            }
            let last = null;
            const watch = new IntersectionObserver((all) => {
                const seen = all.filter((one) => one.isIntersecting).at(-1)?.target;
                if (!seen || seen === last || list.selectedIndex ||
                    place.contains(document.activeElement)) return;
                last?.classList.remove("is-told");
                last = seen;
                told(seen, places.get(seen));
            }, { rootMargin: "-25% 0px -55% 0px" });
            for (const text of places.keys()) watch.observe(text);
            // A place that was held back behind a question is told when it comes into view again.
            box.addEventListener("change", () => {
                last?.classList.remove("is-told");
                last = null;
            });
            // A stream's name has its color in the text, too.
            const colors = new Map(run.lanes.map(([name, , color]) => [name, color]));
            for (const name of article.querySelectorAll("p code, li code"))
                if (colors.has(name.textContent))
                    name.classList.add("lane-name", colors.get(name.textContent));
        }

        if (place.dataset.stage !== undefined) {
            opener.addEventListener("click", () =>
                openStage(!place.classList.contains("is-open")));
            place.addEventListener("keydown", (event) => {
                if (event.key !== "Escape" || !place.classList.contains("is-open")) return;
                openStage(false);
                opener.focus();
            });
            place.addEventListener("workbook:ask", () => openStage(true));
            place.querySelector(".to-report").addEventListener("click", () => {
                if (!place.dataset.held) return;
                openStage(false);
                document.querySelector(`#${place.dataset.held} :is(input, select)`).focus();
            });
            new MutationObserver(() => view.refresh())
                .observe(place, { attributeFilter: ["data-held"] });
            box.checked = Object.values(asks).flat()
                .some(([, name]) => window.workbookQuestions.isOpen(name));
        }
        if (index === 0) {
            place.id = "stepper";
            document.addEventListener("workbook:run", add);
        }
        // The keys step on from an answer.
        document.addEventListener("workbook:checked", () => {
            const inForm = current && forms[current].contains(document.activeElement);
            if (inForm) place.querySelector(".next").focus({ preventScroll: true });
        });
    }

    document.querySelectorAll(".stepper").forEach(start);
})();
