#!/usr/bin/env bats
# The finished book: its pages in a real browser (tests/tools/browser.py looks at them once, for all
# tests here), the EPUB, the PDF, and what a public address adds.

# bats file_tags=long
load ../tools/helpers

setup_file() {
    build_book
    [ ! -e "$BOOK_FAILED" ] || return 0
    export FAULTS=$BATS_FILE_TMPDIR/faults
    if ! as_typed tests/tools/setup.sh book >"$BATS_FILE_TMPDIR/setup" 2>&1; then
        BROWSER_LACKS=$(tail -n 1 "$BATS_FILE_TMPDIR/setup" | cut -c 1-300)
        export BROWSER_LACKS
    fi
}

setup() {
    need_book
    [ ! -e "$BOOK_FAILED" ] || skip "the book was not built: see tests/workbook/book.bats"
    [ -z "${BROWSER_LACKS:-}" ] || skip "the browser or epubcheck is missing: $BROWSER_LACKS"
}

# expect_no CHECK...: none of these checks found a fault in the pass, which the first test makes
expect_no() {
    local check found
    [ -e "$FAULTS" ] || as_typed build/venv/bin/python3 -B tests/tools/browser.py "$BOOK" \
        >"$FAULTS" 2>"$FAULTS.errors" || true
    [ ! -s "$FAULTS.errors" ] || miss "The pass did not end:" "$(tail -n 3 "$FAULTS.errors")"
    for check; do
        found=$(grep "^$check: " "$FAULTS") || continue
        complain "$(wc -l <<<"$found") faults of $check:" "$(head -n 20 <<<"$found")"
    done
    finish
}

@test "every page opens without an error, loads nothing from elsewhere, and has at most 350 KB" {
    expect_no opened console weight
}

@test "no page scrolls sideways, at 390, 768 and 1400 pixels, light and dark, http and file" {
    expect_no layout
}

@test "no picture scrolls sideways; its words and lines are large and dark enough" {
    expect_no pictures
}

@test "axe finds nothing serious or critical, contrast included" {
    expect_no axe
}

@test "the keyboard reaches and leaves everything, shows where it is, and arrows stay on the page" {
    expect_no keyboard
}

@test "on paper every fold and tab is open, and nothing is cut off" {
    expect_no paper
}

@test "every page has one title, a description, an icon and one viewport" {
    expect_no head
}

@test "words of the glossary show their meaning on hover and focus" {
    expect_no tips
    grep -q 'aria-describedby="tip-' "$BOOK/06_release_threshold.html" ||
        miss "06_release_threshold has no word with a meaning."
}

@test "the browser's checks report what is wrong" {
    local folder=$BATS_TEST_TMPDIR/html page expected
    mkdir "$folder"
    cp -a "$BOOK/_static" "$folder"
    cp "$BOOK/index.html" "$folder/06_release_threshold.html"
    page=$folder/06_release_threshold.html
    cat >>"$page" <<'END'
<style>
@media print { details.late::details-content { content-visibility: hidden } }
</style>
<script>
document.querySelector("article").insertAdjacentHTML("beforeend", `
    <h1>Second</h1>
    <div style="width: 2000px">wide</div>
    <p style="color: #999; background: #fff">pale</p>
    <img src="missing.png">
    <button class="unseen" style="outline: none; box-shadow: none">unseen</button>
    <pre class="stuck" style="white-space: pre; overflow: auto">${"long ".repeat(200)}</pre>
    <details class="late"><summary>Fold</summary><p>inside</p></details>
    <div class="picture"><svg role="img" width="300" height="40"><title>pale picture</title>
        <rect width="300" height="40" fill="#fff" /><text y="20" fill="#ccc">pale word</text>
        <text x="100" y="20" font-size="5" style="font-size: 5px">small</text>
        <path d="M0 30H200" stroke="#ddd" fill="none" /></svg></div>
    <a href="#" aria-describedby="tip-none">no meaning</a>`);
document.addEventListener("keydown", (event) => {
    if (event.key === "ArrowRight") location.hash = "away";
});
addEventListener("load", () => { document.querySelector(".stuck").tabIndex = -1; });
throw new Error("a script fails");
</script>
END
    cp "$page" "$folder/index.html"
    run as_typed build/venv/bin/python3 -B tests/tools/browser.py "$folder" 06_release_threshold
    assert_failure 1
    for expected in 'layout: .*pixels wide' 'axe: .*color-contrast' 'axe: .*image-alt' \
        'console: .*a script fails' 'console: .*missing.png' 'head: .*2 headings' \
        'keyboard: .*no outline' 'keyboard: .*the Tab key does not come to it' \
        'keyboard: .*opens another page' 'paper: .*a fold is not printed' \
        'pictures: .*words have a contrast' 'pictures: .*words are' \
        'pictures: .*a line has a contrast'; do
        grep -qE "^$expected" <<<"$output" || complain "Not reported: $expected"
    done
    finish
}

