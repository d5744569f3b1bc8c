// Measures every text of the pictures on a page in a real browser, and writes what is wrong into
// the page's title: a text that leaves its picture, lies on another, or is smaller than 12 pixels.
// tests/workbook/pictures.bats puts it at the end of a page.
(() => {
    const wrong = [];
    let measured = 0;
    for (const picture of document.querySelectorAll(".picture svg")) {
        const frame = picture.getBoundingClientRect();
        if (!frame.width) continue;
        const name = picture.querySelector("title").textContent.slice(0, 40);
        const texts = [...picture.querySelectorAll("text")].map((text) => ({
            words: text.textContent,
            box: text.getBoundingClientRect(),
            size: parseFloat(getComputedStyle(text).fontSize) *
                frame.width / picture.viewBox.baseVal.width,
        }));
        measured += texts.length;
        texts.forEach(({ words, box, size }, number) => {
            if (size < 11.99) wrong.push(`${name}: "${words}" is ${size.toFixed(1)} pixels high`);
            if (box.left < frame.left - 1 || box.right > frame.right + 1 ||
                box.top < frame.top - 1 || box.bottom > frame.bottom + 1) {
                wrong.push(`${name}: "${words}" leaves the picture`);
            }
            for (const other of texts.slice(number + 1)) {
                // Lines of text touch: a box is higher than its letters.
                const across = Math.min(box.right, other.box.right) -
                    Math.max(box.left, other.box.left);
                const along = Math.min(box.bottom, other.box.bottom) -
                    Math.max(box.top, other.box.top);
                if (across > 1 && along > 5) {
                    wrong.push(`${name}: "${words}" lies on "${other.words}"`);
                }
            }
        });
        if (frame.right > document.documentElement.clientWidth + 1) {
            wrong.push(`${name} is wider than the page`);
        }
    }
    document.title = `measured ${measured}: ${wrong.slice(0, 20).join("; ") || "nothing wrong"}`;
})();
