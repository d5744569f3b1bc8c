#!/usr/bin/env bash
# The workbook's form: format.sh applies .clang-format to all C, and the ruff.toml beside it to all
# Python.
#
#   format.sh                 make format
#   format.sh where TOOL      prints the program that serves as clang-format, ruff, shellcheck,
#                             oxlint, codespell, proselint, check-jsonschema or hadolint
#
# clang-format gives another form in each version, so it must be the one that tools/requirements.txt
# names. A tool that is on the machine in that version is used, else the one from PyPI in
# build/venv.
set -eu
# shellcheck source=tools/usage.sh
source "${BASH_SOURCE[0]%/*}/usage.sh"
known='clang-format|ruff|shellcheck|oxlint|codespell|proselint|check-jsonschema|hadolint'
takes "|where;($known)" "$@"
cd "$(dirname "$0")/.."

where() { # where TOOL: of $version; any version of shellcheck will do
    local asked=--version program
    [ "$1" != shellcheck ] || version=''
    [ "$1" != proselint ] || asked=version
    for program in "$(type -P "$1")" "build/venv/bin/$1"; do
        if [ -x "$program" ] && [[ $("$program" "$asked") == *"$version"* ]]; then
            echo "$program"
            return
        fi
    done
    return 1
}

if [ "${1:-}" = where ]; then
    read -r group version < <(awk -v tool="$2" '/^# for / { group = $NF }
        { split($1, entry, "==") }
        entry[1] ~ "^" tool "(-bin|-py)?$" { print group, entry[2] }' tools/requirements.txt)
    where "$2" || { bash tools/setup.sh "$group" >&2 && where "$2"; }
    exit
fi

need_git_clone
clang_format=$("$0" where clang-format)
ruff=$("$0" where ruff)
git ls-files -z '*.c' '*.h' | xargs -0 "$clang_format" -i
"$ruff" format --quiet --config tools/ruff.toml .
python3 -SB tests/grading/manifest.py readme
