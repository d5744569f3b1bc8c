// Shows which lessons are done: in the table of lessons, beside the page's name in the sidebar, and
// on the lesson's own page. A lesson is done when its check passes, as passed.js knows
// (tools/progress.sh), when the reader ticks it, or when all questions of its page are
// answered (predict.js). Ticks are the browser's; points are those of the checks.
"use strict";

(() => {
    const key = "workbook:done";
    const found = window.workbookProgress || {};
    const { element } = workbook;
    let done = workbook.kept(key) || {};
    const read = () => { done = workbook.kept(key) || done; };

    const passes = (lesson) => Boolean(found[lesson] && found[lesson].passed);
    const isDone = (lesson) => passes(lesson) || Boolean(done[lesson]);
    const lessonOf = (link) => {
        const match = /(?:^|\/)(\d\d_\w+)\.html(?:#|$)/.exec(link.getAttribute("href"));
        return match && match[1];
    };
    const shown = []; // functions that show anew what is done
    const showAll = () => shown.forEach((show) => show());

    function tick(lesson, value) {
        read(); // another tab may have ticked one meanwhile
        if (value) done[lesson] = true;
        else delete done[lesson];
        workbook.keep(key, done);
        showAll();
    }

    function makeBox(lesson) {
        const box = element("input",
            { className: "progress", type: "checkbox", disabled: passes(lesson) });
        box.addEventListener("change", () => tick(lesson, box.checked));
        shown.push(() => { box.checked = isDone(lesson); });
        return box;
    }

    // ---- the table of lessons ----

    function showTables(tables) { // one for each part of the course
        const rows = [...tables].flatMap((table) => [...table.tBodies[0].rows]).map((row) => {
            const link = row.querySelector("td a[href]");
            const lesson = lessonOf(link);
            const box = makeBox(lesson);
            const note = element("span", { className: "progress-note" });
            box.ariaLabel = `${row.cells[0].textContent.trim()}: done`;
            link.before(box);
            row.cells[0].append(note);
            return { row, lesson, note };
        });
        const words = (result) => {
            if (!result) return "";
            if (result.points !== null) return `${result.points} of ${result.of} points`;
            return result.passed ? "passes" : "begun";
        };
        // The first lesson that is not done is the next one.
        shown.push(() => {
            const next = rows.find(({ lesson }) => !isDone(lesson));
            for (const entry of rows) {
                const points = words(found[entry.lesson]);
                entry.row.classList.toggle("next-lesson", entry === next);
                entry.note.textContent = [points, entry === next ? "next" : ""].filter(Boolean)
                    .join(", ");
            }
        });
    }
    showTables(document.querySelectorAll("table.lessons"));

    // ---- the sidebar ----

    const own = document.querySelector(".lesson-done");
    const besides = [...document.querySelectorAll(".sidebar-tree a.reference")].map((link) => {
        const current = link.matches(".current-page > a") && own;
        return { link, lesson: current ? own.dataset.lesson : lessonOf(link) };
    }).filter(({ lesson }) => lesson);
    for (const { link, lesson } of besides) {
        const mark = element("span", { className: "lesson-tick" });
        link.append(mark);
        shown.push(() => mark.replaceChildren(...(isDone(lesson)
            ? [" \u2713", element("span", { className: "lesson-tick-words" }, ", done")] : [])));
    }

    for (const group of document.querySelectorAll(".sidebar-tree .lesson-group")) {
        const within = besides.filter(({ link }) => group.contains(link));
        shown.push(() => {
            const count = within.filter(({ lesson }) => isDone(lesson)).length;
            group.querySelector(".group-ticks").textContent =
                count ? ` \u2713 ${count} of ${within.length}` : "";
        });
    }

    // ---- the rail: a segment of a lesson that is done is filled ----

    for (const link of document.querySelectorAll(".rail a")) {
        const lesson = link.ariaCurrent && own ? own.dataset.lesson : lessonOf(link);
        const { ariaLabel } = link;
        shown.push(() => {
            const done = isDone(lesson);
            link.classList.toggle("is-done", done);
            link.ariaLabel = done ? `${ariaLabel}, done` : ariaLabel;
        });
    }

    // ---- the lesson's own page ----

    if (own) {
        const { lesson } = own.dataset;
        own.append(element("label", {}, makeBox(lesson),
            passes(lesson) ? "Done: its check passes" : "I have done this lesson"));
        own.hidden = false;
        document.addEventListener("workbook:answered", () => tick(lesson, true));
    }

    addEventListener("storage", (event) => {
        if (event.key !== key) return;
        read();
        showAll();
    });
    showAll();
})();
