// What pages.py measures inside of a page. Each check returns sentences, one for each fault.
window.checks = (() => {
    "use strict";
    const SMALLEST_TEXT = 9; // pixels of the screen

    // Nothing moves. A style that came later would have all styles computed anew.
    const still = new CSSStyleSheet();
    still.replaceSync(`*, *::before, *::after, *::details-content {
        transition: none !important; animation: none !important }`);
    document.adoptedStyleSheets = [still];

    const describe = (element) => {
        const text = (element.innerText || element.getAttribute("aria-label") || "").trim();
        const kind = element.className.baseVal ?? element.className;
        const words = text.slice(0, 40).replace(/\s+/g, " ");
        return `<${element.localName}${kind ? ` class="${kind}"` : ""}> ${words}`;
    };
    const shown = (element) =>
        element.checkVisibility({ contentVisibilityAuto: true, visibilityProperty: true });
    const all = (selector, within = document) => [...within.querySelectorAll(selector)];

    // ---- colors, as axe counts with them ----

    const { Color, flattenColors, getContrast } = window.axe.commons.color;
    function colorOf(text, alpha = 1) {
        const color = new Color();
        color.parseString(text);
        color.alpha *= alpha;
        return color;
    }
    function opacity(element, top) {
        let value = 1;
        for (let e = element; e && e !== top.parentElement; e = e.parentElement) {
            value *= Number(getComputedStyle(e).opacity);
        }
        return value;
    }
    function pageColor(element) {
        for (let e = element; e; e = e.parentElement) {
            const color = colorOf(getComputedStyle(e).backgroundColor);
            if (color.alpha === 1) return color;
        }
        return new Color(255, 255, 255);
    }

    // What is painted below a point (of the window) of a drawing by the shapes before an element.
    function below(svg, element, x, y) {
        let color = pageColor(svg);
        for (const shape of all("rect, path, circle, ellipse, polygon:not(.arrowhead)", svg)) {
            const order = shape.compareDocumentPosition(element);
            if (shape === element || order & Node.DOCUMENT_POSITION_PRECEDING) break;
            const { fill, fillOpacity } = getComputedStyle(shape);
            if (fill === "none" || fill.startsWith("url") || !shown(shape)) continue;
            const matrix = shape.getScreenCTM();
            if (!matrix) continue;
            const point = new DOMPoint(x, y).matrixTransform(matrix.inverse());
            if (!shape.isPointInFill(point)) continue;
            color = flattenColors(colorOf(fill, fillOpacity * opacity(shape, svg)), color);
        }
        return color;
    }

    function textContrast(svg, text) {
        const box = text.getBoundingClientRect();
        const back = below(svg, text, box.x + box.width / 2, box.y + box.height / 2);
        return getContrast(back, colorOf(getComputedStyle(text).fill, opacity(text, svg)));
    }

    // Of what is drawn with a stroke alone. A line may cross what hides a part of it: it must be
    // seen at a third of nine points. A tick only guides the eye to a value that its label has.
    // Infinity: there is nothing to see.
    function lineContrast(svg, line) {
        const style = getComputedStyle(line);
        const length = line.getTotalLength();
        const invisible = style.stroke === "none" || !length;
        if (invisible || line.closest("defs, .tick")) return Infinity;
        const stroke = colorOf(style.stroke, style.strokeOpacity * opacity(line, svg));
        const ratios = [1, 2, 3, 4, 5, 6, 7, 8, 9].map((part) => {
            const { x, y } = line.getPointAtLength(length * part / 10);
            const point = new DOMPoint(x, y).matrixTransform(line.getScreenCTM());
            return getContrast(below(svg, line, point.x, point.y), stroke);
        });
        return ratios.sort((one, other) => other - one)[2];
    }

    // ---- layout, pictures, head, paper ----

    const unfolded = [];
    function unfold() {
        for (const fold of all("article details:not([open])")) {
            fold.open = true;
            unfolded.push(() => { fold.open = false; });
        }
        for (const part of all("article [hidden='until-found']")) {
            part.hidden = false;
            unfolded.push(() => { part.hidden = "until-found"; });
        }
    }
    const fold = () => unfolded.forEach((close) => close());

    function layout() {
        return [...tooWide(), ...longLines()];
    }

    // A line of text has 62 to 66 characters, each about half of its size.
    function longLines() {
        const faults = [];
        for (const text of all("article :is(p:not(.picture-title), li, dd, blockquote)")) {
            const apart = "table, .stepper, .dial, .days-toy, .picture-pair, .picture-rows";
            if (!shown(text) || text.closest(apart)) continue;
            const range = document.createRange();
            range.selectNodeContents(text);
            const longest = Math.max(0, ...[...range.getClientRects()].map((box) => box.width));
            if (longest > 34 * parseFloat(getComputedStyle(text).fontSize)) {
                faults.push(`a line of text has ${Math.round(longest)} pixels: ${describe(text)}`);
            }
        }
        return faults.slice(0, 3);
    }

    function tooWide() {
        const root = document.documentElement;
        const text = document.querySelector(".content");
        // A stepper may stand over the list of contents, and a whole program over the stage.
        const end = text?.getBoundingClientRect().right;
        const wide = text && text.scrollWidth > text.clientWidth + 1 &&
            all("article *").find((element) => shown(element) &&
                element.getBoundingClientRect().right > end + 1 &&
                !element.closest("pre, .table-wrapper, .picture-rows, .stepper, " +
                    ".program-source, .highlight-udiff"));
        if (wide) {
            return [`the text is ${text.scrollWidth} pixels wide, its column ` +
                `${text.clientWidth}: ${describe(wide)}`];
        }
        if (root.scrollWidth <= root.clientWidth) return [];
        const beyond = all("body *").find((element) => {
            const box = element.getBoundingClientRect();
            return box.right > root.clientWidth + 1 && shown(element) &&
                !element.closest("pre, .table-wrapper, .toc-drawer");
        });
        return [`the page is ${root.scrollWidth} pixels wide, its window ${root.clientWidth}` +
            (beyond ? `: ${describe(beyond)}` : "")];
    }

    function pictures() {
        const faults = [];
        for (const picture of all("article .picture").filter(shown)) {
            if (picture.scrollWidth > picture.clientWidth + 1) {
                faults.push(`a picture scrolls sideways: it has ${picture.scrollWidth} pixels, ` +
                    `its place ${picture.clientWidth}: ${title(picture)}`);
            }
        }
        for (const svg of all("article svg[role='img']").filter(shown)) {
            const worst = { contrast: [], size: [], line: [] };
            for (const text of all("text", svg).filter((t) => shown(t) && t.textContent.trim())) {
                const words = `"${text.textContent.trim()}"`;
                const ratio = textContrast(svg, text);
                if (ratio < 4.5) worst.contrast.push([ratio, words]);
                const scale = svg.getScreenCTM().a;
                const size = parseFloat(getComputedStyle(text).fontSize) * scale;
                if (size < SMALLEST_TEXT) worst.size.push([size, words]);
            }
            for (const line of all("line, polyline, path", svg).filter(shown)) {
                const ratio = lineContrast(svg, line);
                if (ratio < 3) worst.line.push([ratio, `class "${line.getAttribute("class")}"`]);
            }
            for (const [kind, found] of Object.entries(worst)) {
                if (!found.length) continue;
                const [value, what] = found.sort((a, b) => a[0] - b[0])[0];
                faults.push({
                    contrast: `words have a contrast of ${value.toFixed(1)}`,
                    size: `words are ${value.toFixed(1)} pixels high`,
                    line: `a line has a contrast of ${value.toFixed(1)}`,
                }[kind] + `: ${what} and ${found.length - 1} more: ${title(svg)}`);
            }
        }
        return [...new Set(faults)];
    }
    const title = (picture) => picture.querySelector("title")?.textContent.slice(0, 60);

    function head() {
        const faults = [];
        const expect = (count, selector, name) => {
            const found = all(selector).length;
            if (found !== count) faults.push(`${found} ${name}, not ${count}`);
        };
        expect(1, "h1", "headings of the first level");
        expect(1, "head meta[name='viewport']", "meta elements for the viewport");
        expect(1, "head meta[name='description'][content]", "descriptions");
        expect(1, "head link[rel~='icon']", "icons");
        // What begins in italics is said about the page: how long it takes, or what it is from.
        const about = document.querySelector("head meta[name='description']")?.content;
        const notes = all("article p").filter((p) => p.firstChild?.localName === "em");
        if (notes.some((note) => about?.startsWith(note.textContent.trim().slice(0, 40)))) {
            faults.push(`the description is not of the page's text: ${about}`);
        }
        return faults;
    }

    function paper() {
        const faults = [];
        for (const fold of all("article details:not(.tools, .picture-rows)")) {
            const closed = all(":scope > :not(summary)", fold)
                .find((part) => part.textContent.trim() &&
                    (!shown(part) || part.getBoundingClientRect().height < 1));
            if (closed) faults.push(`a fold is not printed: ${describe(fold)}`);
        }
        for (const tab of all("article .sd-tab-content")) {
            if (!shown(tab)) faults.push(`a tab is not printed: ${tab.textContent.slice(0, 40)}`);
        }
        const lost = all("article .picture svg *").find(
            (part) => getComputedStyle(part).display === "none" && !part.closest("defs"));
        if (lost) faults.push(`a part of a picture is not printed: ${describe(lost)}`);
        const blocks = "article :is(pre, .picture, .table-wrapper, .stepper-state)";
        for (const block of all(blocks).filter(shown)) {
            for (const way of ["Width", "Height"]) {
                const [full, room] = [block[`scroll${way}`], block[`client${way}`]];
                if (full > room + 1)
                    faults.push(`cut off on paper (${full} pixels in ${room}): ${describe(block)}`);
            }
        }
        const extras = ".skip-to-content, button.copy-code, .bar, .contents-drawer, .tip, " +
            ".live, .tools, .rail, .picture-rows";
        for (const extra of all(extras)) {
            if (shown(extra)) faults.push(`printed, but for a screen only: ${describe(extra)}`);
        }
        return [...new Set(faults)];
    }

    // ---- what the text has: words, programs, reports, tables; and the contents ----

    function tip(element) {
        const faults = [];
        const box = element.getBoundingClientRect();
        const column = document.querySelector(".content").getBoundingClientRect();
        if (box.left < column.left - 1 || box.right > column.right + 1) {
            faults.push("leaves the column of the text");
        }
        const [left, right] = [box.left + 2, box.right - 2];
        const hidden = [[left, box.top + 2], [right, box.bottom - 2]].some(
            ([x, y]) => y < innerHeight && !element.contains(document.elementFromPoint(x, y)));
        if (hidden) faults.push("is hidden by something else");
        return faults;
    }

    // Whether a reader sees these words there, without scrolling.
    function seen(place, words) {
        const texts = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
        while (texts.nextNode()) {
            const at = texts.currentNode.data.indexOf(words);
            if (at < 0) continue;
            const range = document.createRange();
            range.setStart(texts.currentNode, at);
            range.setEnd(texts.currentNode, at + words.length);
            const { left, right, top, bottom } = range.getBoundingClientRect();
            return [left + 1, right - 1].every((x) =>
                place.contains(document.elementFromPoint(x, (top + bottom) / 2)));
        }
        return false;
    }

    // The contents open where one is: no fold hides that, neither one of lessons nor one of pages.
    async function contents(opened) {
        const drawer = document.querySelector(".contents-drawer");
        const here = drawer.querySelector(".sidebar-tree .current-page > a");
        if (here.closest("details:not([open]), .toctree-checkbox:not(:checked) ~ ul"))
            return ["the page's own entry is folded"];
        if (!opened) return [];
        if (shown(here)) return ["the contents are open before somebody opens them"];
        drawer.showPopover();
        await new Promise((done) => setTimeout(done, 50)); // its event comes later
        const [link, list] = [here, drawer].map((each) => each.getBoundingClientRect());
        const seen = shown(here);
        drawer.hidePopover();
        if (!seen) return ["the page's own entry is folded"];
        return link.top < list.top - 1 || link.bottom > list.bottom + 1
            ? ["the page's own entry is out of sight"] : [];
    }

    function code(wide) {
        const faults = [];
        const blocks = ".program-source pre, .listing pre, .highlight-udiff pre";
        for (const block of wide ? all(blocks).filter(shown) : []) {
            if (block.scrollWidth > block.clientWidth + 1) {
                faults.push(`a program scrolls sideways: ${block.scrollWidth} pixels in ` +
                    `${block.clientWidth}: ${describe(block)}`);
            }
        }
        const small = all("button.copy-code").filter(shown).find((button) => {
            const { width, height } = button.getBoundingClientRect();
            return width < 30 || height < 24 || height > 30;
        });
        if (small) faults.push(`"Copy" is no line of 24 pixels: ${describe(small)}`);
        const looks = (kind) => {
            const line = document.querySelector(`.highlight-udiff ${kind}`);
            const style = line && getComputedStyle(line);
            return style && [style.color, style.backgroundColor];
        };
        const [added, removed] = [looks(".gi"), looks(".gd")];
        if (added && removed && added.some((value, i) => value === removed[i])) {
            faults.push("what is added looks like what is removed");
        }
        for (const report of all("pre.report")) {
            const path = /(?:build\/mutants|lessons|solutions)\/\S+?\.c/g;
            const seen = report.innerText.match(path);
            if (seen && seen.length > new Set(seen).size) {
                faults.push(`a report names a file again: ${describe(report)}`);
            }
            const lines = all(".report-line", report);
            const hanging = lines.every(
                (line) => parseFloat(getComputedStyle(line).textIndent) < 0);
            if (!hanging || !lines.length || !report.querySelector("b")) {
                faults.push("the lines of a report do not hang, or no kind is bold: " +
                    describe(report));
            }
        }
        return faults;
    }

    function cards() {
        const cells = all("table.cards td");
        const faults = cells.filter((cell) => getComputedStyle(cell).display !== "block" ||
            !cell.dataset.label).map((cell) => `no card: ${describe(cell)}`);
        for (const wrapper of all(".table-wrapper:has(.cards)")) {
            if (wrapper.scrollWidth > wrapper.clientWidth + 1) faults.push("cards scroll sideways");
        }
        return faults.slice(0, 3);
    }

    function pairs(wide) {
        return all(".picture-pair").filter(shown).flatMap((pair) => {
            const [first, second] = all(".picture-cell", pair)
                .map((cell) => cell.getBoundingClientRect());
            const beside = first.right <= second.left && Math.abs(first.top - second.top) < 1;
            const below = first.bottom <= second.top && first.left === second.left;
            return (wide ? beside : below) ? [] :
                [`two pictures are not ${wide ? "side by side" : "one below the other"}: ` +
                    describe(pair)];
        });
    }

    // ---- axe ----

    // Marks for axe each element that has text of its own, once for each look: its color, whether
    // its font is large, and what its ancestors paint behind it; of what can be used, its font and
    // its kind of box. A page has few looks, and thousands of words. The other words of programs
    // are made text: axe looks at every element for what covers it.
    const LOOK = ["color", "textShadow", "visibility"];
    const SIZE = ["fontSize", "fontWeight", "display"];
    const isLarge = ({ fontSize, fontWeight }) =>
        parseFloat(fontSize) >= (Number(fontWeight) >= 700 ? 18.66 : 24);
    const BEHIND = ["backgroundColor", "backgroundImage", "opacity", "filter", "mixBlendMode",
        "position", "zIndex", "overflow", "clip", "clipPath"];
    const PAINTS_NOTHING = "rgba(0, 0, 0, 0);none;1;none;normal;static;auto;visible;auto;none";
    // Returns the looks. Those that are known are not marked.
    function markLooks(known) {
        const behind = new Map([[null, ""]]);
        const seen = new Set(known);
        const words = []; // replaced in the end: each change has all styles computed anew
        for (const element of all("*")) {
            const style = getComputedStyle(element);
            const own = BEHIND.map((key) => style[key]).join(";");
            const above = behind.get(element.parentElement) || "";
            const adds = own !== PAINTS_NOTHING && !above.endsWith(own);
            const paints = adds ? `${above}|${own}` : above;
            behind.set(element, paints);
            const hasText = [...element.childNodes].some(
                (node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
            const isField = element.matches("input, select, textarea, button");
            const kind = element.localName === "svg" || element.closest("svg") ? "svg" : "";
            if (!hasText && !isField) continue;
            const isUsed = isField || element.closest("a, label, summary");
            const keys = isUsed ? [...LOOK, ...SIZE] : LOOK;
            const look = [paints, kind, isField, isLarge(style), ...keys.map((key) => style[key])]
                .join();
            if (!seen.has(look)) element.dataset.look = "";
            else if (element.matches("pre span:not(:has(*))")) words.push(element);
            if (element.checkVisibility()) seen.add(look);
        }
        for (const word of words) word.replaceWith(word.textContent);
        return [...seen].filter((look) => !known.includes(look));
    }

    // The looks that are new, and [rule, how many elements, the first, what it wants] of what is
    // serious. Where no look is new the rules in `drawn`, for which axe compares the places of all
    // elements, are left out. The parts of the page that `without` names are not looked at.
    async function runAxe(options, drawn, known, without) {
        const looks = markLooks(known);
        if (!looks.length) {
            options.rules = Object.fromEntries(drawn.map((id) => [id, { enabled: false }]));
        }
        // Elsewhere the header would lie over a part of what is below it, and axe counts that.
        scrollTo({ top: 0, behavior: "instant" });
        window.axe.configure({ rules: [{ id: "color-contrast", selector: "[data-look]" }] });
        const context = { include: [["html"]], exclude: without.map((part) => [part]) };
        const { violations } = await window.axe.run(context, options);
        const found = violations.filter(({ impact }) => ["serious", "critical"].includes(impact))
            .map(({ id, nodes, help }) => {
                const [{ target, any, all, none }] = nodes;
                const why = [...any, ...all, ...none].map(({ message }) => message);
                return [id, nodes.length, String(target[0]), `${help}: ${why.join(" ")}`];
            });
        return [looks, found];
    }

    // ---- keyboard ----

    const USABLE = "a[href], button, input, select, textarea, summary, [tabindex]";
    let waiting, hidden;

    function startKeyboard() {
        document.activeElement.blur();
        scrollTo(0, 0);
        const names = new Set();
        waiting = new Set(all(USABLE).filter((element) => {
            if (element.tabIndex < 0 || element.disabled || !shown(element)) return false;
            if (element.type !== "radio") return true;
            if (names.has(element.name)) return false; // one stop for all of its name
            names.add(element.name);
            return true;
        }));
        hidden = [];
        document.addEventListener("focusin", ({ target }) => {
            for (const element of waiting) {
                if (element === target ||
                    (element.type === "radio" && element.name === target.name)) {
                    waiting.delete(element);
                }
            }
            const style = getComputedStyle(target);
            const label = target.labels?.[0] && getComputedStyle(target.labels[0]);
            const outlined = (s) => s && (s.outlineStyle !== "none" || s.boxShadow !== "none");
            const seen = outlined(style) || outlined(label);
            if (!seen) hidden.push(`has no outline in focus: ${describe(target)}`);
            if (style.opacity === "0" && !label) hidden.push(`not visible: ${describe(target)}`);
        });
        return waiting.size;
    }

    function endKeyboard() {
        const missed = [...waiting].map((element) => `not reached: ${describe(element)}`);
        const unreachable = all("article pre, article .table-wrapper")
            .filter((block) => block.scrollWidth > block.clientWidth + 1 && block.tabIndex < 0)
            .map((block) => `scrolls, and the Tab key does not come to it: ${describe(block)}`);
        return [...new Set([...missed, ...hidden, ...unreachable])];
    }

    // Puts the focus on a block that scrolls, if there is one.
    function focusScrolling() {
        all("article [tabindex='0']").find(shown)?.focus();
    }

    return {
        fold, unfold, layout, pictures, head, paper, axe: runAxe, tip, seen, contents, code, cards,
        pairs, startKeyboard, endKeyboard, focusScrolling,
    };
})();
