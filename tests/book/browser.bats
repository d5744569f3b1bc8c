#!/usr/bin/env bats
# The pages of the finished book in a real browser (tests/book/browser): what every page must have,
# steps and questions made by keys, and each of a reader's tasks in at most ten keys.

# bats file_tags=long
load ../suite

setup_file() {
    build_book_and_tools
    export FAULTS=$BATS_FILE_TMPDIR/faults
}
setup() { need_book_and_tools; }

# expect_no NAME...: the checks, which the first test makes with one start of the browser, have
# found no fault of these names. To make one check:
#     build/venv/bin/python3 -B tests/book/browser build/docs/html NAME
expect_no() {
    local name found
    [ -e "$FAULTS" ] || as_typed build/venv/bin/python3 -B tests/book/browser "$BOOK" \
        >"$FAULTS" 2>"$FAULTS.errors" || true
    [ ! -s "$FAULTS.errors" ] || miss "The pass did not end:" "$(tail -n 3 "$FAULTS.errors")"
    for name; do
        grep -qw "$name" tests/book/browser/*.py || complain "There is no check $name."
        found=$(grep "^$name: " "$FAULTS") || continue
        complain "$(wc -l <<<"$found") faults of $name:" "$(head -n 20 <<<"$found")"
    done
    finish
}

@test "every page opens without an error, loads nothing from elsewhere, and has at most 400 KB" {
    expect_no opened console weight
    # A fault that no test here names would be lost.
    run grep -vE "^($(sed -n 's/^ *expect_no //p' "$BATS_TEST_FILENAME" | xargs | tr ' ' '|')): " \
        "$FAULTS"
    assert_output ""
}

@test "no page scrolls sideways, at 390, 768 and 1400 pixels, light and dark, http and file" {
    expect_no layout
}

@test "no picture scrolls sideways; its words and lines are large and dark enough" {
    expect_no pictures
}

@test "pictures that are compared are side by side from 768 pixels on, else one below the other" {
    expect_no pairs
    run grep -lc 'class="picture-pair ' "$BOOK/03_custom_pool.html" "$BOOK/10_reuse_events.html"
    assert_success
}

@test "each step of a run is made by keys, has the journal's figures and line, and moves nothing" {
    run grep -rl 'class="stepper"' --include='*.html' "$BOOK"
    [ ${#lines[@]} = 35 ] || complain "These pages have steps, and not 35:" "$output"
    expect_no runs steps
}

@test "a stepper asks the page's questions before their lines, and shares their answers" {
    run grep -rl 'class="stepper-asks"' --include='*.html' "$BOOK"
    [ ${#lines[@]} = 21 ] || complain "These pages ask, and not 21:" "$output"
    # Which question is asked before which line is in answers.txt, for all pages (book.bats).
    expect_no asked
}

@test "axe finds nothing serious or critical, contrast included" {
    expect_no axe
}

@test "the keyboard reaches and leaves everything, shows where it is, and arrows stay on the page" {
    expect_no keyboard
}

@test "on paper every fold and tab is open, and nothing is cut off or left out of a picture" {
    expect_no paper
}

@test "every page has one title, a description, an icon and one viewport" {
    expect_no head
}

@test "words of the glossary show their meaning on hover and focus" {
    expect_no tips
    grep -q 'aria-describedby="tip-' "$BOOK/04_release_threshold.html" ||
        miss "04_release_threshold has no word with a meaning."
}

@test "programs fit from 1152 pixels on, reports name a file once, and a diff has two colors" {
    expect_no code
}

@test "rows of the API are cards at 390 pixels" {
    expect_no cards
}

@test "each lesson has a box in the table of lessons" {
    expect_no ticks
}

@test "the contents show the page's own entry, and nothing scrolls smoothly where less is wanted" {
    expect_no contents motion
}

@test "the finder has the right place first, leads there by the keyboard, and so does the search" {
    expect_no finder
}

@test "the bench runs its scripts, and a lesson's page its solution, also from a file" {
    local pages
    expect_no runs
    pages=$(grep -l 'class="live"' "$BOOK"/*.html | wc -l)
    [ "$pages" = 12 ] || miss "$pages pages run their lesson, not 12."
}

@test "the stepper says which call returns memory, why not all, and where the threshold is" {
    expect_no returned off_scale
}

@test "the stepper says which call made the pool grow, and which record a wait takes" {
    expect_no grown taken_record
}

@test "the stepper draws the edge that is missing, and a button leads to each report" {
    expect_no missing_edge to_report
}

@test "a refused call shows what it did all the same" {
    expect_no refused
}

@test "a run begins where its page does, and its map leads anywhere but ahead of a question" {
    expect_no begins mapped
}

@test "what stays moves, nothing moves where less is wanted, and Large is alone" {
    expect_no still large
}

@test "100 columns of a program are seen at 1280, 1440 and 1920 pixels, and the picture" {
    expect_no columns low
}

@test "a report says what to do, and its repair comes into the code and makes 300 days right" {
    expect_no repair many_days
}

@test "a lesson's run stays in view, the text moves it, and on a phone it is a bar that opens" {
    expect_no stage told
}

@test "a case's run stops ahead of its report until the case's question is answered" {
    expect_no held
}

@test "a lesson's page runs its solution with a mistake, up to the report in the stepper" {
    expect_no mistakes
}

@test "300 days turn red and are repaired by mouse, keyboard and link, as the device says" {
    expect_no days
}

@test "the dial falls to tens of microseconds; on paper and without script it is a table" {
    expect_no dial without_script
}

@test "the bench shows what is missing up to its last step, and its script at the top" {
    expect_no bench
}

@test "the first screen has at most 24 KB of its own, and the bench 181 KB compressed" {
    expect_no weight
}
