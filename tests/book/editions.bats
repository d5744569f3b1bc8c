#!/usr/bin/env bats
# What becomes of the book besides its pages: the EPUB, the PDF, a translation, what a public
# address adds, and a release.

# bats file_tags=long
load ../suite

setup_file() {
    build_book_and_tools
    export EPUB=$BATS_FILE_TMPDIR/epub/cuda-memory-pools.epub PDF=$BATS_FILE_TMPDIR/book.pdf
}
setup() { need_book_and_tools; }

# The EPUB and the PDF are made once, by the first test that needs them.
need_epub() {
    [ -e "$EPUB" ] || as_typed build/venv/bin/python3 -B -m sphinx -q -W -n -c . \
        -d build/docs/doctrees -b epub docs "${EPUB%/*}"
}
need_pdf() {
    [ -e "$PDF" ] || as_typed PYTHONPATH=docs/extensions build/venv/bin/python3 -B -m book.pdf \
        "$BOOK" "$PDF"
}

@test "the EPUB has every page and a cover, and epubcheck finds nothing" {
    need_epub
    # Its reader of styles is older than :has() and than rem in the shorthand of fonts. A reader of
    # EPUB passes over a rule that it does not know. What epubcheck says of the rest counts.
    printf '%s\tSUPPRESSED\n' CSS-008 CSS-020 >"$BATS_TEST_TMPDIR/suppressed"
    # It runs for seconds: to compile it further takes longer than it gains.
    run java -XX:TieredStopAtLevel=1 -jar "$(type -P epubcheck)" \
        --customMessages "$BATS_TEST_TMPDIR/suppressed" "$EPUB"
    assert_success
    run unzip -l "$EPUB"
    assert_output --partial "22_capstone.xhtml"
    # A shelf shows the picture that is declared as the cover.
    run unzip -p "$EPUB" content.opf
    assert_line --regexp 'href="cover\.png" media-type="image/png" properties="cover-image"'
    # Nothing folds in it: what a fold hides stands behind its chapter, and the fold links there.
    unzip -p "$EPUB" 04_release_threshold.xhtml >"$BATS_TEST_TMPDIR/04"
    assert_equal "$(grep -c '<h[23]>Hint 1<' "$BATS_TEST_TMPDIR/04")" 1
    run sed '/id="hints-and-answers"/,$d' "$BATS_TEST_TMPDIR/04"
    assert_output --partial '#hints-and-answers-1">Hint 1</a>'
    refute_output --partial '+++ solutions/'
}

@test "the cheat sheet prints on one sheet" {
    run env PYTHONPATH=docs/extensions build/venv/bin/python3 -B -c '
import re
import sys

from book import chromium

with chromium.Browser() as browser:
    browser.open(sys.argv[1])
    print(re.findall(rb"/Count (\d+)", browser.print(preferCSSPageSize=True)))' \
        "$BOOK/cheat_sheet.html"
    assert_output "[b'1']"
}

