// Runs a lesson on its page: a button below the program's output, its argument and the schedule as
// fields. What it needs is loaded when the button is first used: the simulated device, the rules by
// which a journal becomes steps, and the text of the programs. The program runs in a thread of its
// own, so that the page stays awake and Stop ends it. The page's stepper shows the run.
"use strict";

(() => {
    const { root, element } = workbook;
    const PLACE = /\b(?:build\/)?((?:mutants\/\w+|lessons|solutions)\/\w+)\.([ch]):(\d+)/;
    let loading = null;

    // A line of a report with a link to the line of the program that it names, as in the book: a
    // file that was named just before is there for who copies it, and not seen.
    function linked(line, named) {
        const found = PLACE.exec(line);
        if (!found) return [line];
        const [words, file, kind, number] = found;
        const page = kind === "c" ? file : `${file}.h`;
        const href = `${root}listings/${page}.html#L${number}`;
        const path = words.slice(0, -number.length - 1);
        const shown = named.at(-1) === path
            ? [element("span", { className: "path-again" }, path), `:${number}`] : [words];
        named.push(path);
        const link = element("a", { className: "line-link", href }, ...shown);
        const after = found.index + words.length;
        return [line.slice(0, found.index), link, ...linked(line.slice(after), named)];
    }

    // What a program wrote to stderr: the kind of a hazard is bold, a place in the program a link.
    function reportOf(text) {
        const named = [];
        return text.trimEnd().split("\n").map((line) => {
            const first = line.startsWith("  ") ? "" : " first";
            const kind = /^hazard: ([^.]*\.)/.exec(line);
            const rest = linked(kind ? line.slice(kind[0].length) : line, named);
            const parts = kind ? ["hazard: ", element("b", {}, kind[1]), ...rest] : rest;
            return element("span", { className: `report-line${first}` }, ...parts, "\n");
        });
    }

    // ---- 300 days of a program ----

    const DAYS = 300;

    // For the stepper: of a program that can run here, what makes an element in which it runs under
    // 300 schedules by chance, and says after how many of them its numbers were right.
    window.workbookDays = (program, given) => {
        const name = program.replace(/^starters\//, "lessons/");
        const box = document.querySelector(".live");
        const isHere = [...(box?.querySelectorAll("option") || [])]
            .some((option) => option.value === name);
        return isHere ? () => days(box, name, given) : null;
    };

    function days(box, program, given) {
        const squares = Array.from({ length: DAYS }, () => element("i", { className: "later" }));
        const say = element("p", {}, "The days run.");
        const made = element("div", { className: "run-days" },
            element("div", { className: "days-squares", ariaHidden: "true" }, ...squares), say);
        let right = 0;
        let count = 0;
        const runOn = async (device) => {
            while (count < DAYS && made.isConnected) {
                const day = count++;
                const { status } = await device.runApart(program, given,
                    { SIM_SCHEDULE: `random:${day + 1}`, SIM_CHECK: "off", SIM_JOURNAL: "" });
                right += status === 0;
                squares[day].className = status === 0 ? "" : "wrong";
            }
        };
        const all = async () => {
            loading ||= Promise.all(JSON.parse(box.dataset.scripts).map(workbook.load));
            await loading;
            const devices = workbook.devices();
            await Promise.all(devices.map(runOn));
            for (const device of devices) device.apart?.thread.terminate();
            say.textContent = right === DAYS ? `On all ${DAYS} days its numbers are right.`
                : `On ${right} of ${DAYS} days its numbers are right.`;
        };
        all().catch((reason) => {
            say.textContent = `The days did not end: ${reason.message || reason}.`;
        });
        return made;
    }

    function start(box) {
        const form = box.querySelector("form");
        const [program, argument, schedule] = form.querySelectorAll("select, input");
        const [run, stop] = form.querySelectorAll("button");
        const [output, errors] = box.querySelectorAll("pre");
        const steps = box.querySelector(".live-steps");
        let stopped = false;

        // Hands the run to the stepper (stepper.js), and links to it.
        function stepThrough({ journal, errors: text, status }) {
            if (status === 2) return; // the argument was refused: nothing ran
            const lines = journal.split("\n").filter(Boolean).map((line) => JSON.parse(line));
            const label = [`your run: ${program.selectedOptions[0].text}`, argument.value.trim(),
                schedule.value].filter(Boolean).join(", ");
            try {
                const made = runSteps(lines, { ...window.workbookProgram, errors: text });
                const detail = { label, run: made };
                document.dispatchEvent(new CustomEvent("workbook:run", { detail }));
            } catch (reason) {
                steps.textContent = `The stepper cannot show it: ${reason.message}.`;
                return;
            }
            const link = element("a", { href: "#stepper" }, "Step through this run");
            link.addEventListener("click", () => {
                const [next, opener] = ["next", "stage-open"].map((part) =>
                    document.querySelector(`#stepper .${part}`));
                if (opener?.checkVisibility() && opener.ariaExpanded !== "true") opener.click();
                requestAnimationFrame(() => next?.focus({ preventScroll: true }));
            });
            steps.replaceChildren(link, ...mistakeOf(program.selectedOptions[0]));
        }

        // Where a mutant differs from the solution.
        function mistakeOf({ value, dataset: { line } }) {
            if (!line) return [];
            const href = `${root}listings/${value}.html#L${line}`;
            return [element("a", { href }, `The mistake: line ${line}`)];
        }

        function running(now) {
            run.ariaDisabled = now ? "true" : null;
            stop.hidden = !now;
            // The focus is never on a button that is gone.
            if (!now && document.activeElement === document.body) run.focus();
        }

        async function runIt() {
            output.textContent = "It runs.";
            errors.textContent = "";
            errors.className = "";
            steps.textContent = "";
            stopped = false;
            running(true);
            try {
                loading ||= Promise.all(JSON.parse(box.dataset.scripts).map(workbook.load));
                await loading;
                if (stopped) throw new Error("it was stopped");
                const words = argument.value.trim() ? [argument.value.trim()] : [];
                const environment = { SIM_SCHEDULE: schedule.value };
                const result = await simulatedDevice.runApart(program.value, words, environment);
                output.textContent = result.output;
                stepThrough(result);
                const ending = `Its exit status: ${result.status}.`;
                errors.className = "report";
                errors.replaceChildren(...reportOf(result.errors + ending));
            } catch (reason) {
                output.textContent = "";
                errors.textContent = `The program did not end: ${reason.message || reason}.`;
            }
            const focused = document.activeElement === stop;
            running(false);
            if (focused) run.focus();
        }

        form.addEventListener("submit", (event) => {
            event.preventDefault();
            if (stop.hidden) runIt();
        });
        stop.addEventListener("click", () => {
            stopped = true; // also while what it needs is loaded
            window.simulatedDevice?.stop();
        });
        box.hidden = false;
    }

    document.querySelectorAll(".live").forEach(start);
})();
