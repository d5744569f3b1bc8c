#!/usr/bin/env bats
# A graded run: SIM_SEAL. What is closed, what stays open, and when a journal counts.

load ../../../tests/suite

setup_file() {
    make -s -C "$ROOT" BACKEND=simulator build/simulator/simulator/tests/unit/sealed \
        build/simulator/lessons/08_stream_order
}

setup() { cd "$BATS_TEST_TMPDIR" || return 1; }

# sealed PROGRAM [ARGUMENT...]: runs it as a check does, sealed (SEAL, which may be "exec"), in the
# folder run, with the settings SIM_ENV
sealed() {
    rm -rf run && mkdir run
    run_program "{\"place\": {\"seal\": true}, \"exec\": $([ "${SEAL:-}" = exec ] && echo true ||
        echo false)}" run LD_LIBRARY_PATH="$ROOT/build/simulator" \
        SIM_JOURNAL="$PWD/run/journal.jsonl" "${SIM_ENV[@]}" -- "$ROOT/build/simulator/$1" "${@:2}"
}
case_of() { sealed simulator/tests/unit/sealed "$@"; }

@test "a graded run can write to nothing, start nothing and look into nothing" {
    # All in one process of Python, because starting it takes longer than such a run.
    run python3 -SB - "$ROOT" <<'PYTHON'
import platform
import sys
from pathlib import Path

sys.path.insert(0, f"{sys.argv[1]}/tests/grading")
from run import run

simulator = f"{sys.argv[1]}/build/simulator"
words_of = {
    "opens a file for writing": "create fopen open-both-ways truncate",
    "starts another program": "exec",
    "removes a file": "unlink",
    "renames a file": "rename",
    "looks into another process": "ptrace",
    "writes into another process": "other-memory",
    "makes memory executable": "executable executable-map",
    "signals a group of processes": "kill-all",
    "a connection to a network": "network",
    "makes a namespace": "namespace namespace-clone",
    "leaves memory behind": "shared-memory",
    "changes the simulated device": "map-paths",
    "": "system",
}
# What comes by exec puts a filter of its own on top, which lets these pass.
alone = {
    "filters system calls": "filter",
    "changes the simulated device": "map-over unmap unmap-first map-over-from-below empty "
    "move-away move-over open-library open-paths",
}
if platform.machine() == "x86_64":
    words_of["by itself"] = "32-bit"
    words_of["that no lesson needs"] = "x32"
    words_of["makes a system call by itself"] = "instruction"


def case(number, exec_, *arguments):
    """(status, standard output, standard error, did it make its file?)"""
    folder = Path(f"run{number}")
    folder.mkdir()
    status, _ = run({
        "folder": str(folder), "place": {"seal": True}, "exec": exec_,
        "program": f"{simulator}/simulator/tests/unit/sealed", "arguments": arguments,
        "environment": {
            "LD_LIBRARY_PATH": simulator,
            "SIM_JOURNAL": str(folder.resolve() / "journal.jsonl"),
        },
    })
    texts = [(folder / name).read_text(errors="replace") for name in ("stdout", "stderr")]
    return status, *texts, (folder / "made").exists()


number = 0
for exec_ in False, True:
    for words, names in [*words_of.items(), *(() if exec_ else alone.items())]:
        for name in names.split():
            for before in ([],) if name == "system" else ([], ["call"]):
                number += 1
                status, printed, errors, made = case(number, exec_, name, *before)
                if name == "system":
                    refused = status == 1
                else:
                    refused = status == 1 and words in errors and not printed and not made
                    refused = refused and "may not while it is graded" in errors
                if not refused:
                    print(f"exec {exec_}: {name} {before}: status {status}, {printed}{errors}")
    # The one place of paths that may be opened for writing is read-only.
    number += 1
    status, _, _, made = case(number, exec_, "own-path")
    if status != 139 or made:
        print(f"exec {exec_}: own-path: status {status}")
PYTHON
    assert_success
    assert_output ""
}

@test "without SIM_SEAL all of that is allowed" {
    local what
    cd "$BATS_TEST_TMPDIR" && : >journal.jsonl
    for what in create network executable unlink; do
        run "$ROOT/build/simulator/simulator/tests/unit/sealed" "$what"
        [ "$status$output" = "0went on" ] || miss "$what: $status $output"
    done
}

@test "what a lesson needs stays: reading, threads, a second process, the lines of a report" {
    local what
    for what in nothing read memory thread two; do
        case_of "$what"
        [ "$status$ended" = 0 ] || miss "$what: status $status $ended $(cat run/stderr)"
    done
    [ -s run/journal.jsonl ] && [ -s run/journal.jsonl.1 ] ||
        miss "two processes: $(ls run)"
    sealed lessons/08_stream_order
    [ "$status$ended" = 3 ] || miss "lesson 08's starter: status $status $ended"
    grep -q 'at lessons/08_stream_order.c:[0-9]' run/stderr ||
        miss "no line in the report:" "$(head -n 4 run/stderr)"
}

