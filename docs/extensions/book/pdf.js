// The book as one document, for pdf.py. It runs in the opened index.html and puts the articles of
// all pages into its place, in the order of their links to the next one, behind a title page and
// the contents, which are those of the sidebar. No script has changed
// them: questions have blanks, and choices are spelled out.
//
// What a student should not see beside the exercise is in an appendix: the hints, the check's
// report, the solution and the answers of lessons, and of a case of the clinic the report and all
// that is told behind it.
(async (title, style) => {
    "use strict";
    const root = new URL(".", location.href).href;
    const nameOf = (address) =>
        address.slice(root.length).replace(/\.html$/, "").replaceAll("/", "-");

    const load = (address) => new Promise((done, failed) => {
        const request = new XMLHttpRequest();
        request.open("GET", address);
        request.responseType = "document";
        request.onload = () => done(request.response);
        request.onerror = () => failed(new Error(`${address} cannot be read`));
        request.send();
    });

    const pages = new Map(); // of an address: its article
    for (let address = location.href.replace(/#.*/, ""); address;) {
        const page = await load(address);
        const next = page.querySelector("link[rel=next]")?.getAttribute("href");
        pages.set(address, page.querySelector("article"));
        address = next && new URL(next, address).href;
    }

    // An id or a link of one page must not be that of another. A link to a place that only a script
    // knows leads to its page.
    const ids = new Map([...pages].map(([address, article]) =>
        [address, new Set([...article.querySelectorAll("[id]")].map((element) => element.id))]));
    const LISTS = ["aria-labelledby", "aria-describedby", "headers", "for"];
    function nameApart(article, address) {
        const own = (id) => `${nameOf(address)}--${id}`;
        for (const element of article.querySelectorAll("[id]")) element.id = own(element.id);
        for (const attribute of LISTS) {
            for (const element of article.querySelectorAll(`[${attribute}]`)) {
                const names = element.getAttribute(attribute).split(/\s+/).map(own);
                element.setAttribute(attribute, names.join(" "));
            }
        }
        for (const link of article.querySelectorAll("a[href]")) {
            const url = new URL(link.getAttribute("href"), address);
            const page = url.href.replace(/#.*/, "");
            if (pages.has(page)) {
                const id = decodeURIComponent(url.hash.slice(1));
                const place = ids.get(page).has(id) ? `--${id}` : "";
                link.setAttribute("href", `#${nameOf(page)}${place}`);
            } else if (url.protocol === "file:") {
                link.removeAttribute("href"); // a listing, which is not in the book on paper
            }
        }
        for (const image of article.querySelectorAll("img[src]")) {
            image.src = new URL(image.getAttribute("src"), address).href;
        }
    }

    const make = (kind, words, id) => {
        const element = document.createElement(kind);
        if (words) element.textContent = words;
        if (id) element.id = id;
        return element;
    };
    const headOf = (fold) => fold.querySelector("summary, h2");
    const titleOf = (fold) => headOf(fold).textContent.trim().replace(/\s+/g, " ");
    const headingOf = (article) => article.querySelector("h1").textContent;

    function foldsForAppendix(article, address) {
        const name = nameOf(address);
        if (name.startsWith("clinic-"))
            return [...article.querySelectorAll("[id$='--the-report']")];
        // Of folds, those to which every_page.py gave this class.
        return /^\d\d_/.test(name) ? [...article.querySelectorAll("details.not-beside")] : [];
    }

    const appendix = make("article", "", "appendix");
    appendix.append(make("h1", "Appendix: hints, checks and solutions"));
    function moveFolds(article, address) {
        const folds = foldsForAppendix(article, address);
        if (!folds.length) return;
        const part = make("section", "", `appendix--${nameOf(address)}`);
        part.append(make("h2", headingOf(article)));
        for (const fold of folds) {
            const here = make("section", "", `${part.id}-${part.children.length}`);
            here.append(make("h3", titleOf(fold)));
            const before = fold.previousElementSibling;
            const link = make("a", titleOf(fold));
            link.setAttribute("href", `#${here.id}`);
            if (before?.className === "in-appendix") {
                before.append(", ", link);
                fold.remove();
            } else {
                const note = make("p", "In the appendix: ");
                note.className = "in-appendix";
                note.append(link);
                fold.replaceWith(note);
            }
            headOf(fold).remove();
            for (const head of fold.querySelectorAll("h3")) {
                const lower = make("h4");
                lower.append(...head.childNodes);
                head.replaceWith(lower);
            }
            here.append(...fold.childNodes);
            part.append(here);
        }
        appendix.append(part);
    }

    // The groups of the sidebar with their pages.
    const groups = [...document.querySelectorAll(".sidebar-tree :is(.caption, ul)")]
        .filter((one) => !one.parentElement.closest(".sidebar-tree li"))
        .map((one) => [one.matches("ul") ? "" : one.textContent.trim(),
            [...one.querySelectorAll(":scope > li > a")].map((link) =>
                [link.textContent.trim(), nameOf(new URL(link.getAttribute("href"), root).href)])]);
    const cover = make("article", "", "title-page");
    const [name, ...rest] = title.split(", ");
    cover.append(make("p", name), make("p", rest.join(", ")));
    const days = pages.values().next().value.querySelector(".days-squares");
    if (days) cover.append(days.cloneNode(true), make("p", days.getAttribute("aria-label")));
    const contents = make("article", "", "contents");
    contents.append(make("h1", "Contents"));
    for (const [caption, list] of groups) {
        if (caption) contents.append(make("p", caption));
        const items = make("ul");
        for (const [words, id] of list) {
            const item = make("li");
            const link = make("a", words);
            link.setAttribute("href", `#${id}`);
            link.append(make("span", "000")); // where the page's number will be (pdf.py)
            item.append(link);
            items.append(item);
        }
        if (list.length) contents.append(items);
    }

    const book = make("div");
    book.append(cover, contents);
    for (const [address, article] of pages) {
        for (const extra of article.querySelectorAll(".headerlink, script")) extra.remove();
        for (const fold of article.querySelectorAll("details")) fold.open = true;
        nameApart(article, address);
        moveFolds(article, address);
        const chapter = make("article", "", nameOf(address));
        chapter.append(...document.adoptNode(article).childNodes);
        book.append(chapter);
    }
    book.append(appendix);
    document.head.append(make("style", style));
    const body = make("body");
    body.className = "book";
    body.dataset.theme = "light";
    body.append(book);
    document.body.replaceWith(body);
    document.title = title;
    return pages.size;
})
