#!/usr/bin/env bash
# One more hint of a lesson, from its page, as plain text: hint.sh NN_name [GIVEN].
# build/hints/NN_name remembers how many were given; GIVEN replaces that, so 0 begins again.
# shellcheck disable=SC2016  # backquotes of reStructuredText
set -u
# shellcheck source=tools/usage.sh
source "${BASH_SOURCE[0]%/*}/usage.sh"
takes '[0-9][0-9]_[a-z0-9_]+(;[^;]*)?' "$@"
cd "${0%/*}/.." || exit 1
name=$1 page=docs/$1.rst remembered=build/hints/$1
[ -e "$page" ] || { echo "$page does not exist, so there are no hints." >&2; exit 1; }
[[ ${2:-0} =~ ^[0-9]{1,3}$ ]] ||
    { echo "HINTS=$2: give the number of hints that you have seen, such as HINTS=0." >&2; exit 1; }

# hint N: the text below ".. dropdown:: Hint N", in one line for each paragraph
hint() {
    awk -v title="^[.][.] dropdown:: Hint $1([^0-9]|$)" '
        $0 ~ title { on = 1; next }
        on && /^[^ ]/ { exit }
        on && /^   :[a-z-]+:( |$)/ { next }
        on { sub(/^   /, ""); print }' "$page"
}

# reStructuredText as a terminal shows it: roles and links by their words, code in a frame of blank
# lines, other paragraphs in lines of 80 columns.
plain() {
    awk '
        function flush() { if (text != "") print text; text = "" }
        /^\.\. code-block::/ || /::$/ && /^\.\. / { flush(); code = 1; next }
        code && /^[^ ]/ { code = 0 }
        code { if ($0 ~ /^ *:[a-z-]+:( |$)/) next; print; next }
        /^ *$/ { flush(); print ""; next }
        /^ *(-|[0-9]+\.) / { flush(); text = $0; next }
        { sub(/^ +/, ""); text = text == "" ? $0 : text " " $0 }
        END { flush() }' |
        sed -E 's/:[a-z]+:`([^`<]*[^`< ]) *<[^>`]*>`/\1/g; s/:[a-z]+:`([^`]*)`/\1/g
            s/`([^`<]*[^`< ]) *<([^>`]*)>`_+/\1 (\2)/g; s/``([^`]*)``/`\1`/g
            s/\*\*([^*]+)\*\*/\1/g; s/(^|[ (])\*([^* ]([^*]*[^* ])?)\*/\1\2/g; s/\\(.)/\1/g' |
        cat -s | fold -s -w 80 | sed 's/ *$//; s/^/    /; s/^ *$//' |
        awk 'NF { if (blank && shown) print ""; blank = 0; shown = 1; print; next } { blank = 1 }'
}

count=$(grep -c '^\.\. dropdown:: Hint [0-9]' "$page")
given=${2:-$(cat "$remembered" 2>/dev/null)}
[[ $given =~ ^[0-9]+$ ]] || given=0
if [ "$given" -ge "$count" ]; then
    echo "Lesson ${name%%_*} has $count hints, and you have seen all of them." \
        "make hint-${name%%_*} HINTS=0 begins again."
    [ ! -e "solutions/$name.c" ] || echo "The solution: solutions/$name.c"
    exit 0
fi
given=$((given + 1))
{ mkdir -p build/hints && echo "$given" >"$remembered"; } 2>/dev/null ||
    echo "(Nothing can be written to build/hints: the next call prints the same hint.)"
echo "Hint $given of $count for lesson ${name%%_*}:"
hint "$given" | plain
left=$((count - given))
case $left in
0) echo "This was the last hint." ;;
1) echo "One hint is left: make hint-${name%%_*}" ;;
*) echo "$left hints are left: make hint-${name%%_*}" ;;
esac
