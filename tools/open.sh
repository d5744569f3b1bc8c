#!/usr/bin/env bash
# Names a page of the built book, and opens it if there is a browser: open.sh index, or
# open.sh NN_name. A name with a slash is that file.
#
# OPEN=PROGRAM opens it with that program, OPEN= with none. Left out: xdg-open where a display is,
# or open on a Mac. Exit status 1: the page is not built.
set -u
# shellcheck source=tools/usage.sh
source "${BASH_SOURCE[0]%/*}/usage.sh"
takes '[^-;][^;]*' "$@"
cd "${0%/*}/.." || exit 1
book=build/docs/html
[ ! -d book ] || book=book   # a student's copy has it built
case $1 in */*) page=$PWD/$1 ;; *) page=$PWD/$book/$1.html ;; esac
[ -e "$page" ] || { echo "The book is not built. make book builds and opens it."; exit 1; }
echo "Open: $page"
if [ -z "${OPEN+set}" ]; then
    OPEN=
    if [ "$(uname)" = Darwin ]; then OPEN=open
    elif [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ]; then OPEN=$(type -P xdg-open); fi
fi
[ -n "$OPEN" ] || exit 0
type -P "$OPEN" >/dev/null || { echo "OPEN=$OPEN: there is no such program." >&2; exit 1; }
# A browser may live as long as its window, so this script does not wait for it.
setsid "$OPEN" "$page" </dev/null >/dev/null 2>&1 &
