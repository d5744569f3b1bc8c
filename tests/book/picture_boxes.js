// An expression that measures every text of the pictures on a page, and of the dial, in a real
// browser. Its value has how many there were, and what is wrong: a text that leaves its picture,
// lies on another or touches it, or is smaller than 12 pixels. pictures.bats and browser use it.
(() => {
    const wrong = [];
    let measured = 0;
    for (const picture of document.querySelectorAll(".picture svg, .dial svg")) {
        const frame = picture.getBoundingClientRect();
        if (!frame.width) continue;
        const title = picture.querySelector("title")?.textContent || picture.ariaLabel || "dial";
        const name = title.slice(0, 40);
        const texts = [...picture.querySelectorAll("text")].map((text) => ({
            words: text.textContent,
            box: text.getBoundingClientRect(),
            size: parseFloat(getComputedStyle(text).fontSize) *
                frame.width / picture.viewBox.baseVal.width,
        }));
        const boxes = [...picture.querySelectorAll("rect.call, rect.waits, rect.work")]
            .map((rect) => rect.getBoundingClientRect());
        for (const { words, box } of texts.filter((text) => text.words.startsWith("\u2717 no"))) {
            const isCut = ({ left, right, top, bottom }) => left < box.right && box.left < right &&
                top < box.bottom - 3 && box.top + 3 < bottom && (box.left < left ||
                box.right > right || box.top + 3 < top || box.bottom - 3 > bottom);
            if (boxes.some(isCut)) wrong.push(`${name}: "${words}" lies on the edge of a box`);
        }
        measured += texts.length;
        texts.forEach(({ words, box, size }, number) => {
            if (size < 11.99) wrong.push(`${name}: "${words}" is ${size.toFixed(1)} pixels high`);
            if (box.left < frame.left - 1 || box.right > frame.right + 1 ||
                box.top < frame.top - 1 || box.bottom > frame.bottom + 1) {
                wrong.push(`${name}: "${words}" leaves the picture`);
            }
            for (const other of texts.slice(number + 1)) {
                // Lines of text touch: a box is higher than its letters. Words side by side do not.
                const across = Math.min(box.right, other.box.right) -
                    Math.max(box.left, other.box.left);
                const along = Math.min(box.bottom, other.box.bottom) -
                    Math.max(box.top, other.box.top);
                if (across > -3 && along > 5) {
                    wrong.push(`${name}: "${words}" lies on or touches "${other.words}"`);
                }
            }
        });
        if (frame.right > document.documentElement.clientWidth + 1) {
            wrong.push(`${name} is wider than the page`);
        }
    }
    return `measured ${measured}: ${wrong.slice(0, 20).join("; ") || "nothing wrong"}`;
})()
