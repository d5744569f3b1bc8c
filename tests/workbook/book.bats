#!/usr/bin/env bats
# The book: it builds without a warning, and claims nothing that is not so. The environment that
# builds it is made first when it is not there.

load ../tools/helpers

setup_file() { build_book; }
setup() { need_book; }

# The pictures' own words: the description of each on a page.
descriptions() { grep -o '<desc[^>]*>[^<]*' "$BOOK/$1.html"; }

@test "make docs builds the book without a warning" {
    [ ! -e "$BOOK_FAILED" ] ||
        miss "$(cat "$BOOK_FAILED")" "${BOOK_LACKS:-$(tail -n 20 "$BOOK_OUTPUT")}"
    run grep -i warning "$BOOK_OUTPUT"
    assert_output ""
    assert_file_exists "$BOOK/index.html"
}

@test "every lesson has its page, and every page its lesson" {
    local lesson page
    assert_equal "$(basename -s .rst docs/[0-9][0-9]_*.rst)" "$(lessons)"
    for lesson in $(lessons); do
        [ -s "$BOOK/$lesson.html" ] || complain "$lesson.html was not built."
        grep -q "href=\"$lesson.html\"" "$BOOK/index.html" ||
            complain "The index does not name $lesson."
        grep -qE "^\| ${lesson%%_*} \| \[.*\]\(lessons/$lesson.c\) \| .* \|$" README.md ||
            complain "README.md lacks the row of lessons/$lesson.c in its table of lessons."
        grep -qx "   \* - :doc:.$lesson." docs/index.rst ||
            complain "docs/index.rst lacks the row of $lesson in its table of lessons."
        grep -qx "   $lesson" docs/index.rst ||
            complain "docs/index.rst lacks $lesson in its toctree."
        page=$(sed -n 's|.*page *docs/\([0-9a-z_]*\).*|\1|p' "lessons/$lesson.c")
        [ "$page" = "$lesson" ] || complain "lessons/$lesson.c names the page \"$page\"."
    done
    for page in index model getting_started api production platforms your_program sources \
        simulator driver_notes real_devices teaching \
        contributing glossary; do
        [ -s "$BOOK/$page.html" ] || complain "$page.html was not built."
    done
    finish
}

@test "every page of a lesson has all its parts" {
    local lesson part parts
    parts=(Predict Run Look 'Your work' Check Solution Traps)
    parts+=('The documentation and the driver' Make)
    for lesson in $(lessons); do
        for part in "${parts[@]}"; do
            grep -q "^<h2>$part<a" "$BOOK/$lesson.html" || complain "$lesson has no part \"$part\"."
        done
        [ "$(grep -c '^\.\. dropdown:: Hint' "docs/$lesson.rst")" -ge 2 ] ||
            complain "$lesson has fewer than two hints."
        grep -q '<details' "$BOOK/$lesson.html" || complain "$lesson folds nothing."
        grep -q "^.*+++ solutions/$lesson.c" <(sed 's/<[^>]*>//g' "$BOOK/$lesson.html") ||
            complain "$lesson does not show its solution as a difference."
        grep -q 'href="https://github.com' "$BOOK/$lesson.html" ||
            complain "No trap of $lesson has a source."
    done
    finish
}

@test "every file that a page names is there" {
    local path named='(^|[^/A-Za-z0-9._-])(lessons|solutions|simulator|tests|docs)/'
    named+='[A-Za-z0-9_./-]*[A-Za-z0-9_]'
    while read -r path; do
        [ -e "$path" ] || [ -e "$path.c" ] ||
            complain "$path is not there: $(grep -l "$path" docs/*.rst | tr '\n' ' ')names it."
    done < <(grep -ohE "$named" docs/*.rst | sed -E 's/^[^a-z]//' | sort -u)
    finish
}

@test "every picture has a title and a description, with the figures of the run" {
    local lesson figure words pictures
    for lesson in $(lessons); do
        words=$(descriptions "$lesson")
        [ -n "$words" ] || complain "$lesson has no picture."
        pictures=$(grep -o '<svg[^>]*role="img"' "$BOOK/$lesson.html" | wc -l)
        [ "$pictures" = "$(grep -o '<title id=' "$BOOK/$lesson.html" | wc -l)" ] ||
            complain "A picture of $lesson has no title."
        while read -r figure; do
            grep -q "reserved ${figure}[;.]" <<<"$words" ||
                complain "No picture of $lesson shows $figure MiB reserved, as it printed."
        done < <(grep -oE '(reserved|measured) +[0-9]+ MiB' "tests/lessons/expected/$lesson.txt" |
            awk '$2 { print $2 }' | sort -un)
    done
    grep -q 'used 257, reserved 288;' <<<"$(descriptions 08_statistics)" ||
        complain "The picture of 08_statistics lacks 257 MiB used, 288 reserved."
    grep -q 'cudaStreamQuery: cudaErrorNotReady' <<<"$(descriptions 01_first_allocation)" ||
        complain "The picture of 01_first_allocation lacks the query's result."
    finish
}

@test "the page about one's own program shows the report that its program gives" {
    local line page run
    page=$(sed 's/<[^>]*>//g; s/&quot;/"/g; s/&gt;/>/g; s/&lt;/</g; s/&amp;/\&/g' \
        "$BOOK/your_program.html")
    run=$(LD_LIBRARY_PATH=build/simulator build/simulator/docs/programs/your_program_wrong 2>&1) ||
        true
    [ "$(grep -c '^hazard: ' <<<"$run")" = 2 ] || complain "It is not reported twice:" "$run"
    while IFS= read -r line; do
        grep -qxF -- "$line" <<<"$page" || complain "The page lacks: $line"
    done <<<"$run"
    finish
}

@test "the pages name no place of this machine and load nothing from elsewhere" {
    run grep -rlF --include='*.html' "$ROOT/" "$BOOK"
    assert_output ""
    run grep -rlE --include='*.html' '<(script|link|img)[^>]* (src|href)="(https?:)?//' "$BOOK"
    assert_output ""
}

# bats test_tags=long
@test "a recording that differs from the run ends the build" {
    local copy=$BATS_TEST_TMPDIR/copy
    workbook_copy "$copy"
    cp -a conf.py docs "$copy"
    cd "$copy" || return 1
    rm docs/[0-9][0-9]_[!f]*.rst                 # one page is enough
    printf '%s\n' Book ==== '' '.. toctree::' '' '   01_first_allocation' >docs/index.rst
    rm -r docs/simulator.rst docs/driver_notes.rst docs/notes docs/getting_started.rst
    rm docs/clinic.rst
    sed -i '4s/cudaSuccess/cudaErrorNotReady/' tests/lessons/expected/01_first_allocation.txt
    run as_typed "$ROOT/build/venv/bin/python3" -B -m sphinx -q -W -n -c . docs html
    assert_failure
    assert_output --partial "tests/lessons/expected/01_first_allocation.txt"
    assert_output --partial \
        "-synchronized     42 in 2097152 of 2097152 elements   stream cudaErrorNotReady"
}

@test "README's table of costs has the recorded figures" {
    local row
    while IFS= read -r row; do
        grep -qxF "$row" README.md || complain "README.md lacks the recorded row: $row"
    done < <(PYTHONPATH=docs/extensions build/venv/bin/python -B -c '
import calls
for cells in calls.costs():
    print("| " + " | ".join(cells).replace("``", "`") + " |")')
    finish
}
