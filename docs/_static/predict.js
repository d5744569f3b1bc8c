// Makes the questions of a lesson fields, which compare an answer with what the run printed.
//
// book/predict.py puts the questions, their answers and the printed lines on the page.
// A question has two tries, then its reply shows the lines that answer it, and why. What another
// question asks that is still open is a "?" in those lines. After the first try a wrong answer gets
// the belief behind it and a thing to look at, if the page knows one, or whether it is too much.
// Where it was one of two, nothing is left to guess: the button then asks why.
// What follows a mark (until-answered::) in its section stays folded until each question above it
// has been answered, or the reader chooses "Show the run". A stage in there stays in view. Until
// then it stops ahead of its report, if it asks no question itself: data-held names the open one.
// On a page whose stepper asks questions (asked.py) a button leads to it, and shows it alone where
// it is folded: they are then asked at their steps, in forms that share their state with those of
// the page.
// The browser keeps the answers, page by page. When the last question of a page is answered, the
// event workbook:answered lets progress.js tick the lesson.
"use strict";

(() => {
    const { element, button } = workbook;
    const lists = [...document.querySelectorAll(".predict-fields[data-question]")];
    if (!lists.length) return;
    const page = lists[0].dataset.page;
    const key = `workbook:predict:${page}`;
    const TRIES = 2;

    // {values: {field: text}, tries: {question: [what was tried]}, checked: {question: true},
    //  shown: true}: checked is a question whose answer is on the page.
    const kept = { values: {}, tries: {}, checked: {}, ...workbook.kept(key) };
    const keep = () => {
        workbook.keep(key, kept);
        forget.hidden = false;
    };

    // Below the last question, as soon as there is an answer.
    const forget = element("p", { className: "predict-forget" },
        button("Forget my answers", () => {
            workbook.keep(key, {});
            location.reload();
        }));
    forget.hidden = !Object.keys(kept.values).length;

    // ---- one field ----

    // The field for a blank: a text field for a number, or a list of choices.
    function makeControl(field, id) {
        if (field.unit !== undefined) {
            return element("input", { id, type: "text", inputMode: "decimal", size: 7,
                autocomplete: "off" });
        }
        const options = ["", ...field.choices].map((choice) =>
            element("option", { value: choice, textContent: choice || "choose" }));
        return element("select", { id }, ...options);
    }

    // Units as people type them: "128M" and "128 MB" are MiB here, as CUDA's tools print them.
    const UNITS = [
        { b: 1, byte: 1, bytes: 1, k: 2 ** 10, m: 2 ** 20, g: 2 ** 30, t: 2 ** 40 },
        { ns: 1, us: 1e3, "\u00b5s": 1e3, "\u03bcs": 1e3, ms: 1e6, s: 1e9 },
    ];
    const sizeOf = (unit, units) => units[unit] || units[unit.replace(/^([kmgt])i?b$/, "$1")];

    // The number that a reader has typed, in the unit of the field; NaN if it is none.
    function numberOf(text, unit) {
        const plain = text.trim().toLowerCase().replace(/^[~\u2248]\s*/, "")
            .replace(/(\d)[,_'\u2019\s](?=\d{3}(?!\d))/g, "$1").replace(/(\d),(?=\d)/, "$1.");
        const match = /^([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)\s*(.*)$/.exec(plain);
        if (!match) return NaN;
        const number = Number(match[1]);
        const typed = match[2].replace(/\.$/, "");
        const asked = unit.toLowerCase();
        if (!typed || typed === asked || typed === asked.replace(/s$/, "")) return number;
        const units = UNITS.find((each) => sizeOf(typed, each) && sizeOf(asked, each));
        return units ? number * sizeOf(typed, units) / sizeOf(asked, units) : NaN;
    }

    // "correct", "incorrect", "empty", or "unreadable" where a number is needed.
    function judge(field, value) {
        if (!value.trim()) return "empty";
        if (field.unit === undefined) return value === field.answer ? "correct" : "incorrect";
        const number = numberOf(value, field.unit);
        if (Number.isNaN(number)) return "unreadable";
        return Math.abs(number - field.answer) <= 1e-9 ? "correct" : "incorrect";
    }

    // ---- what the run printed ----

    // A line of the run, in which "?" stands for what open questions ask. "predicted 128" beside
    // "measured 128" would answer, too: so the same word further on in the line is masked as well.
    function masked(run, begin, line, own) {
        const here = (name) => questions.filter((each) => name(each.name)).flatMap(
            ({ fields }) => fields.filter((field) => field.span && field.run === run &&
                field.span[0] >= begin && field.span[1] <= begin + line.length)
        ).map(({ span }) => span.map((at) => at - begin));
        const isOpen = (name) => name !== own && !kept.checked[name];
        const seen = here((name) => !isOpen(name));
        let text = line;
        const hide = (from, to) => {
            if (seen.some(([first, end]) => first < to && from < end)) return;
            text = text.slice(0, from) + "?".padStart(to - from) + text.slice(to);
        };
        for (const [from, to] of here(isOpen)) {
            const word = line.slice(from, to);
            hide(from, to);
            for (const { index } of line.matchAll(/\S+/g)) {
                const end = index + word.length;
                const whole = line.startsWith(word, index) && !/\w/.test(line.charAt(end));
                if (index > from && whole) hide(index, end);
            }
        }
        return text;
    }

    function evidence({ name, printed }) {
        return printed.flatMap(([command, place, lines]) => {
            const texts = lines.map(([begin, line]) => masked(command, begin, line, name));
            const verb = command.endsWith(".txt") ? "has" : "prints";
            const found = [element("p", {}, element("code", { textContent: command }),
                texts.length ? ` ${verb}${place ? ` in ${place}` : ""}:`
                    : ` ${verb} nothing of that.`)];
            if (texts.length) {
                const long = texts.some((line) => line.length > 100);
                found.push(element("pre", { className: long ? "wrapped" : "", tabIndex: 0,
                    textContent: texts.join("\n") }));
            }
            return found;
        });
    }

    // Copies of the sentence that says why: beside the question, or below the closing questions.
    function reason(name) {
        const beside = document.querySelector(`#${name} .predict-why`);
        if (beside) return [...beside.cloneNode(true).childNodes];
        const match = /^closing-(\d+)$/.exec(name);
        const item = match && document.querySelectorAll(".predict-answers ol > li")[match[1] - 1];
        if (!item) return [];
        const blocks = [...item.children];
        const last = blocks.findLastIndex((block) => block.matches("div[class*='highlight']"));
        return blocks.slice(last + 1).map((block) => block.cloneNode(true));
    }

    // ---- one question ----

    const MARKS = {
        correct: "\u2713 correct",
        incorrect: "\u2717 not what it printed",
        unreadable: "\u2717 expected a number",
        empty: "",
    };

    // What the reader is at stays where it is, although something above it grows.
    function steady(change) {
        const here = document.activeElement.closest(".stepper") || document.activeElement;
        const { top } = here.getBoundingClientRect();
        change();
        scrollBy({ top: here.getBoundingClientRect().top - top, behavior: "instant" });
    }

    // A question has a form in its place on the page, and one more in the stepper, which asks it at
    // its step. All forms show the same state.
    function makeQuestion(list) {
        const name = list.dataset.name;
        const { fields, printed, beliefs } = JSON.parse(list.dataset.question);
        const isOneOfTwo = fields.length === 1 && fields[0].choices?.length === 2;
        const forms = [];
        const valueOf = (i) => kept.values[`${name}-field-${i + 1}`] || "";

        // Its fields' ids begin with `prefix`; the element with its words is `${prefix}-question`.
        function addForm(prefix) {
            const form = element("form", { className: "predict-form", noValidate: true });
            const rows = element("ul", { className: "predict-fields" });
            const verdict = element("p", { className: "predict-verdict", role: "status" });
            const lines = element("div", { className: "predict-reply" });
            const submit = element("button", { type: "submit", textContent: "Check" });
            const giveUp = button("Show the answer", () => {
                submit.focus({ preventScroll: true });
                steady(show);
            }, { hidden: true });
            const controls = fields.map((field, i) => {
                const id = `${prefix}-field-${i + 1}`;
                const control = makeControl(field, id);
                const mark = element("span", { className: "predict-mark", id: `${id}-mark` });
                const row = element("li");
                control.value = valueOf(i);
                if (field.label) {
                    row.append(element("label", { htmlFor: id, textContent: `${field.label}: ` }));
                    control.setAttribute("aria-describedby", `${prefix}-question ${mark.id}`);
                } else {
                    control.setAttribute("aria-labelledby", `${prefix}-question`);
                    control.setAttribute("aria-describedby", mark.id);
                }
                row.append(control);
                if (field.unit) row.append(` ${field.unit}`);
                row.append(" ", mark);
                rows.append(row);
                control.addEventListener("input", () => steady(() => change(i, control.value)));
                return { control, mark };
            });
            const about = { role: "group", "aria-labelledby": `${prefix}-question` };
            form.append(element("div", about, rows, submit, giveUp, verdict, lines));
            form.addEventListener("submit", (event) => {
                event.preventDefault();
                steady(check);
            });
            forms.push({ form, controls, verdict, lines, giveUp });
            draw();
            return form;
        }

        function change(i, value) {
            kept.values[`${name}-field-${i + 1}`] = value;
            for (const { controls } of forms) {
                const { control, mark } = controls[i];
                if (control.value !== value) control.value = value;
                mark.textContent = "";
                control.removeAttribute("aria-invalid");
            }
            keep();
        }

        // Marks each field, and returns how many there are of each kind.
        function mark() {
            const count = { correct: 0, incorrect: 0, unreadable: 0, empty: 0 };
            fields.forEach((field, i) => {
                const kind = judge(field, valueOf(i));
                const answer = `the answer is ${field.answer} ${field.unit || ""}`.trim();
                count[kind] += 1;
                for (const { controls } of forms) {
                    const { control, mark } = controls[i];
                    mark.className = `predict-mark ${kind}`;
                    mark.textContent = kind === "correct" || !kept.checked[name] ? MARKS[kind]
                        : kind === "empty" ? answer : `\u2717 ${answer}`;
                    if (kind === "incorrect" || kind === "unreadable") {
                        control.setAttribute("aria-invalid", "true");
                    } else {
                        control.removeAttribute("aria-invalid");
                    }
                }
            });
            return count;
        }

        // The verdict while the answer is not on the page yet.
        function comment({ correct, incorrect, unreadable, empty }) {
            if (empty === fields.length) {
                return name.startsWith("closing") ? "Answer first, or unfold the answers below."
                    : "Answer first, or choose \u201cShow the run\u201d.";
            }
            const rest = empty ? ` ${empty} ${empty === 1 ? "is" : "are"} empty.` : "";
            if (unreadable) return numberWanted();
            const head = fields.length === 1 ? "Not so."
                : `${correct} of ${fields.length} correct.${rest}`;
            if (isOneOfTwo) return "No, the other answer is right. Why?";
            return incorrect ? `${head} ${toLookAt()}` : head;
        }

        // What a number looks like, in the unit of the first field that has none.
        function numberWanted() {
            const at = fields.findIndex((field, i) => judge(field, valueOf(i)) === "unreadable");
            const { unit } = fields[at];
            const examples = unit === "MiB" ? "128, 128 MiB or 0.5 GiB"
                : unit === "us" ? "5, 5 us or 0.005 ms" : `4${unit ? ` or 4 ${unit}` : ""}`;
            return `Type a number, such as ${examples}.`;
        }

        // Of the first wrong answer that somebody holds for a reason: the reason, and a thing to
        // look at. Else which way the first wrong number is off.
        function toLookAt() {
            const wrong = fields.map((field, i) => [field, i, valueOf(i)])
                .filter(([field, , value]) => judge(field, value) === "incorrect");
            for (const [field, i, value] of wrong) {
                const said = field.unit === undefined ? value : numberOf(value, field.unit);
                const found = beliefs.find((each) => [null, i].includes(each.field) &&
                    (field.unit === undefined ? each.value === said : Number(each.value) === said));
                if (found) return `${found.belief} ${found.look}`;
            }
            const [field, , value] = wrong.find(([{ unit }]) => unit !== undefined) || [];
            if (!field) return "Look again at the program, and try once more.";
            const off = numberOf(value, field.unit) > field.answer ? "much" : "little";
            const which = field.label ? ` for "${field.label}"` : "";
            return `${value.trim()} is too ${off}${which}. Look again, and try once more.`;
        }

        // A try counts when each field has an answer, or one of them an incorrect one, and when it
        // is not the same as the one before.
        function check() {
            const count = mark();
            const tried = kept.tries[name] || [];
            const values = JSON.stringify(fields.map((_, i) => valueOf(i).trim()));
            if (count.incorrect && !count.unreadable && tried[tried.length - 1] !== values) {
                tried.push(values);
            }
            kept.tries[name] = tried;
            if (kept.checked[name] || count.correct === fields.length || tried.length >= TRIES) {
                show();
                return;
            }
            for (const { verdict, giveUp } of forms) {
                verdict.textContent = comment(count);
                giveUp.hidden = count.empty === fields.length;
                giveUp.textContent = isOneOfTwo && count.incorrect ? "Why?" : "Show the answer";
            }
            keep();
        }

        // Shows the answer: from now on this question is no longer open.
        function show() {
            kept.checked[name] = true;
            keep();
            draw();
            for (const each of questions) each.drawLines();
            showWhenAnswered();
            document.dispatchEvent(new CustomEvent("workbook:checked", { detail: name }));
        }

        function draw() {
            if (!kept.checked[name]) return;
            const { correct } = mark();
            const text = correct === fields.length ? "Correct."
                : fields.length === 1 ? "Not so." : `${correct} of ${fields.length}.`;
            for (const { verdict, giveUp } of forms) {
                verdict.replaceChildren(element("strong", { textContent: text }));
                giveUp.hidden = true;
            }
            drawLines();
        }

        function drawLines() {
            if (!kept.checked[name]) return;
            for (const { lines } of forms) {
                lines.replaceChildren(...evidence(question), ...reason(name));
            }
        }

        const question = { name, fields, printed, addForm, draw, drawLines };
        return question;
    }
    const questions = lists.map(makeQuestion);
    lists.forEach((list, i) => list.replaceWith(questions[i].addForm(questions[i].name)));

    // ---- the stepper ----

    // For stepper.js: is a question still open, and its words with a form of their own.
    window.workbookQuestions = {
        isOpen: (name) => !kept.checked[name],
        ask(name) {
            const box = element("div", { className: "predict asked" });
            const words = document.getElementById(`${name}-question`).cloneNode(true);
            words.id = `asked-${name}-question`;
            const question = questions.find((each) => each.name === name);
            box.append(words, question.addForm(`asked-${name}`));
            return box;
        },
    };

    // ---- the run ----

    const asked = questions.filter(({ name }) => name.startsWith("predict"));
    const answered = ({ name }) => kept.checked[name];
    // {names: the questions above it, contents: what it hides, notice: what stands there instead}
    const folds = [];
    const notices = [];

    function open(fold) {
        fold.contents.forEach((content) => content.removeAttribute("hidden"));
        fold.notice.remove();
        fold.stage?.removeAttribute("data-held");
        fold.open = true;
        kept.shown = folds.every((each) => each.open);
        keep();
    }

    function hold({ above, stage }) {
        if (stage) stage.dataset.held = above.find((each) => !answered(each)).name;
    }

    function showWhenAnswered() {
        for (const fold of folds) {
            if (fold.open) continue;
            if (fold.above.every(answered)) open(fold);
            else hold(fold);
        }
        if (asked.length && asked.every(answered)) notices.forEach((notice) => notice.remove());
        if (questions.every(answered)) {
            document.dispatchEvent(new CustomEvent("workbook:answered", { detail: page }));
        }
    }

    function hide(fold, nodes) {
        const content = element("div", { className: "predict-fold" }, ...nodes);
        content.setAttribute("hidden", "until-found");
        content.addEventListener("beforematch", () => open(fold));
        fold.contents.push(content);
        return content;
    }

    function fold() {
        const isBefore = (mark) => ({ name }) => mark.compareDocumentPosition(
            document.getElementById(name)) & Node.DOCUMENT_POSITION_PRECEDING;
        for (const mark of document.querySelectorAll(".predict-until")) {
            const made = { above: asked.filter(isBefore(mark)), contents: [] };
            if (made.above.every(answered)) continue;
            const nodes = [...mark.parentNode.childNodes];
            made.stage = document.querySelector(".stepper-asks") ? null
                : mark.parentNode.querySelector("[data-stage][data-has~='report']");
            hold(made);
            const rest = nodes.slice(nodes.indexOf(mark) + 1)
                .filter((node) => !node.matches?.("[data-stage]")); // which stays in view
            made.notice = element("div", { className: "predict-notice" },
                element("p", { textContent: "Answer the questions above to see the run." }),
                button("Show the run", () => {
                    const heading = mark.parentNode.querySelector("h2");
                    open(made);
                    heading.tabIndex = -1;
                    heading.focus();
                }));
            const stepper = rest.find((node) => node.matches?.(".stepper"));
            const at = rest.indexOf(stepper);
            if (stepper && document.querySelector(".stepper-asks")) {
                const steps = hide(made, [stepper]);
                made.notice.append(" ", stepButton(stepper, steps));
                mark.after(made.notice, hide(made, rest.slice(0, at)), steps,
                    hide(made, rest.slice(at + 1)));
            } else {
                mark.after(made.notice, hide(made, rest));
            }
            folds.push(made);
        }
        const shown = document.querySelector(".stepper");
        if (shown && !shown.closest(".predict-fold") && document.querySelector(".stepper-asks")) {
            const notice = element("div", { className: "predict-notice" },
                element("p", { textContent: "The run asks this page's questions at its steps." }),
                stepButton(shown, shown));
            notices.push(notice);
            shown.before(notice);
        }
    }

    // Leads to the stepper, which asks the questions at their steps; `steps` is what folds it.
    function stepButton(stepper, steps) {
        const asker = button("Answer them step by step", () => {
            steps.removeAttribute("hidden");
            asker.remove();
            stepper.dispatchEvent(new CustomEvent("workbook:ask"));
        });
        return asker;
    }

    // A link to a place within a folded part shows it.
    function showTarget() {
        const id = decodeURIComponent(location.hash.slice(1));
        const target = id && document.getElementById(id);
        const around = target && folds.find((fold) =>
            !fold.open && fold.contents.some((each) => each.contains(target)));
        if (around) {
            open(around);
            target.scrollIntoView();
        }
    }

    if (!kept.shown) fold();
    for (const each of questions) each.draw();
    showTarget();
    window.addEventListener("hashchange", showTarget);
    document.getElementById(questions.at(-1).name).after(forget);
})();
