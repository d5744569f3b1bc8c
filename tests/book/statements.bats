#!/usr/bin/env bats
# What the five texts and NVIDIA's guide and reference say, with a verdict for each statement
# (statements.txt): each statement has its row, and each place that a row names is in the book.

load ../suite

LIST=tests/book/statements.txt

@test "every statement of the texts has its row" {
    local text most got
    while read -r text most; do
        got=$(grep -E '^    [A-Z][0-9]' $LIST | grep -ow "${text}[0-9]*" | tr -d "$text" | sort -nu)
        [ "$got" = "$(seq "$most")" ] ||
            complain "Rows of ${text}1 to $text$most that are missing, or too many:" \
                "$(diff <(seq "$most") - <<<"$got")"
    done <<<"A 48
B 69
C 50
D 97
E 20
G 6
R 28"
    finish
}

@test "every row has a verdict, places and a statement, and the book has its places" {
    local verdicts='^(shown|recorded|stated|corrected|half|advice|slip|question)([:;,. ]|$)'
    local claim verdict places statements place
    while IFS='|' read -r claim verdict places statements; do
        [[ $verdict =~ $verdicts ]] ||
            complain "$claim: \"$verdict\" begins with no verdict."
        [ "$statements" -gt 0 ] || complain "$claim: nobody says it."
        [ -n "$places" ] || complain "$claim: no place."
        for place in ${places//,/ }; do
            [ -e "docs/$place.rst" ] || { [[ $place == */* ]] && [ -e "$place" ]; } ||
                grep -rqx --include='*.rst' "\.\. _$place:" docs ||
                complain "$claim: $place is no page, label or file."
        done
    done < <(awk '
        function row() { if (claim) print claim, verdict, places, statements }
        BEGIN { OFS = "|" }
        /^#|^== /        { next }
        /^$/             { row(); claim = verdict = places = ""; statements = at = 0; next }
        /^[^ ]/          { claim = $0; at = 1; next }
        /^      /        { sub(/^ +/, " "); if (at == 2) places = places $0; next }
        /^    in: /      { sub(/^    in: /, ""); places = $0; at = 2; next }
        /^    [A-Z][0-9]/ { statements++; at = 3; next }
        /^    /          { sub(/^ +/, ""); if (at == 1) { verdict = $0; at = 4 } }
        END              { row() }' $LIST)
    finish
}
