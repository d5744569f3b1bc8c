#!/usr/bin/env bash
# Draws a program's run on the simulated device: make picture-04 and make trace-04.
#
#   picture.sh picture|trace NAME PROGRAM [ARGUMENT...]
#
# It writes build/pictures/NAME.html, or NAME.json for a trace viewer, and prints which. A picture
# is opened as OPEN says (open.sh). The program's own output and exit status are shown, and do not
# matter: a program that is reported has a picture, too. Exit status 1: nothing could be drawn.
set -u
# shellcheck source=tools/usage.sh
source "${BASH_SOURCE[0]%/*}/usage.sh"
takes '(picture|trace);[^-;][^;]*;[^-;][^;]*(;.*)?' "$@"
cd "${0%/*}/.." || exit 1
what=$1 name=$2 program=$3
shift 3
folder=build/pictures
type -P python3 >/dev/null || {
    echo "Pictures are drawn by python3, which is not here: apt-get install python3" >&2
    exit 1
}
mkdir -p "$folder"
rm -f "$folder/$name".{html,json,jsonl,jsonl.*}
SIM_CHECK=${SIM_CHECK-leaks,no-init} SIM_JOURNAL=$folder/$name.jsonl "$program" "$@"
status=$?
[ $status = 0 ] || echo "(It ended with status $status.)"
journals=("$folder/$name".jsonl*)
[ -e "${journals[0]}" ] || {
    echo "$name made no CUDA call, so there is nothing to draw." >&2
    exit 1
}
file=$folder/$name.json python=python3
if [ "$what" = picture ]; then
    # Without QuickJS the page says so, and has the order of the streams.
    file=$folder/$name.html
    bash tools/setup.sh pictures && python=build/venv/bin/python3
fi
PYTHONPATH=docs/extensions \
    "$python" -B -m book.own_run "$what" "$name" "$file" "${journals[@]}" || exit 1
case $what in
picture) bash tools/open.sh "$file" ;;
*) echo "Open in https://ui.perfetto.dev: $PWD/$file" ;;
esac
