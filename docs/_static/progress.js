// Shows in the table of lessons which of them pass, from passed.js (tests/tools/progress.sh), and
// lets the reader tick what is done. Ticks are the browser's; points are those of the checks.
"use strict";

(() => {
    const key = "workbook:done";
    const found = window.workbookProgress || {};
    let done = {};
    try {
        done = JSON.parse(localStorage.getItem(key)) || {};
    } catch (error) { /* a browser without storage: ticks last as long as the page */ }

    const lessonOf = (row) => {
        const link = row.querySelector("td a[href]");
        const match = link && /(?:^|\/)(\d\d_\w+)\.html/.exec(link.getAttribute("href"));
        return match && match[1];
    };
    const table = [...document.querySelectorAll("table")].find(
        (each) => each.tBodies.length && [...each.tBodies[0].rows].every(lessonOf));
    if (!table) return;

    const rows = [...table.tBodies[0].rows].map((row) => ({ row, lesson: lessonOf(row) }));
    const words = (result) => {
        if (!result) return "";
        if (result.points !== null) return `${result.points} of ${result.of} points`;
        return result.passed ? "passes" : "begun";
    };

    for (const entry of rows) {
        const { row, lesson } = entry;
        const result = found[lesson];
        const cell = row.cells[0];
        const box = document.createElement("input");
        const note = document.createElement("span");
        box.className = "progress";
        box.type = "checkbox";
        box.checked = Boolean(done[lesson] || (result && result.passed));
        box.disabled = Boolean(result && result.passed);
        box.setAttribute("aria-label", `${cell.textContent.trim()}: done`);
        box.addEventListener("change", () => {
            if (box.checked) done[lesson] = true;
            else delete done[lesson];
            try {
                localStorage.setItem(key, JSON.stringify(done));
            } catch (error) { /* as above */ }
            markNext();
        });
        note.className = "progress-note";
        cell.querySelector("a").before(box);
        cell.append(note);
        Object.assign(entry, { box, note, result });
    }

    // The first lesson that is not done is the next one.
    function markNext() {
        const next = rows.find(({ box }) => !box.checked);
        for (const entry of rows) {
            const points = words(entry.result);
            entry.row.classList.toggle("next-lesson", entry === next);
            entry.note.textContent = [points, entry === next ? "next" : ""].filter(Boolean)
                .join(", ");
        }
    }
    markNext();
})();
