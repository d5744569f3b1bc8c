// The finder: the field in the sidebar searches in calls, attributes, errors, symptoms, notes and
// words while one types, and leads to their places. Its last entry is the search in all pages,
// which has the places above its results. workbook/finder.py writes places.js, which is
// loaded when the field is used first.
"use strict";

window.workbookFinder = (() => {
    const MOST = 8;
    const CODE = new Set(["call", "attribute", "error"]); // whose name is typed, not said
    const root = document.documentElement.dataset.content_root || "./";
    const COMMON = new Set(("a although an and are can do does for from has have how i in is it " +
        "its my not of on or that the then there to was what when where which why with")
        .split(" "));

    // ---- words ----

    const stem = (word) => (word.length > 4 ? word.replace(/(?:ing|ed|es|s)$/, "") : word);
    const wordsOf = (text) => text.replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase()
        .split(/[^a-z0-9]+/).filter(Boolean);

    // A name such as cudaMemPoolTrimTo by its words, and by what begins with one of them: "pool",
    // "mempool", "cudamempooltrimto".
    const namesOf = (text) => text.split(/[^A-Za-z0-9]+/).flatMap((name) => {
        const words = wordsOf(name);
        return words.flatMap((word, at) => [word, words.slice(at).join("")]);
    });

    // Other words for what the book says, as stems of both.
    const ALSO = {
        p2p: "peer", multithread: "thread", wsl: "wsl2", wddm: "windows", oom: "memory",
        synchronise: "synchronize", synchronis: "synchroniz", synchronisation: "synchronization",
        deallocate: "free", crash: "illegal", hang: "wait",
    };

    // How well a word of the query fits: a word of the name, the beginning of one, or of the rest.
    const NAME = 6;
    const BEGINNING = 4;
    const REST = 1.5;
    const PHRASE = 14;
    const WHOLE = 30;

    let places = null; // [{place, name, rest, written}]

    function prepare() {
        places = window.workbookPlaces.map((place) => {
            const [, name, sentence, , more] = place;
            return {
                place,
                name: namesOf(name).map(stem),
                rest: namesOf(`${sentence} ${more}`).map(stem),
                written: `${name} ${more}`.toLowerCase(),
            };
        });
    }

    function worth({ place, name, rest, written }, query, words) {
        let sum = 0;
        let hits = 0;
        const valueOf = (word) => {
            const begins = (each) => each.startsWith(word);
            return name.includes(word) ? NAME : name.some(begins) ? BEGINNING
                : rest.some(begins) ? REST : 0;
        };
        for (const word of words) {
            const value = Math.max(valueOf(word), ALSO[word] ? valueOf(ALSO[word]) : 0);
            sum += value;
            hits += value > 0;
        }
        if (query.length > 3 && written.includes(query)) sum += PHRASE;
        if (CODE.has(place[0]) && place[1].toLowerCase().includes(query)) sum += NAME;
        if (place[1].toLowerCase() === query) sum += WHOLE;
        if (place[0] === "symptom" || place[0] === "question") sum *= 1.15;
        return words.length ? sum * hits / words.length : sum;
    }

    // The places for what was typed, the best first.
    function find(text) {
        const query = text.trim().toLowerCase();
        const all = wordsOf(text);
        const words = all.filter((word) => !COMMON.has(word)).map(stem);
        if (!all.length || !places) return [];
        return places.map((each) => [worth(each, query, words), each.place])
            .filter(([value]) => value > 1)
            .sort((one, other) => other[0] - one[0])
            .slice(0, MOST).map(([, place]) => place);
    }

    let loading = null;
    function load() {
        loading = loading || new Promise((done) => {
            const script = document.createElement("script");
            script.src = `${root}_static/places.js`;
            script.onload = () => {
                prepare();
                done();
            };
            document.head.append(script);
        });
        return loading;
    }

    // ---- one entry ----

    const element = (name, properties = {}, ...children) => {
        const made = Object.assign(document.createElement(name), properties);
        made.append(...children);
        return made;
    };

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
        const list = element("ul", { id: "finder", className: "finder", hidden: true });
        list.setAttribute("role", "listbox");
        list.setAttribute("aria-label", "Places");
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
            const option = (address, ...inside) => {
                const made = element("li", {}, ...inside);
                made.setAttribute("role", "option");
                made.dataset.address = address;
                return made;
            };
            list.replaceChildren(
                ...find(text).map((place) => option(root + place[3], ...contents(place))),
                option(`${root}search.html?q=${encodeURIComponent(text)}`,
                    `Search all pages for \u201c${text}\u201d`));
            [...list.children].forEach((each, i) => { each.id = `finder-${i}`; });
            const { left, bottom } = field.getBoundingClientRect();
            list.style.left = `${Math.max(left, 8)}px`;
            list.style.top = `${bottom}px`;
            list.hidden = false;
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
        const script = document.createElement("script");
        script.src = `${root}_static/summaries.js`;
        script.onload = () => {
            summarize();
            new MutationObserver(summarize).observe(results, { childList: true, subtree: true });
        };
        document.head.append(script);
    }
    if (results && asked) {
        load().then(() => {
            const found = find(asked).slice(0, 5);
            if (!found.length) return;
            const items = found.map((place) => element("li", {},
                element("a", { href: root + place[3] }, ...contents(place))));
            results.before(element("h2", { textContent: "Places" }),
                element("ul", { className: "finder-places" }, ...items));
        });
    }

    return { find, load };
})();
