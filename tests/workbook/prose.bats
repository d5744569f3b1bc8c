#!/usr/bin/env bats
# The workbook's English: American spelling (codespell), a prose linter (proselint), the words that
# words.txt replaces, at most 1,000 words shown on a lesson's page, and sentences that say because,
# so and but where a colon would leave that to the reader.

load ../suite

# What a reader or a student reads: the book, the lessons with their comments, what the checks and
# the simulated device print.
TEXTS='^(README\.md|docs/.*\.(rst|txt)|docs/(programs|clinic)/.*|(lessons|solutions)/.*|'
TEXTS+='tests/lessons/.*\.(bats|patch|h)|tests/(commands|grading)/.*\.(sh|bash|awk|jq)|'
TEXTS+='simulator/.*\.(md|[ch])|Makefile)$'
texts() { git ls-files | grep -E "$TEXTS" | grep -v '^docs/requirements'; }
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
    cp tests/workbook/proselint.json "$BATS_TEST_TMPDIR/proselint/config.json"
    export XDG_CONFIG_HOME=$BATS_TEST_TMPDIR
    run "$program" --output-format full check "${files[@]}"
    assert_output ""
}

@test "no text has a word that words.txt replaces" {
    local line pattern instead found files
    mapfile -t files < <(texts | grep -v '^simulator/.*[ch]$')
    while IFS= read -r line; do
        [[ -n $line && $line != '#'* ]] || continue
        pattern=${line%" | "*} instead=${line##*" | "}
        # What a page looks for in a recording is as it was recorded.
        found=$(git grep -nIiE "$pattern" -- "${files[@]}" |
            grep -vE ':[0-9]+: *:(start|end)-|not used' | cut -c 1-160)
        [ -z "$found" ] || complain "Write \"$instead\":" "$found"
    done <tests/workbook/words.txt
    finish
}

# What is folded (dropdown), what a program printed, code and options do not count, however many
# lines an option has. A question counts with the labels of its fields; the sentence that explains
# its answer is folded. The line of a rule's evidence counts, though it is written as options.
shown_words() { # shown_words PAGE
    local folded='dropdown|code-block|literalinclude|program-run|program-source|check-run|toctree'
    awk -v folded="$folded" '
        function indent(line) { match(line, /^ */); return RLENGTH }
        /^\.\. predict::/ { part = "question"; words += NF - 2; next }
        part && /^ *$/ { part = ""; hidden = 1; depth = 0; next }
        part && /^   :/ { part = /:fields:/ ? "fields" : "options"; next }
        part == "question" { words += NF; next }
        part == "fields" && /^       / { next }
        part == "fields" { split($0, column, "|"); words += split(column[1], label, " "); next }
        part { next }
        hidden && $0 !~ /^ *$/ && indent($0) <= depth { hidden = 0 }
        !hidden && $0 ~ "^ *\\.\\. (" folded ")::" {
            hidden = 1
            depth = indent($0)
            next
        }
        hidden { next }
        /^ *\.\. / { options = 1; counts = 0; next }
        /^ *$/ { options = 0 }
        options && /^ *:[a-z-]+:( |$)/ { counts = /^ *:(documented|measured): / }
        options && !counts || /^[-=^~]+$/ { next }
        { words += NF }
        END { print words }' "$1"
}

@test "a lesson's page shows at most 1,000 words" {
    local page count
    for page in docs/[0-9][0-9]_*.rst; do
        count=$(shown_words "$page")
        [ "$count" -le 1000 ] || complain "$page shows $count words."
    done
    finish
}

# The pages for a first reading: what is true stands there with its reason, and not after a colon.
@test "of a page's sentences at most one in eight has a colon, and 6 in 100 give a reason" {
    local page sentences colons reasons
    while read -r page sentences colons reasons; do
        [ "$sentences" -ge 30 ] || complain "$page: only $sentences sentences were found."
        [ $((8 * colons)) -le "$sentences" ] ||
            complain "$page: $colons of $sentences sentences have a colon. They are:" \
                "$(python3 tests/workbook/sentences.py --colons "$page")"
        [ $((100 * reasons)) -ge $((6 * sentences)) ] ||
            complain "$page: only $reasons of $sentences sentences give a reason."
    done < <(python3 tests/workbook/sentences.py README.md \
        docs/{index,model,getting_started,freed_memory,[0-9][0-9]_*}.rst)
    finish
}
