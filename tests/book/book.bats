#!/usr/bin/env bats
# The book: it builds without a warning, and claims nothing that is not so. The environment that
# builds it is made first when it is not there. What the sources alone show is in pages.bats.

# bats file_tags=long

load ../suite

setup_file() { build_book; }
setup() { [[ $BATS_TEST_DESCRIPTION == "make docs builds"* ]] || need_book; }

# What the pictures of a page show, as the tables below them: a row a line, a bar between its cells.
picture_rows() {
    grep -o '<details class="picture-rows">.*</details>' "$BOOK/$1.html" |
        sed 's|</tr>|\n|g; s|</t[dh]>|\||g; s|<[^>]*>||g'
}

@test "make docs builds the book without a warning" {
    [ -e "$BOOK_FAILED" ] || need_book
    [ ! -e "$BOOK_FAILED" ] ||
        miss "$(cat "$BOOK_FAILED")" "${BOOK_LACKS:-$(tail -n 20 "$BOOK_OUTPUT")}"
    run grep -i warning "$BOOK_OUTPUT"
    assert_output ""
    assert_file_exists "$BOOK/index.html"
}

@test "README.md shows the days that were run while the book was built" {
    diff docs/days.svg build/docs/days.svg ||
        complain "The days are others now. To take the new picture: cp build/docs/days.svg docs/"
    grep -oP '(?<=class="count">)[0-9]+' docs/days.svg >"$BATS_TEST_TMPDIR/counts"
    assert_equal "$(grep -oP '^!\[300 days.*' README.md | grep -oE '[0-9]+' | tail -n 4)" \
        "$(cat "$BATS_TEST_TMPDIR/counts")"
    finish
}

@test "every page of a lesson has hints, a rule, its solution as a difference, and questions" {
    local lesson
    for lesson in $(lessons); do
        [ "$(grep -c '^\.\. dropdown:: Hint' "docs/$lesson.rst")" -ge 2 ] ||
            complain "$lesson has fewer than two hints."
        grep -q "^.*+++ solutions/$lesson.c" <(sed 's/<[^>]*>//g' "$BOOK/$lesson.html") ||
            complain "$lesson does not show its solution as a difference."
        grep -q "check-${lesson%%_*}" "$BOOK/$lesson.html" ||
            complain "$lesson does not say how one knows that it is done."
        grep -qE '^ *\.\. source:: (difference|solution)' "docs/$lesson.rst" ||
            complain "$lesson does not show what its solution changes."
        grep -qE 'data-name="(predict|closing)-' "$BOOK/$lesson.html" ||
            complain "$lesson asks nothing."
        ! grep -q 'data-name="closing-' "$BOOK/$lesson.html" ||
            [ "$(grep -c '^\.\. collected:: answers' "docs/$lesson.rst")" = 1 ] ||
            complain "$lesson does not answer its closing questions."
    done
    finish
}

# The text of a page of HTML, without its tags.
text_of() {
    sed 's/<[^>]*>//g; s/&quot;/"/g; s/&#39;/'"'"'/g; s/&gt;/>/g; s/&lt;/</g; s/&amp;/\&/g' "$@"
}

# Lesson 08 shows a first report. What a report advises there is the exercise.
@test "a page shows the first report of its starter without what it advises" {
    local shown
    shown=$(sed -n '/<section id="a-day-with-less-luck">/,/<\/section>/p' \
        "$BOOK/08_stream_order.html" | text_of)
    [ "$(grep -c '^hazard: ' <<<"$shown")" = 1 ] || complain "Not one report:" "$shown"
    [[ $shown != *"To do:"* ]] || complain "It shows what is to be done:" "$shown"
    finish
}