@test "the PDF has tags, bookmarks, numbers and choices, and its solutions at the end" {
    need_pdf
    run build/venv/bin/python3 -B - "$PDF" "$BOOK" <<'END'
import re
import sys
from functools import cache
from html import unescape
from pathlib import Path
from pypdf import PdfReader

book = PdfReader(sys.argv[1])
print("about:", *sorted(book.metadata))

# The text, without blanks: what Chromium writes is "/F4 10.66 Tf" for a font and "<0015> Tj" for
# glyphs, between BT and ET. pypdf's own extract_text takes far longer.
@cache
def letters(number):
    """What a glyph stands for, by its code, and how many digits a code has."""
    table = book.get_object(number)["/ToUnicode"].get_data().decode()
    space, table = table.split("endcodespacerange")
    found = {}
    for first, last, text in re.findall(r"<(\w+)> (?:<(\w+)> )?<(\w+)>\n", table):
        start = bytes.fromhex(text).decode("utf-16-be")
        for code in range(int(first, 16), int(last or first, 16) + 1):
            found[code] = start[:-1] + chr(ord(start[-1]) + code - int(first, 16))
    return found, len(re.search(r"<(\w+)>", space)[1])

def blocks(page):
    fonts = page["/Resources"].get("/Font")
    content = page.get_contents().get_data().decode("latin-1")
    text = ""
    for font, glyphs, _ in re.findall(r"(/\w+) [\d.]+ Tf|<(\w+)> Tj|^(ET)$", content, re.M):
        if font:
            known, digits = letters(fonts.raw_get(font).idnum)
        elif glyphs:
            codes = (int(glyphs[i : i + digits], 16) for i in range(0, len(glyphs), digits))
            text += "".join(known.get(code, "?") for code in codes)
        else:
            yield "".join(text.split())
            text = ""

marks = [mark for mark in book.outline if not isinstance(mark, list)]
for mark in marks:
    print(mark.title)
pages = [list(blocks(page)) for page in book.pages]
print("pages:", "few" if 150 < len(pages) <= 400 else len(pages))
print("first:", "".join(pages[0])[:40])
print("last number:", str(len(pages)) in pages[-1])
for mark in marks:  # a lesson, and the page on which the contents say it begins
    if re.match(r"\d\d ", mark.title):
        name, page = re.sub(r"\W", "", mark.title), book.get_destination_page_number(mark) + 1
        if f"{name}{page}" not in re.sub(r"\W", "", "".join(pages[1] + pages[2])):
            print(f"not in the contents: {mark.title}, {page}")
# A listing that half a page holds is on one.
texts, kept, split = ["".join(page) for page in pages], 0, []
for file in [*Path(sys.argv[2]).glob("[!4]*.html"), *Path(sys.argv[2]).glob("[cnr]*/*.html")]:
    for found in re.findall('<div class="highlight"><pre>(.*?)</pre>', file.read_text(), re.S):
        listing = "".join(unescape(re.sub("<[^>]*>", "", found)).split())
        if found.count("\n") < 44:
            kept += 1
            split += [] if any(listing in text for text in texts) else [listing[:60]]
print("listings on one page:", kept > 400, split)
root = book.trailer["/Root"]
print("tagged:", root["/MarkInfo"]["/Marked"], "/StructTreeRoot" in root, root["/Lang"])
links = [
    annotation.get_object()
    for page in book.pages
    for annotation in page.get("/Annots", [])
    if annotation.get_object()["/Subtype"] == "/Link"
]
uris = [link.get("/A", {}).get("/URI", "") for link in links]
print("paths:", [uri for uri in uris if uri.startswith("file:")])
inside = [link for link in links if "/Dest" in link or "/D" in link.get("/A", {})]
print("links in the book:", len(inside) > 999)
begin = book.get_destination_page_number(marks[-1])
before, after = ("".join(map("".join, part)) for part in (pages[:begin], pages[begin:]))
print("choices:", "(cudaSuccess,cudaErrorNotReady" in before)
print("solutions:", before.count("+++solutions/"), after.count("+++solutions/"))
links_to_hints = re.findall("Intheappendix:(?:Whatmakecheck-22asksfor,)?Hint1", before)
print("hints:", before.count("Hint1") - len(links_to_hints), after.count("Hint1"))
print("answers:", after.count("Theanswers"))
END
    assert_success
    assert_line "pages: few"
    assert_line --regexp "^first: 1?CUDAmemorypoolsaworkbookinC"
    assert_line "Contents"
    assert_line "last number: True"
    refute_line --partial "not in the contents"
    assert_line "listings on one page: True []"
    [ "$(wc -c <"$PDF")" -le $((10 * 1024 * 1024)) ] || miss "The PDF has more than 10 MB."
    assert_line "tagged: True True en"
    assert_line "about: /Creator /Producer /Title" # no time: a release has the same bytes again
    assert_line "paths: []"
    assert_line "links in the book: True"
    assert_line "choices: True"
    assert_line "Appendix: hints, checks and solutions"
    assert_line "solutions: 0 22"
    assert_line "hints: 0 22"
    assert_line --regexp "^answers: [1-9]"
    [ "$(grep -cE '^ ?[0-2][0-9] ' <<<"$output")" = 22 ] || miss "Bookmarks:" "$output"
}

@test "without Chromium make pdf fails with a sentence" {
    run env -i PATH="$BATS_TEST_TMPDIR" PYTHONPATH=docs/extensions "$ROOT/build/venv/bin/python3" \
        -B -m book.pdf \
        "$BOOK" "$BATS_TEST_TMPDIR/book.pdf"
    assert_failure 1
    assert_output --partial "No PDF: Chromium was not found."
    assert_output --partial "apt-get install chromium"
}

# in_pot LINE MESSAGE: the .pot has this message from that line of the page.
in_pot() {
    grep -qzP "\n#: \S*docs/index\.rst:$1\nmsgid \"\Q$2\E\"\n" pot/index.pot ||
        complain "The .pot lacks, from line $1: $2"
}

@test "without a public address the book has no links to itself" {
    run grep -lE 'og:|canonical|Edit this page' -r "$BOOK" --include='*.html'
    assert_output ""
    assert_file_exists "$BOOK/.nojekyll"
    assert_file_not_exists "$BOOK/sitemap.xml"
    assert_file_not_exists "$BOOK/.doctrees"
}

