// The finder: the field in the bar searches in calls, attributes, errors, symptoms, words, rows of
// tables and paragraphs while one types, and leads to their places. Its last entry is the search in
// all pages, which has the places above its results, and the symptoms where nothing is asked.
// find_places.js and what it searches in are loaded when the field is used first.
"use strict";

(() => {
    const CODE = new Set(["call", "attribute", "error"]); // whose name is typed, not said
    const { root, element } = workbook;

    let loading = null;
    function load() {
        const names = ["places.js", "texts.js", "synonyms.js", "find_places.js"];
        loading = loading ||
            Promise.all(names.map(workbook.load)).then(() => window.workbookFind.prepare());
        return loading;
    }

    // ---- one entry ----

    function contents([kind, name, sentence]) {
        return [
            element("span", { className: "finder-kind", textContent: kind }),
            element(CODE.has(kind) ? "code" : "strong", { textContent: name }),
            element("span", { className: "finder-sentence", textContent: sentence }),
        ];
    }

    // ---- the field ----

    const field = document.querySelector(".sidebar-search");
    if (field) {
        const list = element("ul", { id: "finder", className: "finder", hidden: true,
            role: "listbox", "aria-label": "Places" });
        document.body.append(list);
        for (const [name, value] of Object.entries({ role: "combobox", autocomplete: "off",
            "aria-autocomplete": "list", "aria-controls": "finder", "aria-expanded": "false",
            "aria-label": "Find a call, an error, a symptom or a word; the key / leads here",
            placeholder: "/ finds a call, a symptom" })) {
            field.setAttribute(name, value);
        }
        let chosen = 0;

        function choose(number) {
            const options = [...list.children];
            chosen = (number + options.length) % options.length;
            options.forEach((option, i) =>
                option.setAttribute("aria-selected", String(i === chosen)));
            field.setAttribute("aria-activedescendant", options[chosen].id);
            options[chosen].scrollIntoView({ block: "nearest", behavior: "instant" });
        }

        function go(option) {
            hide();
            location.href = option.dataset.address;
        }

        function hide() {
            list.hidden = true;
            field.setAttribute("aria-expanded", "false");
            field.removeAttribute("aria-activedescendant");
        }

        function show() {
            const text = field.value.trim();
            if (!text) {
                hide();
                return;
            }
            const option = (address, ...inside) =>
                element("li", { role: "option", "data-address": address }, ...inside);
            const places = window.workbookFind.find(text);
            list.replaceChildren(
                ...places.map((place) => option(root + place[3], ...contents(place))),
                option(`${root}search.html?q=${encodeURIComponent(text)}`,
                    `Search all pages for \u201c${text}\u201d`));
            [...list.children].forEach((each, i) => { each.id = `finder-${i}`; });
            const { left, bottom } = field.getBoundingClientRect();
            list.hidden = false;
            const most = document.documentElement.clientWidth - list.offsetWidth - 8;
            list.style.left = `${Math.max(Math.min(left, most), 8)}px`;
            list.style.top = `${bottom}px`;
            field.setAttribute("aria-expanded", "true");
            choose(0);
        }

        field.addEventListener("focus", () => load().then(() => field.value && show()));
        field.addEventListener("input", () => load().then(show));
        field.addEventListener("blur", () => setTimeout(hide, 200));
        list.addEventListener("pointerdown", (event) => event.preventDefault());
        list.addEventListener("click", (event) => {
            const option = event.target.closest("li");
            if (option) go(option);
        });
        field.addEventListener("keydown", (event) => {
            if (list.hidden) return;
            if (event.key === "ArrowDown" || event.key === "ArrowUp") {
                choose(chosen + (event.key === "ArrowDown" ? 1 : -1));
                event.preventDefault();
            } else if (event.key === "Escape") {
                hide();
                event.preventDefault();
            } else if (event.key === "Enter") {
                event.preventDefault();
                go(list.children[chosen]);
            }
        });
    }

    // ---- the page of results ----

    const results = document.getElementById("search-results");
    const asked = new URLSearchParams(location.search).get("q");

    // Sphinx fetches the page of each result for a piece of its text, which a page from a file may
    // not: there a result has the first sentences of its page (summaries.js).
    if (results && asked && location.protocol === "file:") {
        DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
        const summarize = () => {
            for (const item of results.querySelectorAll(".search > li:not(:has(.context))")) {
                const page = item.querySelector("a").getAttribute("href").split(/[?#]/)[0];
                const textContent = window.workbookSummaries[page];
                if (textContent)
                    item.append(element("p", { className: "context", textContent }));
            }
        };
        workbook.load("summaries.js").then(() => {
            summarize();
            new MutationObserver(summarize).observe(results, { childList: true, subtree: true });
        });
    }
    if (results) {
        (asked ? load() : workbook.load("places.js")).then(() => {
            const found = asked ? window.workbookFind.find(asked).slice(0, 5)
                : window.workbookPlaces.filter(([kind]) => kind === "symptom");
            if (!found.length) return;
            const items = found.map((place) => element("li", {},
                element("a", { href: root + place[3] }, ...contents(place))));
            results.before(element("h2", { textContent: asked ? "Places" : "Symptoms" }),
                element("ul", { className: "finder-places" }, ...items));
        });
    }
})();
