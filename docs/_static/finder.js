// The finder: the field in the bar searches in calls, attributes, errors, symptoms, words, rows of
// tables and paragraphs while one types, and leads to their places. It takes other words for what
// the book says, and words that are misspelled. Its last entry is the search in all pages, which
// has the places above its results, and the symptoms where nothing is asked. book/finder.py writes
// places.js and texts.js, which are loaded when the field is used first.
"use strict";

window.workbookFinder = (() => {
    const MOST = 8;
    const CODE = new Set(["call", "attribute", "error"]); // whose name is typed, not said
    const root = document.documentElement.dataset.content_root || "./";
    const COMMON = new Set(("a although an and are can do does for from has have how i in is it " +
        "its my not of on or that the then there to was what when where which why with")
        .split(" "));

    // ---- words ----

    // Words of one family have one stem: allocate, allocates, allocation.
    const ENDING = new RegExp("(?:ations?|at(?:ed?|es|ing|ors?)|ions?|ings?|i[sz](?:ed?|es|ing)|" +
        "ies|ed|es|e|y|(?<!s)s)$");
    const stem = (word) => {
        const short = word.replace(ENDING, "");
        return short.length > 2 && /[a-z]/.test(word) ? short : word;
    };
    const wordsOf = (text) => text.replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase()
        .split(/[^a-z0-9]+/).filter(Boolean);

    // A name such as cudaMemPoolTrimTo by its words, and by what begins with one of them: "pool",
    // "mempool", "cudamempooltrimto".
    const namesOf = (text) => text.split(/[^A-Za-z0-9]+/).flatMap((name) => {
        const words = wordsOf(name);
        return words.flatMap((word, at) => [word, words.slice(at).join("")]);
    }).map(stem);

    // Other words for what the book says.
    const SAME = [
        "p2p peer", "multithreaded thread", "wsl wsl2", "wddm windows", "oom memory",
        "deallocate free", "crash dies", "segfault segmentation", "sigsegv segmentation",
        "freeze hang", "stuck hang", "hang waits", "deadlock hang", "blocks waits", "nan wrong",
        "garbage wrong", "incorrect wrong", "corrupt wrong", "stale old", "uninit uninitialized",
        "zeroed zero", "zeros zero", "pagelocked pinned", "unpageable pinned", "pageable ordinary",
        "rocm hip", "amd hip", "callback function", "mutex lock", "gpus gpu", "device gpu",
        "card gpu", "memcpy copy", "slower slow", "slowly slow", "sluggish slow", "latency slow",
        "vram memory", "mb mib", "gb gib", "k8s container", "docker container", "pod container",
        "kubernetes container", "podman container", "numpy cupy", "torch pytorch", "tf tensorflow",
        "bug mistake", "unsupported supported", "limit maxsize", "cap limit", "leaking leak",
        "shrink trim", "mismatch wrong", "flaky sometimes", "random sometimes",
        "sanitizer memcheck",
        "multigpu gpu", "fork child", "jetson tegra", "orin tegra", "julia cudajl", "grows grow",
        "growing grow", "increasing grow", "retain keep", "holds keep", "failed fails",
        "different another", "doesnt not", "cant not", "isnt not", "vanish gone",
        "overwritten overwrite",
    ].map((pair) => pair.split(" ").map(stem));
    const ALSO = new Map();
    for (const [word, other] of SAME) ALSO.set(word, [...(ALSO.get(word) || []), other]);

    // How much a word counts in a name, in the sentence, and in the rest of a place, and how much
    // another word for it, the beginning of one, and one that is spelled alike.
    const FIELDS = [3, 1.4, 1.4];
    const SYNONYM = 0.75;
    const BEGINNING = 0.7;
    const ALIKE = 0.6;
    const PHRASE = 5; // for the whole query as it was typed
    const WHOLE = 20; // for a name that is the query
    const KINDS = { symptom: 1.5, question: 1.25, case: 1, lesson: 1.05, section: 1.1, text: 0.8 };

    let places = null; // [{place, fields, long}]
    let rows = null; // of a word: [place, what it counts there]
    let vocabulary = null;

    function prepare() {
        rows = new Map();
        const texts = Object.entries(window.workbookTexts).flatMap(([name, found]) =>
            found.map(([address, sentence, more]) => ["text", name, sentence, address, more]));
        places = [...window.workbookPlaces, ...texts].map((place, at) => {
            const [kind, name, sentence, , more] = place;
            const best = new Map();
            const long = wordsOf(name).filter((word) => !COMMON.has(word)).length;
            // In a short name a word says more. What a symptom is also called counts nearly as its
            // name does.
            const fields = [FIELDS[0] * (0.8 + 0.8 / Math.sqrt(long || 1)), FIELDS[1],
                kind === "symptom" ? 2.2 : FIELDS[2]];
            [name, sentence, more].forEach((text, field) => {
                for (const word of namesOf(text))
                    best.set(word, Math.max(best.get(word) || 0, fields[field]));
            });
            for (const [word, worth] of best) {
                if (!rows.has(word)) rows.set(word, []);
                rows.get(word).push([at, worth]);
            }
            const written = `${name} ${sentence} ${more}`.toLowerCase();
            const text = ` ${wordsOf(`${name} ${sentence} ${more}`).map(stem).join(" ")} `;
            return { place, written, text, long: kind === "text" ? 1 + best.size / 120 : 1 };
        });
        vocabulary = [...rows.keys()].sort();
    }

    const rare = (word) => Math.log(1 + places.length / rows.get(word).length);

    // Whether two words differ by a letter, or by two if they are long: one more, one less, another
    // one, or two in the wrong order.
    function isAlike(one, other) {
        const most = one.length > 6 ? 2 : 1;
        if (one[0] !== other[0] || Math.abs(one.length - other.length) > most) return false;
        let before = [];
        let last = Array.from({ length: other.length + 1 }, (_, at) => at);
        for (let i = 1; i <= one.length; i++) {
            const next = [i];
            for (let j = 1; j <= other.length; j++) {
                const isSame = one[i - 1] === other[j - 1];
                next[j] = Math.min(last[j] + 1, next[j - 1] + 1, last[j - 1] + !isSame);
                if (i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1])
                    next[j] = Math.min(next[j], before[j - 2] + 1);
            }
            [before, last] = [last, next];
        }
        return last.at(-1) <= most;
    }

    // [word of the places, how much it counts] for a word that was typed. Its beginning is enough
    // where it is the last one, which may not be complete yet.
    function meant(word, isLast) {
        const found = rows.has(word) ? [[word, 1]] : [];
        for (const other of ALSO.get(word) || [])
            if (rows.has(other)) found.push([other, SYNONYM]);
        if (word.length > 2 && (isLast || !found.length))
            for (const other of vocabulary)
                if (other.startsWith(word) && other !== word) found.push([other, BEGINNING]);
        if (!found.length && word.length > 3)
            for (const other of vocabulary) if (isAlike(word, other)) found.push([other, ALIKE]);
        return found;
    }

    // A name as it was typed, if the book has it or one that is spelled alike, else its words.
    const typedWords = (text) => text.split(/[^A-Za-z0-9]+/).flatMap((name) => {
        const whole = stem(name.toLowerCase());
        if (rows.has(whole)) return [whole];
        const alike = /^cu.*[A-Z]/.test(name) && vocabulary.find((word) => isAlike(whole, word));
        return alike ? [alike] : wordsOf(name).map(stem);
    });

    // The places for what was typed, the best first.
    function find(text) {
        if (!places) return [];
        const query = text.trim().toLowerCase();
        const said = text.replace(/['\u2019]/g, "").split(" ");
        const asked = said.filter((word) => !COMMON.has(word.toLowerCase())).join(" ");
        const words = [...new Set(typedWords(asked))];
        const sums = new Map(); // of a place: what its words count, and their part of the query
        const names = new Set(); // which the query may be, written rightly
        let all = 0;
        words.forEach((word, at) => {
            const found = meant(word, at === words.length - 1);
            if (!found.length) return;
            if (words.length === 1)
                for (const [other, share] of found) if (share !== BEGINNING) names.add(other);
            const weight = rows.has(word) ? rare(word)
                : Math.min(...found.map(([other]) => rare(other)));
            all += weight;
            const best = new Map();
            for (const [other, share] of found)
                for (const [place, worth] of rows.get(other))
                    best.set(place, Math.max(best.get(place) || 0, worth * share));
            for (const [place, worth] of best) {
                const [sum, part] = sums.get(place) || [0, 0];
                sums.set(place, [sum + weight * worth, part + weight]);
            }
        });
        const value = ([at, [sum, part]]) => {
            const { place, written, text: own, long } = places[at];
            const [kind, name] = place;
            let pairs = 0; // neighbors that are neighbors here
            for (let i = 1; i < words.length; i++)
                pairs += own.includes(` ${words[i - 1]} ${words[i]} `);
            const code = CODE.has(kind) ? name.toLowerCase() : "";
            const isNamed = name.toLowerCase() === query || names.has(stem(code)) ||
                (query.length > 8 && code.endsWith(query));
            const isWritten = query.length > 3 && written.includes(query);
            return (sum + 2 * pairs + (isWritten ? PHRASE : 0)) * (part / all) ** 1.5 / long *
                (KINDS[kind] || 1) + (isNamed ? WHOLE : 0);
        };
        // Each place once, and of a section one text.
        const seen = new Set();
        const isFirst = ([, name, , address]) => {
            const keys = [address, `${address.split("#")[0]} ${name.split(" \u2013 ")[0]}`];
            return !keys.some((key) => seen.has(key)) && keys.every((key) => seen.add(key));
        };
        return [...sums].map((one) => [value(one), places[one[0]].place])
            .sort((one, other) => other[0] - one[0])
            .map(([, place]) => place).filter(isFirst).slice(0, MOST);
    }

    const script = (name) => new Promise((done) => {
        const made = Object.assign(document.createElement("script"),
            { src: `${root}_static/${name}`, onload: done });
        document.head.append(made);
    });

    let loading = null;
    function load() {
        loading = loading ||
            Promise.all([script("places.js"), script("texts.js")]).then(prepare);
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
        script("summaries.js").then(() => {
            summarize();
            new MutationObserver(summarize).observe(results, { childList: true, subtree: true });
        });
    }
    if (results) {
        (asked ? load() : script("places.js")).then(() => {
            const found = asked ? find(asked).slice(0, 5)
                : window.workbookPlaces.filter(([kind]) => kind === "symptom");
            if (!found.length) return;
            const items = found.map((place) => element("li", {},
                element("a", { href: root + place[3] }, ...contents(place))));
            results.before(element("h2", { textContent: asked ? "Places" : "Symptoms" }),
                element("ul", { className: "finder-places" }, ...items));
        });
    }

    return { find, load };
})();
