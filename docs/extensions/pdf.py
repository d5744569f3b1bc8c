"""The book as one PDF: pdf.py HTML_FOLDER FILE.

Chromium prints the pages in the order of their links to the next one; pypdf joins them. The numbers
of the pages go on from one to the next, the headings are the bookmarks, and a link to another page
of the book goes to where that page begins. Exit status 1, with a sentence: there is no book, or no
Chromium.
"""

import io
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import chromium
from pypdf import PdfReader, PdfWriter
from pypdf.generic import ArrayObject, NameObject

TITLE = "CUDA memory pools, a workbook in C"
# The number of a page stands at its foot. It goes on where the page before ended.
NUMBERS = """(() => {
    const style = document.createElement("style");
    style.textContent = `@page { @bottom-right {
        content: counter(page); font: 9pt system-ui, "DejaVu Sans", sans-serif } }
        html { counter-reset: page %d }`;
    document.head.append(style);
    document.body.dataset.theme = "light";
})()"""
# The pool bench runs a script when its page is opened.
DRAWN = """new Promise((done) => {
    const bench = document.getElementById("pool-bench");
    const look = () => !bench || /shown|failed/.test(bench.dataset.state) ? done()
        : setTimeout(look, 20);
    look();
})"""


def print_pages(folder):
    """Each page's file and its PDF, in the order of the book."""
    page, before = folder / "index.html", 0
    with chromium.Browser() as browser:
        while page:
            browser.open(page)
            browser.evaluate(DRAWN)
            browser.evaluate(NUMBERS % before)
            printed = PdfReader(
                io.BytesIO(
                    browser.print(
                        preferCSSPageSize=True,
                        printBackground=True,
                        generateDocumentOutline=True,
                        generateTaggedPDF=True,
                    )
                )
            )
            yield page.resolve(), printed
            before += len(printed.pages)
            following = browser.evaluate("document.querySelector('link[rel=next]')?.href")
            page = following and Path(unquote(urlsplit(following).path))


def join(pages):
    writer, starts = PdfWriter(), {}
    for file, printed in pages:
        starts[file] = len(writer.pages)
        writer.append(printed)
    for page in writer.pages:
        for annotation in page.get("/Annots", ArrayObject()):
            link(writer, starts, annotation.get_object())
    writer.add_metadata({"/Title": TITLE})
    writer.root_object[NameObject("/PageMode")] = NameObject("/UseOutlines")
    writer.compress_identical_objects(remove_unreferenced=True)
    return writer


def link(writer, starts, annotation):
    """A link to a page's file becomes one to where it begins in the PDF."""
    address = urlsplit(annotation.get("/A", {}).get("/URI", ""))
    if address.scheme != "file":
        return
    del annotation["/A"]
    start = starts.get(Path(unquote(address.path)))
    if start is not None:
        annotation[NameObject("/Dest")] = ArrayObject(
            [writer.pages[start].indirect_reference, NameObject("/Fit")]
        )


def main():
    if len(sys.argv) != 3:
        sys.exit("Usage: pdf.py HTML_FOLDER FILE")
    folder, file = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    if not (folder / "index.html").exists():
        sys.exit(f"{folder}/index.html is not there. Type: make docs")
    try:
        join(print_pages(folder)).write(file)
    except (chromium.Missing, chromium.Failed) as why:
        sys.exit(f"The PDF was not made. {why}")
    print(f"PDF: {file}")


main()
