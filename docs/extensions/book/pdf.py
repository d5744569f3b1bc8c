"""The book as one PDF: pdf.py HTML_FOLDER FILE.

In Chromium pdf.js makes one document of all pages, with the style of pdf.css. Printed, it has tags
for screen readers, the headings as bookmarks, links that stay in the book, and numbered pages. It
is printed twice: where a chapter begins is known from the first time, and stands in the contents of
the second. Chromium compresses no object that is not a stream, which are 10 of 17 MB: here they get
into streams. The same pages make the same bytes: the time of printing is left out, and the names of
tables' cells, which Chromium counts differently each time, are counted anew.
Exit status 1, with a sentence: there is no book, or no Chromium.
"""

import json
import re
import struct
import sys
import zlib
from io import BytesIO
from pathlib import Path

from pypdf import PdfReader

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


# Puts the pages' numbers into the contents.
NUMBER = """(pages) => {
    for (const link of document.querySelectorAll("#contents a"))
        link.lastChild.textContent = pages[link.hash.slice(1)] || "";
}"""
IN_STREAM = 500  # objects


def printed(folder):
    with HowFar("Chromium makes the PDF"), chromium.Browser() as browser:
        browser.open(folder / "index.html")
        browser.evaluate(f"{JOIN}({json.dumps(TITLE)}, {json.dumps(STYLE)})")
        book = PdfReader(BytesIO(browser.print(**OPTIONS)))
        begins = {
            name.lstrip("/"): book.get_destination_page_number(place) + 1
            for name, place in book.named_destinations.items()
        }
        browser.evaluate(f"({NUMBER})({json.dumps(begins)})")
        return Objects(browser.print(**OPTIONS)).packed()


class Objects:
    """The objects of a PDF, as Chromium writes it: with one table, and none that was replaced."""

    def __init__(self, pdf):
        start = int(re.search(rb"startxref\s+(\d+)", pdf[-40:])[1])
        table = pdf[start:]
        places = sorted(int(place) for place in re.findall(rb"(\d{10}) 00000 n", table))
        parts = (pdf[begin:end] for begin, end in zip(places, [*places[1:], start]))
        found = (re.match(rb"(\d+) 0 obj\n(.*)\nendobj\s*$", part, re.S) for part in parts)
        self.bodies = {int(one[1]): one[2] for one in found}
        plain = {n: body for n, body in self.bodies.items() if not body.endswith(b"endstream")}
        cell = re.compile(rb"\(node\d+\)")
        cells = sorted({name for body in plain.values() for name in cell.findall(body)})
        counted = {name: b"(node%08d)" % number for number, name in enumerate(cells)}
        for number, body in plain.items():
            self.bodies[number] = cell.sub(lambda name: counted[name[0]], body)
        self.root, self.info = (
            int(re.search(rb"/%s (\d+) 0 R" % key, table)[1]) for key in (b"Root", b"Info")
        )
        self.bodies[self.info] = re.sub(rb"\n/\w+Date \([^)]*\)", b"", self.bodies[self.info])

    def packed(self):
        """The PDF with its objects in streams (PDF 1.5)."""
        pdf, rows = bytearray(b"%PDF-1.5\n%\xd3\xeb\xe9\xe1\n"), {0: (0, 0, 65535)}

        def put(number, body):
            rows[number] = (1, len(pdf), 0)
            pdf.extend(b"%d 0 obj\n%s\nendobj\n" % (number, body))

        def stream(entries, data):
            data = zlib.compress(data, 9)
            head = b"<<%s /Filter /FlateDecode /Length %d>>" % (entries, len(data))
            return head + b" stream\n" + data + b"\nendstream"

        plain = []
        for number, body in self.bodies.items():
            if body.endswith(b"endstream"):
                put(number, body)
            else:
                plain.append(number)
        new = max(self.bodies) + 1
        for first in range(0, len(plain), IN_STREAM):
            heads, bodies = b"", b""
            for place, number in enumerate(plain[first : first + IN_STREAM]):
                rows[number] = (2, new, place)
                heads += b"%d %d " % (number, len(bodies))
                bodies += self.bodies[number] + b"\n"
            count = len(plain[first : first + IN_STREAM])
            entries = b"/Type /ObjStm /N %d /First %d" % (count, len(heads))
            put(new, stream(entries, heads + bodies))
            new += 1
        start = len(pdf)
        rows[new] = (1, start, 0)
        gap = (0, 0, 65535)
        table = b"".join(struct.pack(">BIH", *rows.get(number, gap)) for number in range(new + 1))
        entries = b"/Type /XRef /W [1 4 2] /Size %d /Root %d 0 R /Info %d 0 R" % (
            new + 1,
            self.root,
            self.info,
        )
        put(new, stream(entries, table))
        return bytes(pdf + b"startxref\n%d\n%%%%EOF\n" % start)


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
