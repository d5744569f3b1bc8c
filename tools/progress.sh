#!/usr/bin/env bash
# How far the lessons in lessons/ are, for the table on the book's first page.
#
#   progress.sh NAME passed        notes that the check of a lesson passes
#   progress.sh NAME begun         notes that it does not
#   progress.sh grade FILE         notes the points of every lesson of a grade.json
#   progress.sh write FILE         writes all that was noted as a script, which the page loads
#
# After each note the script of the book is written, if the book is there: in build/docs/html, or in
# book, where a student's copy has it.
#
# One file for each lesson, build/progress/NAME, so that checks at the same time do not disturb each
# other. WORKBOOK_PROGRESS=none notes nothing: so the tests leave a reader's progress alone.
set -u
# shellcheck source=tools/usage.sh
source "${BASH_SOURCE[0]%/*}/usage.sh"
takes '[0-9][0-9]_[a-z0-9_]+;(passed|begun)|(grade|write);[^-;][^;]*' "$@"
cd "${0%/*}/.." || exit 1
[ "${WORKBOOK_PROGRESS:-}" != none ] || [ "${1:-}" = write ] || exit 0
notes=build/progress

note() { # note NAME STATE [POINTS OF]
    mkdir -p "$notes" && printf '%s\n' "${*:2}" >"$notes/.$1" && mv "$notes/.$1" "$notes/$1"
}

write() { # write FILE
    local file new state points of passed
    new=$(mktemp "$1.XXXXXX") || return
    {
        echo "// What the checks have found, by tools/progress.sh."
        echo "window.workbookProgress = {"
        for file in "$notes"/[0-9]*; do
            [ -e "$file" ] || continue
            read -r state points of <"$file"
            passed=false
            [ "$state" != passed ] || passed=true
            printf '  "%s": {"passed": %s, "points": %s, "of": %s},\n' "${file##*/}" $passed \
                "${points:-null}" "${of:-null}"
        done
        echo "};"
    } >"$new"
    chmod 644 "$new"
    mv -T "$new" "$1"
}

book=build/docs/html/_static
[ ! -d book ] || book=book/_static
case ${1:-} in
write) write "$2"; exit ;;
grade)
    [ -f "$2" ] || { echo "progress.sh: there is no file $2. Expected a grade.json." >&2; exit 2; }
    lines=$(python3 -c 'import json, sys
for line in json.load(open(sys.argv[1], encoding="utf-8"))["lessons"]:
    if line["status"] != "ungraded":
        state = "passed" if line["points"] == line["possible"] else "begun"
        print(line["lesson"], state, line["points"], line["possible"])' "$2" 2>/dev/null) ||
        { echo "progress.sh: $2 is no grade.json." >&2; exit 2; }
    while read -r name state points of; do note "$name" "$state" "$points" "$of"; done \
        <<<"$lines" ;;
*) note "$1" "$2" || exit ;;
esac
[ ! -d "$book" ] || write "$book/passed.js"
