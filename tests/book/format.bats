#!/usr/bin/env bats
# The workbook's form: .clang-format, .editorconfig, shellcheck, and ruff.toml and oxlint.json in
# tools. `make format` puts C and Python into it.

load ../suite

# Data that a machine wrote, or that was recorded, keeps its form.
RECORDED='^(tests/lessons/.*/expected|simulator/tests/facts)/|^docs/(programs/expected|recorded)/'
RECORDED+='|\.(svg|csv)$'
RECORDED+='|\.(patch|png|wasm|woff2)$|requirements\.txt$|^tools/[a-z0-9-]*\.txt$'
text_files() { git ls-files | grep -vE "$RECORDED"; }

setup() { need_git_clone; }

# bats test_tags=long
@test "C is formatted as .clang-format says" {
    local program
    tool clang-format
    git ls-files -z '*.c' '*.h' | xargs -0 "$program" --dry-run >"$BATS_TEST_TMPDIR/said" 2>&1
    run sed -n 's/^\([^ ]*\): warning: .*/\1 (make format repairs it)/p' "$BATS_TEST_TMPDIR/said"
    assert_output ""
}

# bats test_tags=long
@test "Python is formatted as ruff.toml says, and ruff finds nothing" {
    local program
    tool ruff
    "$program" format --quiet --check --config tools/ruff.toml .
    "$program" check --quiet --config tools/ruff.toml .
}

# bats test_tags=long
@test "shellcheck finds nothing in the scripts" {
    local program
    tool shellcheck
    git ls-files -z '*.sh' '*.bash' .ci/run 'docs/course/*run_autograder' |
        xargs -0 "$program" -x -P SCRIPTDIR
    git ls-files -z '*.bats' | xargs -0 "$program" -s bats -S warning
}

# bats test_tags=long
@test "oxlint finds nothing in the scripts of the pages, and they are indented by four" {
    local program
    tool oxlint
    git ls-files -z '*.js' | xargs -0 "$program" -c tools/oxlint.json
    # The first line of a file that is indented.
    # shellcheck disable=SC2046 # names of files
    run awk 'FNR == 1 { seen = 0 }
        !seen && /^ +[^ *]/ { seen = 1; match($0, /^ +/)
            if (RLENGTH != 4) print FILENAME ": " RLENGTH }' $(git ls-files '*.js')
    assert_output ""
}

@test "no line ends in blanks, every file ends in a newline, and only Makefiles have tabs" {
    local files file
    mapfile -t files < <(text_files)
    run git grep -nIE '[[:blank:]]+$' -- "${files[@]}"
    assert_output ""
    if [ -n "$(tail -qc 1 "${files[@]}" | tr -d '\n')" ]; then
        for file in "${files[@]}"; do
            [ -z "$(tail -c 1 "$file")" ] || complain "$file does not end in a newline."
        done
    fi
    mapfile -t files < <(text_files | grep -vE 'Makefile|\.mk$')
    run git grep -lIP '^ *\t' -- "${files[@]}"
    assert_output ""
    finish
}

# A row of a Markdown table is one line, and so are an address, a line that a page looks for, a
# question of the book with its answers, and a search with its places; a value of a manifest, too.
# In variants.txt, a line of a program has two more columns. README shows what a program printed as
# it was printed.
@test "no line is longer than 100 columns" {
    local files
    mapfile -t files < <(text_files)
    run awk 'FILENAME == "README.md" && /^```/ { shows = !shows }
        length > 100 && !shows && !/^\|/ && !/^ *<?https?:[^ ]*$/ && !/^hazard: / && !/:start-at:/ &&
            !/href="bench.html#script=/ &&
            FILENAME !~ /(answers.txt|searches.txt|manifest.ini|variants.txt)$/ {
        print FILENAME ":" FNR ": " length " columns"
    }' "${files[@]}"
    assert_output ""
}
