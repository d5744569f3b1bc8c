#!/usr/bin/env bats
# The checks checked: each program of tests/near_misses, wrong as a student would write it, must fail, in words of its own that help.

load helpers

# The words of a missed check without what differs anyhow: the folders.
misses() { grep -A 4 '^  MISS' <<<"$output" | grep -v 'See it yourself' || true; }

# all_misses FILE LESSON: the words of all misses, into $words; asked twice, they are read from a file
all_misses() {
    local file=$BATS_TEST_TMPDIR/${1##*/}.misses
    if [ ! -e "$file" ]; then
        ALL=1 judge "$1" "$2"
        misses >"$file"
    fi
    words=$(<"$file")
}

# same_misses FILE FILE LESSON: do the two fail in the same words, also after the first miss?
same_misses() {
    local words one
    all_misses "$1" "$3"
    one=$words
    all_misses "$2" "$3"
    [ "$one" = "$words" ]
}

@test "every near miss fails, with a sentence of its own" {
    local lesson file words
    for lesson in $(lessons); do
        local -A seen=()
        for file in "tests/near_misses/${lesson%%_*}"_*.c; do
            [ -e "$file" ] || continue
            judge "$file" "$lesson"
            words=$(misses)
            if [ "$status" = 0 ]; then complain "$file passes the check." "$output"
            elif [ -z "$words" ]; then complain "$file fails without a word." "$output"
            elif [[ "$output" == *"does not compile"* ]]; then complain "$file does not compile." "$output"
            elif [ -n "${seen[$words]:-}" ] && same_misses "$file" "${seen[$words]}" "$lesson"; then complain "$file fails in the words of ${seen[$words]}:" "$words"
            fi
            [ -z "$words" ] || seen[$words]=$file
        done
    done
    finish
}