@test "a line that a report names is a link to that line of the program's listing" {
    local page file line href shown source links=0
    while IFS=: read -r page href; do
        href=${href#*href=\"}
        href=${href%%\"*}
        file=$(dirname "$page")/${href%%#*}
        line=${href##*#L}
        [ -e "$file" ] || { complain "$page links $href, which was not built."; continue; }
        shown=$(grep -m 1 "id=\"L$line\"" "$file" | sed 's/.*id="L/<span id="L/' | text_of)
        source=$(readlink -m "$file")
        source=${source#"$BOOK/listings/"}
        source=${source%.html}
        [ -e "$source" ] || source=$source.c
        [ -e "$source" ] || source=build/$source
        [ "$shown" = "$line$(sed -n "${line}p" "$source")" ] ||
            complain "$file: line $line is not that of $source:" "$shown"
        links=$((links + 1))
    done < <(cd "$BOOK" && grep -oE 'class="line-link" href="[^"]*"' [0-9]*.html clinic/*.html |
        sort -u | sed "s|^|$BOOK/|")
    [ "$links" -gt 40 ] || complain "Only $links lines are links."
    # Reports name no other lines.
    ! grep -hv 'data-question=' "$BOOK"/[0-9]*.html |
        grep -oE '[^/a-z>](lessons|solutions|docs/[a-z]+)/[0-9a-z_]+\.c:[0-9]+' ||
        complain "This names a line and is no link."
    finish
}

@test "a few lines of a recording are a table that links to their place in it, and many a fold" {
    local page href file place links=0
    while IFS=: read -r page href; do
        file=$(dirname "$page")/${href%%#*}
        place=${href##*#}
        grep -q "id=\"$place\"" "$file" || complain "$page links $href, which is not there."
        links=$((links + 1))
    done < <(cd "$BOOK" && grep -oE '<p class="recorded"[^>]*>[0-9]+ lines? of <a [^>]*>' \
        notes/*.html driver_notes.html | sed -E "s|^([^:]*):.* href=\"([^\"]*)\".*|$BOOK/\1:\2|")
    [ "$links" -gt 50 ] || complain "Only $links tables link to their recording."
    # Case 1 of danger.txt begins in line 7.
    [ "$(sed -n 7p simulator/tests/facts/danger.txt)" = "== 1" ]
    grep -q 'facts/danger.txt.html#L7"' "$BOOK/notes/errors.html" ||
        complain "The double free links to another line."
    # No lines are shown twice: a fold has more than a table takes.
    run awk '/<details class="recorded"[ >]/ {
        match($0, /[0-9]+ lines? of/)
        if (substr($0, RSTART) + 0 <= 10) print FILENAME ": " $0
    }' "$BOOK"/notes/*.html
    assert_output ""
    finish
}

@test "the rows of a recording's table are its lines, without how a process ended well" {
    run env PYTHONPATH=docs/extensions build/venv/bin/python -B -c '
from book.recording import SMALL, in_mib, rows_of, small, split_line
print(small(["== one", "cudaFree(a)   -> cudaSuccess", "end", "rc 0"]))
print(small(["== one", "rc 139", "== two", "[import] end", "rc 1"]))
print(small(["line"] * SMALL) != [], small(["line"] * (SMALL + 1)))
for line in (
    "cudaFree(a)      -> cudaSuccess  (last error cudaSuccess)",
    "cudaFree(a)      does not wait  cudaSuccess",
    "cudaMalloc of 1 MiB      median      9.986 us, of 20",
    "67108864 bytes: 3 rounds",
):
    print(" | ".join(map(in_mib, split_line(line))))
print(rows_of(["a: reserved 32 used 1", "b: reserved 64 used 2"]))'
    assert_success
    assert_output - <<'END'
['cudaFree(a)   -> cudaSuccess']
['== one', 'rc 139', '== two', 'rc 1']
True []
cudaFree(a) | cudaSuccess  (last error cudaSuccess)
cudaFree(a) | does not wait, cudaSuccess
cudaMalloc of 1 MiB | median 9.986 us, of 20
64 MiB | 3 rounds
(['the program', 'reserved', 'used'], [['a', '32', '1'], ['b', '64', '2']])
END
}

@test "the answer of a field is what its run printed, and a field without one ends the build" {
    run env PYTHONPATH=docs/extensions build/venv/bin/python -B - <<'PYTHON'
from book import predict

RUN = "solutions/04_release_threshold"
for kind, expression, *run in (
    ("MiB", r"^ +48 +0 .* (\d+) +\d+$", RUN),
    ("MiB", r"^ +256 +0 .* (\d+) +\d+$", RUN, "40"),
    ("all=12 of 12 / some", "predictions +(.*)", RUN),
    ("a hazard=hazard / nothing=", "^(hazard)", RUN),
    ("rows", r"^ +\d+ +128 ", RUN),
    ("status", r"^exit status (\d+)", RUN),
    ("copies", r"after (\d+) copies", "tests/lessons/18_pinned_transfers/expected/output.8.txt"),
    ("MiB", r"^ +49 +0 .* (\d+)$", RUN),
    ("all / some", "predictions +(.*)", RUN),
    ("MiB", "predictions +(.*)", RUN),
):
    try:
        print(predict.read_field("", kind, expression, run)[0]["answer"])
    except ValueError as error:
        print("no answer:", str(error).splitlines()[0])
PYTHON
    assert_output - <<'END'
32
64
all
nothing
2
0
4
no answer: make solution-04 printed nothing that is an answer:
no answer: "12 of 12" is none of the choices
no answer: "12 of 12" is no number
END
}

# how_many TEXT PART: so many times the part is in the text
how_many() { grep -o "$2" <<<"$1" | wc -l; }

@test "every picture has its point as title, its forms, and a table with the run's figures" {
    local lesson figure rows page part pictures paired
    for lesson in $(lessons); do
        rows=$(picture_rows "$lesson")
        [ -n "$rows" ] || complain "$lesson has no picture."
        page=$(grep -o '<div class="picture.*' "$BOOK/$lesson.html")
        pictures=$(how_many "$page" '<div class="picture[ "]')
        paired=$(how_many "$page" 'class="paired"')
        for part in 'class="wide"' 'class="narrow"'; do
            [ "$(how_many "$page" "$part")" = $((pictures - paired)) ] ||
                complain "$lesson has $pictures pictures, and not as many times $part."
        done
        [ "$(how_many "$page" 'class="picture-rows"')" = "$pictures" ] ||
            complain "$lesson has $pictures pictures, and not as many tables."
        [ "$paired" = $((2 * $(how_many "$page" 'class="picture-pair '))) ] ||
            complain "$lesson has $paired pictures in pairs."
        for part in '<title id=' '<desc id=' 'aria-labelledby=' 'aria-describedby='; do
            [ "$(how_many "$page" "$part")" = $((2 * pictures - paired)) ] ||
                complain "$lesson: a form of a picture lacks $part."
        done
        # Its pictures are of the order, or of a program with other sizes.
        [[ ! $lesson =~ ^(13_threads|03_custom_pool)$ ]] || continue
        while read -r figure; do
            grep -qE "\|${figure}\|([^|]+\|)?$" <<<"$rows" ||
                complain "No picture of $lesson shows $figure MiB reserved, as it printed."
        done < <(grep -oE '(reserved|measured) +[0-9]+ MiB' \
            "tests/lessons/$lesson/expected/output.txt" |
            awk '$2 { print $2 }' | sort -un)
    done
    grep -qF '|257|257|288|288|' <<<"$(picture_rows 07_statistics)" ||
        complain "The picture of 07_statistics lacks 257 MiB used, 288 reserved."
    grep -q 'cudaStreamQuery: cudaErrorNotReady' <<<"$(picture_rows 01_first_allocation)" ||
        complain "The picture of 01_first_allocation lacks the query's result."
    for page in 18_pinned_transfers 05_cost; do
        grep -q 'Time runs to the right, to scale.' "$BOOK/$page.html" ||
            complain "$page has no picture that is to scale."
    done
    for page in 10_reuse_events 11_reuse_opportunistic; do
        grep -q 'class="picture-pair ' "$BOOK/$page.html" ||
            complain "$page has no pair of pictures side by side."
    done
    finish
}

@test "the page about one's own program shows the report that its program gives" {
    local line page run
    page=$(text_of "$BOOK/your_program.html")
    run=$(LD_LIBRARY_PATH=build/simulator build/simulator/docs/programs/your_program 2>&1) ||
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

@test "a recording that differs from the run ends the build" {
    local copy=$BATS_TEST_TMPDIR/copy
    workbook_copy "$copy"
    cp -a conf.py docs "$copy"
    cd "$copy" || return 1
    rm docs/[0-9][0-9]_[!f]*.rst                 # one page is enough
    printf '%s\n' Book ==== '' '.. toctree::' '' '   01_first_allocation' >docs/index.rst
    rm docs/{simulator*,driver_notes,getting_started,clinic}.rst docs/{clinic,notes}/*.rst
    sed -i '4s/cudaSuccess/cudaErrorNotReady/' tests/lessons/01_first_allocation/expected/output.txt
    run as_typed "$ROOT/build/venv/bin/python3" -B -m sphinx -q -W -n -c . docs html
    assert_failure
    assert_output --partial "tests/lessons/01_first_allocation/expected/output.txt"
    assert_output --partial \
        "-synchronized     42 in 2097152 of 2097152 elements   stream cudaErrorNotReady"
}

# Each step waits for two lines, of which the first may have been begun before it.
@test "a build of the book that takes long says how far it is, and a quick one nothing" {
    local copy=$BATS_TEST_TMPDIR/copy page line
    mkdir -p "$copy/docs"
    cd "$copy" || return 1
    for page in index two three; do printf '%s\n' Page ==== '' >docs/$page.rst; done
    printf '%s\n' '.. toctree::' '' '   two' '   three' >>docs/index.rst
    cat >conf.py <<END
import sys, time
from pathlib import Path
sys.path.insert(0, "$ROOT/docs/extensions")
from book import how_far, runs
how_far.EVERY = 0.05
extensions = ["book.how_far"]
html_theme = "basic"
runs.TO_COMPILE = [Path("conf.py"), Path("not_yet"), Path("nor_this")]
asked, ends = [], time.monotonic() + 60
what = how_far.OfBook.what
how_far.OfBook.what = lambda self: (asked.append(1), what(self))[1]
def wait(*_):
    enough = len(asked) + 2
    while len(asked) < enough and time.monotonic() < ends:
        time.sleep(0.01)
def setup(app):
    for event in "env-before-read-docs", "source-read", "doctree-resolved":
        app.connect(event, wait)
END
    accepted "$ROOT/build/venv/bin/python3" -B -m sphinx -q -W -n -c . docs html
    for line in "compiling the programs of the pages, 1 of 3 are there" \
        {reading,writing}" page "{1,2,3}" of 3"; do
        assert_line --regexp "^  [0-9]+ seconds: $line\$"
    done
    sed -i 's/EVERY = .*/EVERY = 600/; /app.connect/s/wait/lambda *_: None/' conf.py
    accepted "$ROOT/build/venv/bin/python3" -B -m sphinx -q -W -n -E -c . docs html
    assert_output ""
}

@test "two builds of the same run at once, and who reads it meanwhile, have whole journals" {
    local build builds=() journal=build/docs/runs/solutions-14_peer_access/1.jsonl
    for build in 1 2; do
        PYTHONPATH=docs/extensions build/venv/bin/python3 -B -c '
from book import runs
for _ in range(10):
    runs.run_program.cache_clear()
    run = runs.run_program("solutions/14_peer_access")
    if not run.journal or run.journal[-1].get("did") != "exit" or not run.printed:
        print("A run has", len(run.journal), "lines of its journal.")' \
            >"$BATS_TEST_TMPDIR/$build" 2>&1 &
        builds+=($!)
    done
    while kill -0 "${builds[@]}" 2>/dev/null; do
        [ ! -e "$journal" ] || grep -q '"did":"exit"' "$journal" || echo "A part of a journal."
    done >"$BATS_TEST_TMPDIR/3"
    wait "${builds[@]}"
    assert_file_exists "$journal"
    run cat "$BATS_TEST_TMPDIR"/[123]
    assert_output ""
}

@test "a run of threads on a page is the same in each build" {
    PYTHONPATH=docs/extensions run build/venv/bin/python3 -B -c '
from book import runs
made = []
for _ in range(6):
    runs.run_program.cache_clear()
    run = runs.run_program("mutants/13_threads/mutex_alone", (), ("SIM_IDLE=off",))
    made.append((run.status, run.output, run.journal, run.second))
if any(one != made[0] for one in made):
    print("Lesson 13 has several runs.")'
    assert_success
    assert_output ""
    # The page of lesson 13 has that setting.
    grep -A1 -F "picture:: order mutants/13_threads/mutex_alone" docs/13_threads.rst |
        grep -q ":environment: SIM_IDLE=off"
}

@test "what is noted of a program's output changes nothing of it, however long a line is" {
    local folder=$BATS_TEST_TMPDIR
    printf '%s\n' '#include <stdio.h>' '#include <string.h>' 'int main(void)' '{' \
        '    static char text[40001];' '    memset(text, 65, sizeof text - 1);' \
        '    return puts(text) == EOF || printf("%s", text) < 0;' '}' >"$folder/long.c"
    cc -o "$folder/long" "$folder/long.c"
    LD_PRELOAD=$ROOT/build/docs/printed.so PRINTED=$folder/printed "$folder/long" >"$folder/noted"
    "$folder/long" | cmp - "$folder/noted" || miss "The output is another one."
}

@test "the book shows a lesson's file as it is delivered, whatever a student made of it" {
    local copy=$BATS_TEST_TMPDIR/copy lesson=04_release_threshold page
    workbook_copy "$copy"
    cp -a conf.py docs "$copy"
    cd "$copy" || return 1
    echo "int main(void) { return 0; }" >lessons/$lesson.c
    run env PYTHONPATH=docs/extensions "$ROOT/build/venv/bin/python" -B -c "
from book import runs
print(runs.made('starters/$lesson'))"
    assert_output "build/starters/$lesson.c"
    cmp "$ROOT/lessons/$lesson.c" "build/starters/$lesson.c"
    find docs -name '*.rst' -delete # one page is enough
    printf '%s\n' Book ==== '' ".. source:: lessons/$lesson" >docs/index.rst
    accepted "$ROOT/build/venv/bin/python3" -B -m sphinx -q -c . docs html
    for page in index listings/lessons/$lesson; do
        run text_of html/$page.html
        assert_output --regexp 'YOUR WORK'
        refute_output --partial 'int main(void) { return 0; }'
    done
}

# page_of_lines LINE...: reads a page with these lines, and no other, and writes what is in it as
# text, which takes a third of the time of a page.
page_of_lines() {
    mkdir -p "$BATS_TEST_TMPDIR/pages"
    printf '%s\n' Page ==== '' "$@" >"$BATS_TEST_TMPDIR/pages/index.rst"
    run build/venv/bin/sphinx-build -q -E -b pseudoxml -c . -d "$BATS_TEST_TMPDIR/trees" \
        "$BATS_TEST_TMPDIR/pages" "$BATS_TEST_TMPDIR"
}

@test "code to copy comes from a program that runs, and a part of an output must be there" {
    page_of_lines '.. source:: lines docs/programs/snippets trim' '' \
        '.. run:: solutions/04_release_threshold' '   :lines: 2-3'
    assert_success
    run cat "$BATS_TEST_TMPDIR/index.pseudoxml"
    assert_output --partial "CHECK(cudaMemPoolTrimTo(pool, keep));"
    refute_output --partial "[trim"
    page_of_lines '.. source:: lines docs/programs/snippets no-such'
    assert_failure
    assert_output --partial "docs/programs/snippets.c has no [no-such and no-such]"
    page_of_lines '.. run:: solutions/04_release_threshold' '   :lines: 2-99'
    assert_failure
    assert_output --partial "solutions/04_release_threshold prints"
    page_of_lines 'See :bench:`this <no_such>`.'
    assert_output --partial 'expected `words <NUMBER>` with one of'
    page_of_lines '.. picture:: sketch solutions/06_trim'
    assert_output --partial "picture:: begins with one of memory, order, drawing, pair, not"
    page_of_lines '.. run:: $ true' '   :lines: 1'
    assert_output --partial "run:: $ has no option lines. It has: status, needs."
    page_of_lines '.. until-answered::'
    assert_output --partial "until-answered:: has no question with a :why: above it"
    page_of_lines '.. rows:: 30 70' '' '   one | two |' '      three' '   four | five'
    assert_output --partial "rows:: 30 70: a row has 3 cells: one"
}

@test "a rule without its evidence ends the build" {
    build/venv/bin/python3 -B -c '
import sys
sys.path.insert(0, "docs/extensions")
from book.tables import RulesOf
with open("docs/01_first_allocation.rst", encoding="utf-8") as file:
    page = file.read()
assert RulesOf.RULE.search(page)
assert not RulesOf.RULE.search(page.replace("**The rule.**", ""))
assert not RulesOf.RULE.search(page.replace(".. evidence::", ".. note::"))'
}

@test "the first page's loop is about ten times faster at the end of its dial" {
    run python3 -B -c '
import html, json, re, sys
page = open(sys.argv[1], encoding="utf-8").read()
rows = json.loads(html.unescape(re.search("data-rows=\"([^\"]*)", page)[1]))
factor = sum(rows[0][1]) / sum(rows[-1][1])
print(f"{factor:.1f} times")
sys.exit(not 9 <= factor <= 12)' "$BOOK/index.html"
    assert_success
}

# tests/book/answers.txt: each question with its answers, read by a person against the text of
# the question; the run that gives the answer, and the function whose output it is. Then the line of
# each run before which the stepper asks it: the run has not shown the answer by then.
@test "the answers of the questions are those that were read against their questions" {
    need_book
    run diff tests/book/answers.txt <(sed 's/, line [0-9]*$//' build/docs/answers.txt)
    [ "$status" = 0 ] || miss "A question or its answer has changed (<: as it was read; >: now)." \
        "Read the question again: does its run do what it asks about, and is the line that" \
        "answers it printed by the function that it names? Then: sed 's/, line [0-9]*\$//'" \
        "build/docs/answers.txt >tests/book/answers.txt" "$output"
}

@test "every link and title of the book that has a lesson's number has the right one" {
    run python3 -B tests/book/lesson_numbers.py "$BOOK"
    assert_success
    assert_output ""
}
