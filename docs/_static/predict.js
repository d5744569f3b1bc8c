// Makes the questions of a lesson fields, which compare an answer with what the run printed.
//
// docs/extensions/predict.py puts the questions, their answers and the printed lines on the page.
// The parts "Run" and "Look" stay folded until each question above them has been checked, or the
// reader chooses "Show the run". The browser keeps the answers, page by page.
"use strict";

(() => {
    const lists = [...document.querySelectorAll(".predict-fields[data-question]")];
    if (!lists.length) return;
    const key = `workbook:predict:${lists[0].dataset.page}`;

    // {values: {field: text}, checked: {question: true}, shown: true}
    let kept = {};
    try {
        kept = JSON.parse(localStorage.getItem(key)) || {};
    } catch (error) { /* a browser without storage: answers last as long as the page */ }
    kept = { values: {}, checked: {}, ...kept };
    const keep = () => {
        try {
            localStorage.setItem(key, JSON.stringify(kept));
        } catch (error) { /* as above */ }
    };

    const element = (name, properties = {}, ...children) => {
        const made = Object.assign(document.createElement(name), properties);
        made.append(...children);
        return made;
    };

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

    function isCorrect(field, value) {
        if (field.unit === undefined) return value === field.answer;
        const number = value.replace(/,/g, "").replace(field.unit, "").trim();
        return number !== "" && Math.abs(Number(number) - field.answer) <= (field.within || 0);
    }

    // ---- one question ----

    const questions = lists.map((list) => {
        const name = list.dataset.name;
        const { fields, printed } = JSON.parse(list.dataset.question);
        const form = element("form", { className: "predict-form", noValidate: true });
        const rows = element("ul", { className: "predict-fields" });
        const reply = element("div", { className: "predict-reply" });
        reply.setAttribute("role", "status");
        const controls = fields.map((field, i) => {
            const id = `${name}-field-${i + 1}`;
            const control = makeControl(field, id);
            const mark = element("span", { className: "predict-mark" });
            const row = element("li");
            control.value = kept.values[id] || "";
            if (field.label) {
                row.append(element("label", { htmlFor: id, textContent: `${field.label}: ` }));
                control.setAttribute("aria-describedby", `${name}-question`);
            } else {
                control.setAttribute("aria-labelledby", `${name}-question`);
            }
            row.append(control);
            if (field.unit) row.append(` ${field.unit}`);
            row.append(" ", mark);
            rows.append(row);
            control.addEventListener("input", () => {
                kept.values[id] = control.value;
                mark.textContent = "";
                keep();
            });
            return { field, control, mark };
        });

        function check() {
            if (controls.every(({ control }) => !control.value.trim())) {
                reply.replaceChildren(element("p", {
                    textContent: "Answer first, or choose \u201cShow the run\u201d." }));
                if (name.startsWith("closing")) {
                    reply.firstChild.textContent = "Answer first, or unfold the answers below.";
                }
                return false;
            }
            let correct = 0;
            for (const { field, control, mark } of controls) {
                const good = isCorrect(field, control.value);
                correct += good;
                mark.textContent = good ? "\u2713 correct" : "\u2717 not what it printed";
                mark.className = `predict-mark ${good ? "correct" : "incorrect"}`;
            }
            const verdict = correct === controls.length ? "Correct. "
                : controls.length === 1 ? "Not so. " : `${correct} of ${controls.length}. `;
            reply.replaceChildren(element("p", {}, element("strong", { textContent: verdict })));
            const answer = answerBelow(name);
            if (answer) {
                reply.append(...answer);
            } else {
                for (const [command, lines] of printed) {
                    const long = lines.some((line) => line.length > 100);
                    reply.append(element("p", {}, element("code", { textContent: command }),
                        lines.length ? " prints:" : " prints nothing of that."));
                    if (lines.length) {
                        reply.append(element("pre", { className: long ? "wrapped" : "",
                            tabIndex: 0, textContent: lines.join("\n") }));
                    }
                }
            }
            return true;
        }

        form.append(rows, element("button", { type: "submit", textContent: "Check" }), reply);
        form.setAttribute("role", "group");
        form.setAttribute("aria-labelledby", `${name}-question`);
        form.addEventListener("submit", (event) => {
            event.preventDefault();
            if (!check()) return;
            kept.checked[name] = true;
            keep();
            showWhenChecked();
        });
        list.replaceWith(form);
        return { name, form, check };
    });

    // Copies of what the fold below the closing questions has about this one: the line and why.
    function answerBelow(name) {
        const match = /^closing-(\d+)$/.exec(name);
        const item = match && document.querySelector(
            `.predict-answers ol > li:nth-child(${match[1]})`);
        return item && [...item.cloneNode(true).childNodes].filter(
            (node) => !(node.nodeType === Node.ELEMENT_NODE && node.matches("button")));
    }

    // ---- the run ----

    const asked = questions.filter(({ name }) => name.startsWith("predict"));
    const parts = asked.length
        ? ["run", "look"].map((id) => document.getElementById(id)).filter(Boolean) : [];
    const folds = [];
    const notices = [];

    function show() {
        kept.shown = true;
        keep();
        folds.forEach((fold) => fold.removeAttribute("hidden"));
        notices.forEach((notice) => notice.remove());
    }

    function showWhenChecked() {
        if (asked.length && asked.every(({ name }) => kept.checked[name])) show();
    }

    function fold() {
        for (const part of parts) {
            const nodes = [...part.childNodes];
            const heading = part.querySelector("h2");
            const content = element("div", { className: "predict-fold" },
                ...nodes.slice(nodes.indexOf(heading) + 1));
            const button = element("button", { type: "button", textContent: "Show the run" });
            const notice = element("div", { className: "predict-notice" },
                element("p", { textContent: "It is here when the questions above are answered." }),
                button);
            content.setAttribute("hidden", "until-found");
            content.addEventListener("beforematch", show);
            button.addEventListener("click", () => {
                show();
                heading.tabIndex = -1;
                heading.focus();
            });
            part.append(notice, content);
            folds.push(content);
            notices.push(notice);
        }
    }

    // A link to a place within a folded part shows it.
    function showTarget() {
        const id = decodeURIComponent(location.hash.slice(1));
        const target = id && document.getElementById(id);
        if (target && folds.some((each) => each.contains(target))) {
            show();
            target.scrollIntoView();
        }
    }

    function forgetButton() {
        const button = element("button", { type: "button", textContent: "Forget my answers" });
        button.addEventListener("click", () => {
            try {
                localStorage.removeItem(key);
            } catch (error) { /* nothing was kept */ }
            location.reload();
        });
        return element("p", { className: "predict-forget" }, button);
    }

    if (!kept.shown) fold();
    for (const { name, check } of questions) if (kept.checked[name]) check();
    showTarget();
    window.addEventListener("hashchange", showTarget);
    const last = questions[questions.length - 1].form.closest(".predict");
    last.after(forgetButton());
    if (asked.length && asked.length < questions.length) {
        asked[asked.length - 1].form.closest(".predict").after(forgetButton());
    }
})();