@test "the words of directives are translated; an address adds links, a card and a sitemap" {
    local copy=$BATS_TEST_TMPDIR/copy text build locale
    workbook_copy "$copy"
    cp -a conf.py "$copy"
    mkdir "$copy/docs"
    cp -a docs/{404.rst,{calls,synonyms}.txt,_static,extensions,fonts,glossary.rst,live} \
        "$copy/docs"
    : >"$copy/docs/symptoms.txt"   # it names pages
    cd "$copy" || return 1
    sed -Ezi 's/:(doc|ref):`[^`]*`/a page/g' docs/glossary.rst
    cat >docs/index.rst <<'PAGE'
Words
=====

.. predict:: How many MiB are left after the *free*?
   :run: solutions/04_release_threshold
   :fields:
      at once    | MiB              | ^ +0 +0 +\d+ +(\d+)
      some words | none at all=0 / a few | ^ +0 +0 .* (\d+) +\d+$
   :beliefs:
      at once = 7    | You answer as if ``cudaFree`` was called. | Is it?
      some words = a few | Nothing holds it. | What does the threshold keep?
   :why: A free returns memory to the *pool*.

.. predict:: What is its exit status?
   :run: solutions/04_release_threshold
   :kind: status
   :fields:
      | exit status (\d+)

   It ended well.

.. collected:: answers

.. picture:: memory solutions/04_release_threshold
   :case: 3
   :title: the pool keeps what was freed

   A caption says what to look at.

.. stepper:: solutions/04_release_threshold
   :name: the run of the solution

.. evidence::
   :documented: this rule, by :doc:`the glossary </glossary>`

.. toctree::

   glossary
PAGE
    build=("$ROOT/build/venv/bin/python3" -B -m sphinx -q -W -c .)
    run as_typed "${build[@]}" -b gettext docs pot
    assert_success
    in_pot 4 "How many MiB are left after the *free*?"
    in_pot 4 "at once"
    in_pot 4 "none at all"
    in_pot 4 "You answer as if \`\`cudaFree\`\` was called."
    in_pot 4 "What does the threshold keep?"
    in_pot 4 "A free returns memory to the *pool*."
    in_pot 14 "What is its exit status?"
    in_pot 22 "It ended well."
    in_pot 24 "the pool keeps what was freed"
    in_pot 28 "A caption says what to look at."
    in_pot 30 "the run of the solution"
    in_pot 33 "*Documented:* this rule, by :doc:\`the glossary </glossary>\`."
    # What the program printed is in no message.
    ! grep -q 'threshold 0' pot/index.pot || complain "The .pot has what a program printed."
    locale=docs/locale/de/LC_MESSAGES
    mkdir -p "$locale"
    printf 'msgid "%s"\nmsgstr "%s"\n\n' \
        "" 'Content-Type: text/plain; charset=UTF-8\n' \
        "How many MiB are left after the *free*?" "Wie viele MiB bleiben *danach*?" \
        "a few" "ein paar" \
        "Nothing holds it." "Nichts \`\`haelt\`\` es." \
        "A free returns memory to the *pool*." "Eine Freigabe geht an den *Pool*." \
        "It ended well." "Es endete gut." \
        "the pool keeps what was freed" "der Pool behaelt das" \
        "A caption says what to look at." "Eine Unterschrift." \
        "the run of the solution" "der Lauf der Loesung" >"$locale/index.po"
    run as_typed BOOK_ADDRESS=https://book.example/pools BOOK_REPOSITORY=https://github.com/a/b \
        "${build[@]}" -D language=de -D locale_dirs=locale docs html
    assert_success
    run grep -v '^  [0-9]* seconds: ' <<<"$output"
    assert_output ""
    for text in '>1. Wie viele MiB bleiben <em>danach</em>?</p>' \
        '<p>Eine Freigabe geht an den <em>Pool</em>.</p>' '<p>Es endete gut.</p>' \
        '(none at all, ein paar)' '&quot;value&quot;: &quot;ein paar&quot;' \
        '&quot;Nichts haelt es.&quot;' '<p class="picture-title">Der Pool behaelt das</p>' \
        '>der Pool behaelt das</title>' '<p>Eine Unterschrift.</p>' \
        '&quot;der Lauf der Loesung&quot;' \
        'rel="canonical" href="https://book.example/pools/index.html"' \
        'property="og:image" content="https://book.example/pools/_static/card.png"' \
        'href="https://github.com/a/b/edit/main/docs/index.rst"'; do
        grep -qF "$text" html/index.html || complain "The page lacks: $text"
    done
    grep -q '<loc>https://book.example/pools/glossary.html</loc>' html/sitemap.xml ||
        complain "The sitemap lacks a page."
    ! grep -q 404 html/sitemap.xml || complain "The sitemap has the page of a wrong address."
    grep -q '<base href="https://book.example/pools/">' html/404.html ||
        complain "The page of a wrong address does not name the book's."
    file html/_static/card.png | grep -q '1200 x 630' || complain "The card is no such picture."
    finish
    refused 'BOOK_ADDRESS is "book.example"; it must begin with https://' \
        BOOK_ADDRESS=book.example "${build[@]}" docs html
}

