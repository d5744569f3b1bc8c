"""The book as one PDF: pdf.py HTML_FOLDER FILE.

In Chromium pdf.js makes one document of all pages, with the style of pdf.css. Printed, it has tags
for screen readers, the headings as bookmarks, links that stay in the book, and numbered pages. Exit
status 1, with a sentence: there is no book, or no Chromium.
"""

import json
import sys
from pathlib import Path

from . import chromium
from .how_far import HowFar

TITLE = "CUDA memory pools, a workbook in C"
JOIN, STYLE = (
    Path(__file__).with_suffix(suffix).read_text(encoding="utf-8") for suffix in (".js", ".css")
)
OPTIONS = {
    "preferCSSPageSize": True,
    "printBackground": True,
    "generateDocumentOutline": True,
    "generateTaggedPDF": True,
}


def printed(folder):
    with HowFar("Chromium makes the PDF"), chromium.Browser() as browser:
        browser.open(folder / "index.html")
        browser.evaluate(f"{JOIN}({json.dumps(TITLE)}, {json.dumps(STYLE)})")
        return browser.print(**OPTIONS)


def main():
    if len(sys.argv) != 3:
        sys.exit("Usage: pdf.py HTML_FOLDER FILE")
    folder, file = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    if not (folder / "index.html").exists():
        sys.exit(f"{folder}/index.html is not there. Type: make docs")
    try:
        file.write_bytes(printed(folder))
    except chromium.Missing as why:
        sys.exit(f"No PDF: {why}")
    except chromium.Failed as why:
        sys.exit(f"The PDF was not made. {why}")
    print(f"PDF: {file}")


main()
