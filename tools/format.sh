#!/usr/bin/env bash
# The workbook's form: format.sh applies .clang-format to all C, and the ruff.toml beside it to all
# Python.
#
#   format.sh                 make format
#   format.sh where TOOL      prints the program that serves as clang-format, ruff, shellcheck,
#                             oxlint, codespell, proselint, check-jsonschema or hadolint
#
# clang-format gives another form in each version, so it must be the one named here. A tool that is
# on the machine in that version is used, else the one from PyPI in build/venv (format.txt,
# prose.txt, examples.txt).
set -eu
# shellcheck source=tools/usage.sh
source "${BASH_SOURCE[0]%/*}/usage.sh"
known='clang-format|ruff|shellcheck|oxlint|codespell|proselint|check-jsonschema|hadolint'
takes "|where;($known)" "$@"
cd "$(dirname "$0")/.."

where() {
    local version='' asked=--version program
    case $1 in
    clang-format) version=14.0.6 ;;
    ruff) version=0.12.12 ;;
    oxlint) version=1.89.0 ;;
    codespell) version=2.4.3 ;;
    proselint) version=0.16.0 asked=version ;;
    check-jsonschema) version=0.39.0 ;;
    hadolint) version=2.15.1 ;;
    esac
    for program in "$(type -P "$1")" "build/venv/bin/$1"; do
        if [ -x "$program" ] && [[ $("$program" "$asked") == *"$version"* ]]; then
            echo "$program"
            return
        fi
    done
    return 1
}

if [ "${1:-}" = where ]; then
    case $2 in
    codespell | proselint) tools=prose ;;
    check-jsonschema | hadolint) tools=examples ;;
    *) tools=format ;;
    esac
    where "$2" || { bash tools/setup.sh "$tools" >&2 && where "$2"; }
    exit
fi

need_git_clone
clang_format=$("$0" where clang-format)
ruff=$("$0" where ruff)
git ls-files -z '*.c' '*.h' | xargs -0 "$clang_format" -i
"$ruff" format --quiet --config tools/ruff.toml .
python3 -SB tests/grading/manifest.py readme