# What make release has Sphinx build was built already: the pages and the EPUB above, the students'
# pages in handout.bats. In Sphinx's place is a program that copies these.
@test "make release: book, students' copy, checksums; the same pages make the same bytes" {
    local first=$BATS_TEST_TMPDIR/first second=$BATS_TEST_TMPDIR/second name file
    local sphinx=$BATS_TEST_TMPDIR/sphinx built=build/release-docs
    need_epub
    need_pdf
    cat >"$sphinx" <<END
#!/bin/bash
echo "\${BOOK_HANDOUT:-0} \$*" >>$sphinx.calls
mkdir -p "\${!#}"
case \$* in *"-b epub"*) cp $EPUB "\${!#}" ;; *) cp -a $BOOK/. "\${!#}" ;; esac
END
    chmod +x "$sphinx"
    run as_typed make -n release OUT="$first"
    assert_line --partial "-m book.pdf $built/html $built/cuda-memory-pools.pdf"
    mkdir -p $built/{html,handout}
    touch $built/{html,handout}/of_an_earlier_build.html
    run as_typed make release OUT="$first" SPHINX="$sphinx" \
        PDF="cp $PDF $built/cuda-memory-pools.pdf"
    assert_success
    assert_equal "$(<"$sphinx.calls")" "0 -E docs $built/html
1 -d $built/handout-doctrees -E docs $built/handout
0 -b epub docs $built/epub"
    name=cuda-memory-pools-$(sed -n 's/^version: "\(.*\)"/\1/p' CITATION.cff)
    run ls "$first"
    assert_output "SHA256SUMS"$'\n'"book"$'\n'"$name-book.zip"$'\n'"$name-students.zip"$'\n'\
"release.md"
    (cd "$first" && sha256sum --quiet --check SHA256SUMS) || complain "A checksum is wrong."
    for file in index.html 22_capstone.html cuda-memory-pools.epub cuda-memory-pools.pdf; do
        assert_file_exists "$first/book/$file"
    done
    assert_file_not_exists "$first/book/of_an_earlier_build.html"
    assert_equal "$(head -n 1 "$first/release.md")" \
        "$(sed -n '/^## /,$p' CHANGES.md | sed -n '3p')"
    mkdir "$BATS_TEST_TMPDIR/unpacked"
    (cd "$BATS_TEST_TMPDIR/unpacked" && unzip -q "$first/$name-book.zip" &&
        unzip -q "$first/$name-students.zip")
    diff -r "$first/book" "$BATS_TEST_TMPDIR/unpacked/$name-book" ||
        complain "The archive of the book differs from the folder."
    assert_file_exists "$BATS_TEST_TMPDIR/unpacked/$name-students/book/index.html"
    assert_file_not_exists "$BATS_TEST_TMPDIR/unpacked/$name-students/book/of_an_earlier_build.html"
    # Nothing in it names the folder in which it was made.
    run grep -rlaF "$ROOT" "$BATS_TEST_TMPDIR/unpacked"
    assert_output ""
    # The same pages make the same bytes. (That a run of threads or processes is the same in each
    # build is tested in book.bats.)
    run as_typed SOURCE_DATE_EPOCH="$(git log -1 --format=%ct)" python3 -B tools/packages.py \
        release build/release-docs "$second"
    assert_success
    diff -r "$first" "$second" || complain "The same pages have other bytes."
    run as_typed TAG=v0 python3 -B tools/packages.py release build/release-docs "$second"
    assert_failure 1
    assert_output --partial "The tag is v0, and the version in CITATION.cff"
    mkdir "$BATS_TEST_TMPDIR/other"
    run as_typed python3 -B tools/packages.py release build/release-docs "$BATS_TEST_TMPDIR/other"
    assert_failure 1
    assert_output --partial "this folder is no release, and stays as it is"
    finish
}
