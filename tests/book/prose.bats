#!/usr/bin/env bats
# The workbook's English: American spelling (codespell), a prose linter (proselint), and words
# that it does not use. Nothing here counts: who writes to a counter is read by nobody.

load ../suite

# What a reader or a student reads: the book, the lessons with their comments, what the checks and
# the simulated device print.
TEXTS='^(README\.md|docs/.*\.(rst|txt)|docs/(programs|clinic)/.*|(lessons|solutions)/.*|'
TEXTS+='tests/lessons/.*\.(py|ini|bats|h)|(tests/grading|tools)/.*\.(sh|bash|awk)|'
TEXTS+='simulator/.*\.(md|[ch])|Makefile)$'
texts() { git ls-files | grep -E "$TEXTS" | grep -vE '^(docs/requirements|simulator/tests/)'; }
pages() { git ls-files 'docs/*.rst' README.md simulator/README.md; }

setup() { need_git_clone; }

# bats test_tags=long
@test "words are spelled as in American English" {
    local files ignored='^ *:(start|end)-.*|^\.\. _note.*|note-(second-)?synchronise|^@@.*'
    ignored+='|async error has occured'
    local program
    tool codespell
    mapfile -t files < <(texts)
    run "$program" --builtin clear,rare,en-GB_to_en-US \
        --ignore-words-list "bloc,siz,nam,fo,ans,te" \
        --ignore-regex "$ignored" \
        "${files[@]}"
    assert_output ""
}

# bats test_tags=long
@test "proselint finds nothing on the book's pages" {
    local files
    local program
    tool proselint
    mapfile -t files < <(pages)
    # Version 0.16.0 does not read the file that --config names.
    mkdir "$BATS_TEST_TMPDIR/proselint"
    echo '{"checks": {"dates_times": false, "lexical_illusions": false, "misc": false,
        "typography": false, "uncomparables": false}}' >"$BATS_TEST_TMPDIR/proselint/config.json"
    export XDG_CONFIG_HOME=$BATS_TEST_TMPDIR
    run "$program" --output-format full check "${files[@]}"
    assert_output ""
}

# Words that the workbook does not use, and what it writes instead. A line: an extended regular
# expression, a bar in spaces, the words instead. Case is ignored.
words() {
    cat <<'WORDS'
\b(a|each|every|no|the next|another|that|one|last) synchroni[sz]e\b | a synchronization
\b(memory|freed|live|small|large|free) blocks?\b | allocation
\bof block(s\b|[^ s]| [^0-9(]|$) | allocation
\bblocks? (of memory|of [0-9]+ MiB|taken|given) | allocation
\b(32 MiB|whole|idle) steps?\b | segment
\bpaces?\b | schedule
\baccus(e|ed|es|ing|ation)\b | report
\bfor ever\b | forever
WORDS
}

@test "no text has a word that the workbook does not use" {
    local line pattern instead found files
    mapfile -t files < <(texts | grep -v '^simulator/.*[ch]$')
    while IFS= read -r line; do
        pattern=${line%" | "*} instead=${line##*" | "}
        # What a page looks for in a recording is as it was recorded.
        found=$(git grep -nIiE "$pattern" -- "${files[@]}" |
            grep -vE ':[0-9]+: *:(start|end)-|not used' | cut -c 1-160)
        [ -z "$found" ] || complain "Write \"$instead\":" "$found"
    done < <(words)
    finish
}
