#!/usr/bin/env bats
# What somebody finds who comes for the first time. README.md is the workbook's door: each of its
# commands is typed here, and each output that it shows is compared. A line "..." in README stands
# for any lines. The licenses are there, and workflows give nobody more than they need.

load ../suite

# A README's command does not depend on the machine's GPU.
setup() {
    printf '#!/bin/sh\nexit 1\n' >"$BATS_TEST_TMPDIR/nvidia-smi"
    chmod +x "$BATS_TEST_TMPDIR/nvidia-smi"
}

# The commands of the blocks "console", one in a line without its comment, and below each what it
# prints.
console() {
    awk '/^```console$/ { on = 1; next } /^```$/ { on = 0 }
        on { if (/^\$ /) sub(/ +# .*/, ""); print }' README.md
}

# matches EXPECTED: does $output have these lines, any lines where "..." stands, and any end where a
# line ends with "..."?
matches() {
    python3 -SB - "$1" "$output" <<'PY'
import re, sys
pattern = ""
for line in sys.argv[1].splitlines():
    if line == "...":
        pattern += r"(?:.*\n)*?"
    else:
        ends = line.endswith("...")
        pattern += re.escape(line.removesuffix("...")) + (r".*\n" if ends else r"\n")
sys.exit(not re.fullmatch(pattern, sys.argv[2] + "\n"))
PY
}

# try COMMAND EXPECTED: types it. What make says of an exit status, and of the device and compiler
# that it chose, is not shown in README. handout.bats types the one that builds a book.
try() {
    local words
    [[ -n $1 && $1 != "make handout "* ]] || return 0
    words=${1/CLASS=FOLDER/CLASS=$BATS_TEST_TMPDIR/class ONLY=1 OUT=$BATS_TEST_TMPDIR/out}
    run as_typed PATH="$BATS_TEST_TMPDIR:$PATH" stdbuf -oL bash -c "exec 2>&1; $words"
    output=$(grep -vE '^(make(\[[0-9]+\])?: \*\*\*|Backend: |Compiler: )' <<<"$output") || true
    [[ $words == "$1" && -n $2 ]] || return 0
    matches "$2" || complain "README's \"$1\" printed:" "$output" "README has:" "$2"
}

# bats test_tags=long
@test "each command of README works, and prints what README shows" {
    local line command='' expected=''
    mkdir -p "$BATS_TEST_TMPDIR/class/ada"
    cp solutions/01_first_allocation.c "$BATS_TEST_TMPDIR/class/ada"
    type -P nvcc >/dev/null || [ -x build/nvcc/wheel/nvidia/cu13/bin/nvcc ] ||
        skip "nvcc is not installed: README's program is a .cu file"
    git diff --quiet -- lessons/01_first_allocation.c || skip "lesson 01 has been edited here"
    while IFS= read -r line; do
        if [[ $line == '$ '* ]]; then
            try "$command" "$expected"
            command=${line#\$ } expected=''
        else
            expected+=${expected:+$'\n'}$line
        fi
    done < <(console)
    try "$command" "$expected"
    [ -n "$command" ] || complain "README has no commands."
    finish
}

# bats test_tags=long
@test "the report in README is what the program there gets" {
    type -P nvcc >/dev/null || [ -x build/nvcc/wheel/nvidia/cu13/bin/nvcc ] ||
        skip "nvcc is not installed: README's program is a .cu file"
    run as_typed make mine FILE=docs/programs/brighten.cu
    assert_line --regexp '^Compiler: .*nvcc \(13\.[0-9]+(, NVIDIA.s from PyPI)?\)$'
    assert_equal "$(sed '/^Compiler: /d; /^1$/,$d' <<<"$output")" \
        "$(sed -n '/^```text$/,/^```$/{/^```/d;p}' README.md)"
    # the lines of code, at the places that are named
    sed -n '/^```cuda$/,/^```$/{/^```/d;p}' README.md | while IFS= read -r line; do
        assert_equal "$(sed -n "${line##* line }p" docs/programs/brighten.cu | sed 's/^ *//')" \
            "$(sed 's| *// line.*||' <<<"$line")"
    done
}

@test "README's counts of litmus programs are those of the recorded table" {
    local alone sanitizer all n='([0-9]+) [|]' words=${BATS_TEST_TMPDIR}/words
    tr '\n' ' ' <README.md >"$words"
    # The columns: twice the GPU alone and compute-sanitizer, then the simulated device.
    read -r alone sanitizer all < <(sed -nE "s/ of [0-9]+ / /g
        s/^[|] incorrect programs noticed [|] $n $n $n $n $n.*/\3 \4 \5/p" \
        docs/recorded/litmus.md)
    grep -qF "Of our $all incorrect programs, a GPU alone showed $alone, compute-sanitizer \
$sanitizer, and the checker all." "$words"
    read -r sanitizer all < <(sed -nE \
        's/^\| correct programs reported .*\| 0 of .*\| ([0-9]+) of .*\| 0 of ([0-9]+) .*/\1 \2/p' \
        docs/recorded/litmus.md)
    grep -qF "Of our $all correct programs, compute-sanitizer reported $sanitizer, and a GPU and \
the checker none" "$words"
}

@test "what a file at the top leads to is there" {
    local file link headings
    for file in README.md CONTRIBUTING.md SECURITY.md CHANGES.md; do
        headings=$(sed -n 's/^##* //p' "$file" | tr 'A-Z ' 'a-z-')
        while read -r link; do
            [ -e "$link" ] || grep -qxF -- "${link#\#}" <<<"$headings" ||
                complain "$file leads to $link, which is not there."
        done < <(tr '\n' ' ' <"$file" | grep -oE '\]\([^):]+\)' | tr -d '])(')
    done
    finish
}

@test "each kind of file has its license, and README names it" {
    run head -n 1 LICENSE
    assert_output "MIT License"
    for name in MIT "CC BY 4.0" CC0; do
        grep -qF "$name" LICENSE || complain "LICENSE lacks $name."
        grep -qF "$name" README.md || complain "README.md lacks $name."
    done
    # Every folder and file that LICENSE names is there.
    while read -r path; do
        compgen -G "$path" >/dev/null || complain "LICENSE names $path, which is not there."
    done < <(grep -oE '(docs|simulator|tests)/[A-Za-z_./*]+[a-z*]' LICENSE)
    finish
}

@test "actions are named by hash, and only the jobs that publish may write" {
    run grep -hnE '^ *-? *uses:' .github/workflows/*.yml
    assert_success
    refute_line --regexp 'uses: *[^ @]+@([^0-9a-f]|.{1,39}( |$))'
    run awk '/^  [a-z]+:$/ { job = $1 } /: write/ { print job, $0 }' .github/workflows/*.yml
    assert_output "$(lines 'publish:       pages: write' 'publish:       id-token: write' \
        'release:       contents: write # the release')"
}
