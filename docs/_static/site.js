// What the scripts of the pages share (workbook). And what every page does beyond being read: a
// block is copied, the Tab key reaches what scrolls sideways, a word of the glossary shows its
// meaning while it is pointed at or has the focus, and the contents open where one is. The page of
// search results has a heading, which the theme leaves out.
"use strict";

const workbook = {
    root: document.documentElement.dataset.content_root || "./",

    // An element; a property that elements do not have is an attribute.
    element(tag, properties = {}, ...children) {
        const made = document.createElement(tag);
        for (const [name, value] of Object.entries(properties))
            if (name in made) made[name] = value;
            else made.setAttribute(name, value);
        made.append(...children);
        return made;
    },

    button(words, action, properties = {}) {
        const made = workbook.element("button", { type: "button", ...properties }, words);
        made.addEventListener("click", action);
        return made;
    },

    // Loads a script of _static.
    load: (file) => new Promise((done, failed) => {
        const src = `${workbook.root}_static/${file}`;
        const onerror = () => failed(new Error(`${src} could not be loaded`));
        document.head.append(workbook.element("script", { src, onload: done, onerror }));
    }),

    // The path of a box with lines that rise from left to right: svg.py, Canvas.hatched.
    hatched(width, height, apart = 7) {
        let path = `M0 0h${width}v${height}h${-width}z`;
        for (let along = apart; along < width + height; along += apart) {
            path += `M${Math.max(0, along - height)} ${Math.min(along, height)}`;
            path += `L${Math.min(along, width)} ${Math.max(0, along - width)}`;
        }
        return path;
    },

    // The simulated device, once for each of a few threads.
    devices: () => Array.from(
        { length: Math.max(1, Math.min(4, (navigator.hardwareConcurrency || 2) - 1)) },
        () => Object.create(simulatedDevice, { apart: { value: null, writable: true } })),

    // What the browser keeps under a name. One without storage keeps it as long as the page.
    kept(key) {
        try {
            return JSON.parse(localStorage.getItem(key)) || {};
        } catch (error) {
            return null;
        }
    },
    keep(key, value) {
        try {
            localStorage.setItem(key, JSON.stringify(value));
        } catch (error) { /* as above */ }
    },
};

(() => {
    const { button } = workbook;
    // ---- what can be copied: of a terminal, what is typed ----

    for (const block of document.querySelectorAll("div.highlight > pre")) {
        if (!navigator.clipboard) break; // a page from a server without https
        const copier = button("Copy", async () => {
            const copy = block.cloneNode(true);
            for (const number of copy.querySelectorAll(".linenos")) number.remove();
            const lines = copy.textContent.trimEnd().split("\n");
            const typed = lines.filter((line) => line.startsWith("$ "))
                .map((line) => line.slice(2));
            await navigator.clipboard.writeText((typed.length ? typed : lines).join("\n"));
            copier.textContent = "Copied";
            setTimeout(() => { copier.textContent = "Copy"; }, 2000);
        }, { className: "copy-code" });
        block.before(copier);
    }

    // ---- what scrolls ----

    // But for what a program prints here and the stepper's listing: they are stops anyway.
    const SCROLLING = [
        ["article pre:not(.live-output, .stepper pre)", "Text"],
        ["article .picture", "Picture"],
        ["article .table-wrapper", "Table"],
        ["article .picture-rows", "Table"],
    ];

    // Only what scrolls now is a stop of the Tab key: on a wide screen most blocks do not.
    function markScrolling() {
        for (const [selector, name] of SCROLLING) {
            for (const block of document.querySelectorAll(selector)) {
                if (block.scrollWidth > block.clientWidth + 1) {
                    block.tabIndex = 0;
                    block.setAttribute("role", "group");
                    block.setAttribute("aria-label", `${name}, scrolls sideways`);
                } else {
                    for (const attribute of ["tabindex", "role", "aria-label"]) {
                        block.removeAttribute(attribute);
                    }
                }
            }
        }
    }

    addEventListener("load", markScrolling);
    addEventListener("resize", markScrolling);
    document.addEventListener("toggle", markScrolling, true); // a fold has opened
    document.addEventListener("change", markScrolling); // another tab is shown

    // ---- what a word means ----

    const tip = { shown: null, word: null };

    function hideTip() {
        if (tip.shown) tip.shown.hidden = true;
        tip.shown = tip.word = null;
    }

    function showTip(word) {
        const meaning = document.getElementById(word.getAttribute("aria-describedby"));
        if (!meaning || tip.word === word) return;
        hideTip();
        meaning.hidden = false;
        const place = word.getBoundingClientRect();
        const text = document.querySelector(".content")?.getBoundingClientRect();
        const width = document.documentElement.clientWidth;
        const left = Math.max(text ? text.left : 0, 8);
        const room = Math.min(text ? text.right : width, width - 8) - meaning.offsetWidth;
        const below = place.bottom + meaning.offsetHeight < innerHeight;
        const top = below ? place.bottom : place.top - meaning.offsetHeight;
        meaning.style.left = `${Math.max(Math.min(place.left, room), left) + scrollX}px`;
        meaning.style.top = `${top + scrollY}px`;
        tip.shown = meaning;
        tip.word = word;
    }

    // The pointer may go on from the word to its meaning, which then stays.
    function belongs(element) {
        return element instanceof Element && element.closest(".tip, a[aria-describedby^='tip-']");
    }

    document.addEventListener("pointerover", (event) => {
        const part = belongs(event.target);
        if (!part) {
            if (tip.word !== document.activeElement) hideTip();
        } else if (!part.classList.contains("tip")) {
            showTip(part);
        }
    });
    document.addEventListener("focusin", (event) => {
        const part = belongs(event.target);
        if (part) showTip(part);
        else hideTip();
    });
    document.addEventListener("focusout", hideTip);
    document.addEventListener("keydown", (event) => {
        if (event.key === "Escape") hideTip();
    });

    // ---- the contents show where one is ----

    document.getElementById("contents")?.addEventListener("toggle", (event) => {
        if (event.newState === "open")
            event.target.querySelector(".sidebar-tree .current-page > a")
                ?.scrollIntoView({ block: "center", behavior: "instant" });
    });

    // ---- the page of search results ----

    const results = document.getElementById("search-results");
    if (results) {
        results.before(workbook.element("h1", {}, "Search"));
        // What a result shows of its page is text, and no program. Search is there from now on.
        document.addEventListener("DOMContentLoaded", () => {
            const { htmlToText } = Search;
            Search.htmlToText = (html, ...more) => {
                const page = new DOMParser().parseFromString(html, "text/html");
                for (const program of page.querySelectorAll(".program-source, .no-search")) {
                    program.remove();
                }
                return htmlToText(page.documentElement.outerHTML, ...more);
            };
        });
    }
})();
