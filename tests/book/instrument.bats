#!/usr/bin/env bats
# What a reader finds out with the instruments of the book's pages, in Chromium (instrument.py):
# each of the reader's tasks in at most ten keys.

# bats file_tags=long
load ../suite

setup_file() { build_book_and_tools; }
setup() { need_book_and_tools; }

look() { # look CHECK...
    run timeout 300 build/venv/bin/python3 -B tests/book/instrument.py "$BOOK" "$@"
    [[ $status = 0 && ! $output ]] || miss "$output"
}

@test "the stepper says which call returns memory, why not all, and where the threshold is" {
    look returned off_scale
}

@test "the stepper says which call made the pool grow, and which record a wait takes" {
    look grown taken_record
}

@test "the stepper draws the edge that is missing, and a button leads to each report" {
    look missing_edge to_report
}

@test "a refused call shows what it did all the same" {
    look refused
}

@test "a run begins where its page does, and its map leads anywhere but ahead of a question" {
    look begins mapped
}

@test "what stays moves, nothing moves where less is wanted, and Large is alone" {
    look still large
}

@test "100 columns of a program are seen at 1280, 1440 and 1920 pixels, and the picture" {
    look columns
}

@test "a lesson's page runs its solution with a mistake, up to the report in the stepper" {
    look mistakes
}

@test "the first screen falls to tens of microseconds; on paper and without script it is a table" {
    look dial dial_without_script weight bench_without_script
}