@test "a program that may start itself again does so with the settings of its grader" {
    case_of again
    [[ $status = 1 && $(<run/stderr) == *"starts another program"* ]] ||
        miss "It may not: status $status $(cat run/stdout run/stderr)"
    SEAL="exec" case_of again
    [[ $status$ended = 0 && $(<run/stdout) = "2 devices" && -s run/journal.jsonl ]] ||
        miss "It may: status $status $ended $(cat run/stdout run/stderr)"
    # Where each process has its libraries at the same addresses, too.
    SEAL="exec" RUN_BY="setarch -R" case_of again
    [[ $status$ended = 0 && $(<run/stdout) = "2 devices" ]] ||
        miss "Without randomized addresses: status $status $(cat run/stdout run/stderr)"
}

@test "a journal that was written over, planted or taken away does not count" {
    # The program writes to every descriptor that it has.
    case_of write-journal
    assert_equal "$ended" journal
    # It ends without the end of its journal: that is for the check's other sentences.
    case_of end-early
    assert_equal "$status$ended" 0
    # Another process writes beside it: the files of the run are there when it begins.
    local made
    for made in 'echo {} >run/journal.jsonl' 'mkfifo run/journal.jsonl.3' \
        'echo {} >run/journal.jsonl.7' 'truncate -s 1T run/journal.jsonl' \
        'ln -s /dev/zero run/journal.jsonl'; do
        rm -rf run && mkdir run
        eval "$made"
        RUN_BY=bounded run_program '{"place": {"seal": true}}' run \
            LD_LIBRARY_PATH="$ROOT/build/simulator" SIM_JOURNAL="$PWD/run/journal.jsonl" \
            -- "$ROOT/build/simulator/simulator/tests/unit/sealed" nothing
        [ -n "$ended" ] || miss "$made: the run counts."
    done
}

@test "the journal and its receipt repeat the settings, and others than the grader's do not count" {
    local SIM_ENV=(SIM_DEVICES=3 SIM_CHECK=off SIM_CHECK=strict SIM_PEERS=) what
    case_of two
    assert_equal "$status$ended" 0
    run head -qn 1 run/journal.jsonl run/journal.jsonl.1
    assert_line --index 0 --partial '"settings":"SIM_CHECK=strict SIM_DEVICES=3"'
    assert_line --index 1 --partial '"settings":"SIM_CHECK=strict SIM_DEVICES=3"'
    # Of a process that was started with others, or that says so in its receipt alone.
    holds() { # holds SETTINGS OF THE JOURNAL, OF THE RECEIPT
        rm -rf forged && mkdir forged
        python3 -SB - "$ROOT/tests/grading" "$1" "$2" "${given[@]}" <<'PYTHON'
import os
import sys
import zlib

sys.path.insert(0, sys.argv[1])
from seal import Seal

journal, receipt, *given = sys.argv[2:]
seal = Seal("receipts", hidden=False)
settings = f',"settings":"{journal}"' if journal else ""
data = f'{{"n":0,"did":"start"{settings}}}\n'.encode()
open("forged/journal.jsonl", "wb").write(data)
line = f"0 {zlib.crc32(data)} {len(data)} {seal.secrets[0]} {receipt}\n"
os.pwrite(seal.descriptor, line.encode(), 0)
os.truncate(seal.descriptor, len(line))
sys.exit(not seal.holds("forged", dict(pair.split("=", 1) for pair in given)))
PYTHON
    }
    given=(LD_LIBRARY_PATH=x SIM_JOURNAL=y SIM_CHECK=on SIM_MEMORY=8G)
    holds "SIM_MEMORY=8G SIM_CHECK=on" "SIM_CHECK=on SIM_MEMORY=8G" || miss "They agree."
    for what in "" SIM_CHECK=on "SIM_CHECK=off SIM_MEMORY=8G" "SIM_CHECK=on SIM_MEMORY=8G SIM_X=1"
    do
        ! holds "$what" "SIM_CHECK=on SIM_MEMORY=8G" || miss "The journal's line is: $what"
        ! holds "SIM_CHECK=on SIM_MEMORY=8G" "$what" || miss "The receipt's are: $what"
    done
    given=(SIM_JOURNAL=y)
    holds "" "" || miss "There are none."
    ! holds SIM_CHECK=off "" || miss "None was given."
}

@test "a graded run's settings are in a page that /proc/self/mem cannot write, either" {
    # Where a program may start itself again it can open the page of paths, and so this file.
    SEAL="exec" case_of write-settings
    [[ $status$ended = 0 && $(<run/stdout) = "as they were" ]] ||
        miss "status $status $ended: $(cat run/stdout run/stderr)"
}

@test "the settings of a graded run cannot be changed in memory, and a bad SIM_SEAL is named" {
    local program=$ROOT/build/simulator/simulator/tests/unit/sealed
    run env SIM_SEAL=77 "$program" nothing
    assert_equal "$status" 1
    assert_output --partial 'SIM_SEAL is "77"; expected the number of a descriptor'
    run env SIM_SEAL=here "$program" nothing
    assert_equal "$status" 1
    assert_output --partial 'SIM_SEAL is "here"'
}