@test "the EPUB has every page, and epubcheck finds nothing" {
    local out=$BATS_TEST_TMPDIR/epub
    run as_typed build/venv/bin/python3 -B -m sphinx -q -W -n -c . -d build/docs/doctrees \
        -b epub docs "$out"
    assert_success
    run java -jar "$(type -P epubcheck)" "$out/cuda-memory-pools.epub"
    assert_success
    run unzip -l "$out/cuda-memory-pools.epub"
    assert_output --partial "20_capstone.xhtml"
}

@test "the PDF has every lesson as a bookmark, numbers, and no path of this machine" {
    local pdf=$BATS_TEST_TMPDIR/book.pdf
    run as_typed build/venv/bin/python3 -B docs/extensions/pdf.py "$BOOK" "$pdf"
    assert_success
    run build/venv/bin/python3 -B - "$pdf" <<'END'
import sys
from pypdf import PdfReader

book = PdfReader(sys.argv[1])
for mark in book.outline:
    if not isinstance(mark, list):
        print(mark.title)
last = book.pages[-1].extract_text().split()
print("last number:", str(len(book.pages)) in last)
uris = [
    annotation.get_object().get("/A", {}).get("/URI", "")
    for page in book.pages
    for annotation in page.get("/Annots", [])
]
print("paths:", [uri for uri in uris if uri.startswith("file:")])
END
    assert_success
    assert_line "last number: True"
    assert_line "paths: []"
    [ "$(grep -cE '^ ?[0-2][0-9] ' <<<"$output")" = 20 ] || miss "Bookmarks:" "$output"
}

@test "without Chromium make pdf fails with a sentence" {
    run env -i PATH="$BATS_TEST_TMPDIR" "$ROOT/build/venv/bin/python3" -B docs/extensions/pdf.py \
        "$BOOK" "$BATS_TEST_TMPDIR/book.pdf"
    assert_failure 1
    assert_output --partial "The PDF was not made. Chromium was not found"
    assert_output --partial "apt-get install chromium"
}

@test "a public address adds links, a preview card and a sitemap; without one there is none" {
    local copy=$BATS_TEST_TMPDIR/copy page
    page=$copy/html/index.html
    run grep -lE 'og:|canonical|Edit this page' -r "$BOOK" --include='*.html'
    assert_output ""
    assert_file_exists "$BOOK/.nojekyll"
    assert_file_not_exists "$BOOK/sitemap.xml"
    assert_file_not_exists "$BOOK/.doctrees"

    workbook_copy "$copy"
    cp -a conf.py "$copy"
    mkdir "$copy/docs"
    cp -a docs/{404.rst,_static,extensions,glossary.rst,pictures} "$copy/docs"
    cd "$copy" || return 1
    sed -i '/:doc:/d' docs/glossary.rst
    printf '%s\n' Book ==== '' 'A :term:`pool`.' '' '.. toctree::' '' '   glossary' >docs/index.rst
    run as_typed BOOK_ADDRESS=https://book.example/pools BOOK_REPOSITORY=https://github.com/a/b \
        "$ROOT/build/venv/bin/python3" -B -m sphinx -q -W -c . docs html
    assert_success
    assert_output ""
    grep -q 'rel="canonical" href="https://book.example/pools/index.html"' "$page" ||
        complain "No canonical address."
    grep -q 'property="og:image" content="https://book.example/pools/_static/card.png"' "$page" ||
        complain "No preview card is named."
    grep -q 'href="https://github.com/a/b/edit/main/docs/index.rst"' "$page" ||
        complain "No link to change the page."
    grep -q '<loc>https://book.example/pools/glossary.html</loc>' html/sitemap.xml ||
        complain "The sitemap lacks a page."
    ! grep -q 404 html/sitemap.xml || complain "The sitemap has the page of a wrong address."
    grep -q '<base href="https://book.example/pools/">' html/404.html ||
        complain "The page of a wrong address does not name the book's."
    file html/_static/card.png | grep -q '1200 x 630' || complain "The card is no such picture."
    finish
    run as_typed BOOK_ADDRESS=book.example "$ROOT/build/venv/bin/python3" -B -m sphinx -q -c . \
        docs html
    assert_failure
    assert_output --partial 'BOOK_ADDRESS is "book.example"; it must begin with https://'
}

@test "the workflow that publishes the book is a valid one" {
    run build/venv/bin/check-jsonschema --builtin-schema vendor.github-workflows \
        .github/workflows/book.yml
    assert_success
}
