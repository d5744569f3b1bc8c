#!/usr/bin/env bats
# The recorders of tools/gpu, which record and verify on a GPU: there is one for every recorded
# line, and each works, with the simulated device in the GPU's place.

load ../suite

# recorder PART... [NAME=VALUE...]: records them in a copy of the workbook; tables are in $tables
recorder() {
    tables=$BATS_TEST_TMPDIR/out
    rm -rf "$BATS_TEST_TMPDIR/workbook"
    run env "${@:2}" OUT="$tables" tools/gpu/stand_in.sh "$BATS_TEST_TMPDIR/workbook" \
        make gpu "$1"
}

@test "each recorded file has a program beside it or a part, and a row in the table of facts" {
    local file name
    for file in simulator/tests/facts/*.txt simulator/tests/facts/*.txt.gz; do
        name=$(basename "${file%.gz}" .txt)
        case $name in
        differences | chance | questions | ipc-mutants) ;;   # by hand; by record.py
        kernels-*)
            [ -e "simulator/tests/unit/kernels/${name#*-}.cu" ] ||
                [ -e "simulator/tests/unit/${name#*-}.c" ] || complain "$name?" ;;
        *) [ -e "${file%.txt*}.c" ] || complain "There is no $name.c, which prints $name.txt." ;;
        esac
        grep -q "^|.*\b$(basename "$file")" simulator/tests/facts/README.md ||
            complain "simulator/tests/facts/README.md has no row for $file."
    done
    finish
}

@test "without a GPU nothing is built to record one" {
    printf '#!/bin/sh\nexit 9\n' >"$BATS_TEST_TMPDIR/nvidia-smi"
    chmod +x "$BATS_TEST_TMPDIR/nvidia-smi"
    PATH=$BATS_TEST_TMPDIR:$PATH run tools/gpu/record.py probes
    assert_equal "$status" 2
    assert_output --partial "make gpu records what a GPU does, and nvidia-smi -L shows none."
}

@test "a part or a name that is not there: the names of those that are, and nothing is built" {
    recorder peers ONLY=p3p
    assert_failure 1
    assert_output --partial 'peers has no "p3p". It records: p2p peer-numbers probe-'
    refused "the parts are lessons probes peers walks " tools/gpu/record.py walk
    refused "make gpu has no part 'walk'." make gpu walk
}

@test "chance: answers are counted, and one that no GPU has given is named" {
    run tools/gpu/stand_in.sh "$BATS_TEST_TMPDIR/workbook" bash -c '
        known=simulator/tests/facts/chance.txt
        sed -i "/yesterday/!d" $known
        RUNS=3 OUT=three tools/gpu/record.py chance || exit 10
        sed -i "/ 512 /d" $known
        RUNS=1 OUT=one tools/gpu/record.py chance 2>log && exit 11
        cat three/chance.md one/chance.md log'
    assert_success
    local answer="sum 28, reserved 64 MiB after round 1, 512 MiB after round 8"
    assert_line "| docs/programs/yesterday | $answer | 3 |"
    assert_line "| docs/programs/yesterday | $answer | 1 |"
    assert_equal "$(tail -n 2 <<<"$output")" \
        "$(printf '%s\n' "Answers that are not in simulator/tests/facts/chance.txt:" \
            $'docs/programs/yesterday\t'"$answer")"
}

@test "questions: a run that ends otherwise on the GPU is named, with its first other line" {
    run tools/gpu/stand_in.sh "$BATS_TEST_TMPDIR/workbook" bash -c '
        rm tests/book && mkdir tests/book
        grep "; make solution-0[12]\b\|review_memory" "$1" >tests/book/answers.txt
        OUT=one tools/gpu/record.py questions || exit 10
        printf "#!/bin/sh\n" >bin/make   # what is built stays
        sed -i "2i echo another; exit 4" build/gpu/solutions/02_default_pool
        sed -i "2i exit 4" build/gpu/mutants/01_first_allocation/event_recorded_too_early
        OUT=two tools/gpu/record.py questions 2>log && exit 11
        cat one/questions.md two/questions.md log' questions "$PWD/tests/book/answers.txt"
    assert_success
    assert_line "| docs/programs/review_memory |  | yes |  |  |"
    assert_line "| solutions/02_default_pool | 33 | yes |  |  |"
    assert_line --regexp '^\| solutions/02_default_pool \| 33 \| no \| .* \| another \|$'
    assert_equal "$(tail -n 3 <<<"$output")" \
        "$(printf '%s\n' \
            "Runs that differ, without a line in simulator/tests/facts/questions.txt:" \
            solutions/02_default_pool "solutions/02_default_pool 33")"
}

# bats test_tags=long
@test "SANITIZER is another compute-sanitizer: tables name its version; a wrong one is an error" {
    run tools/gpu/stand_in.sh "$BATS_TEST_TMPDIR/workbook" bash -c '
        sed "s/Version none/Version 2026.4.0.0 (build 1)/" bin/compute-sanitizer >other
        chmod +x other
        export OUT=out SANITIZER=./other
        ONLY="write_write" TIMES=1 tools/gpu/record.py sanitizer litmus || exit 10
        cat out/sanitizer.md out/litmus.md'
    assert_success
    assert_line --partial "- compute-sanitizer: Version 2026.4.0.0 (build 1); "
    assert_output --partial "| alone | compute-sanitizer 2026.4.0.0, leaks | "
    assert_line "| pools | 4 | 1 times ended | 1 times 0 errors | 1 times 0 errors |"
    assert_line "| write_write |  | nothing | nothing | nothing |"
    assert_line "| incorrect programs noticed | 0 of 1 | 0 of 1 | 1 of 1 |"
    run env SANITIZER=/bin/true make gpu litmus
    assert_failure
    assert_output --partial "SANITIZER=/bin/true is no compute-sanitizer that says its version."
}

# bats test_tags=long
@test "walks: as many differ as the replay has, and more than two in a profile are reported" {
    recorder walks
    assert_success
    assert_output --partial "| walks | yes |"
    run cat "$tables/walks.md"
    assert_line "| small | 20 of 20 | 0 of 20 |  |"
    assert_line --regexp '^\| large \| 20 of 20 \| 1 of 20 \| 14 from step [0-9]+ \|$'
    # the same walks, where three recorded ones have another step
    rm -rf "$BATS_TEST_TMPDIR/workbook"
    run tools/gpu/stand_in.sh "$BATS_TEST_TMPDIR/workbook" bash -c '
        walks=simulator/tests/facts/walks.txt
        gzip -d $walks.gz
        sed -i -E "s/^(# seed (2|9|20) profile 1 .*)/\1 changed/" $walks
        gzip $walks
        OUT=out tools/gpu/record.py walks && exit 10
        cat out/walks.md'
    assert_success
    assert_line "| small | 20 of 20 | 3 of 20 | 2 from step 0, 9 from step 0, 20 from step 0 |"
}

@test "what is chance in a recording is not compared: each line of old_memory_in_kernel else is" {
    python3 -B - <<'END'
import sys
from pathlib import Path

sys.path.insert(0, "tools/gpu")
from record import comparable

recorded = Path("simulator/tests/facts/probe-reset.txt").read_text()
case = recorded.index("launch_fill(m, 1, 16, 0)")
for word, same in ("cudaSuccess\n", True), ("cudaDeviceSynchronize", False), ("end", False):
    at = recorded.index(word, recorded.index("\n", case))
    another = recorded[:at] + "another" + recorded[at:]
    found = comparable("probe-reset", another) == comparable("probe-reset", recorded)
    assert found == same, word
END
}

# bats test_tags=long
@test "what two GPUs printed: no line differs; with one GPU it is skipped" {
    recorder peers ONLY="p2p peer-numbers"
    assert_success
    run cat "$tables/peers.md"
    assert_line "| p2p | 0 | 0 of 219 |"
    assert_line "| peer-numbers | 0 | 0 of 56 |"
    recorder peers ONLY=p2p GPUS=1
    assert_success
    run cat "$tables/peers.md"
    assert_line "| p2p | skipped: needs 2 GPUs |  |"
}

# bats test_tags=long
@test "one GPU: every section of one-gpu.txt is asked for; a line that differs is reported" {
    run tools/gpu/stand_in.sh "$BATS_TEST_TMPDIR/workbook" bash -c '
        sed -i "s/second allocation in the same capture: same address 1/& changed/" \
            simulator/tests/facts/one-gpu.txt
        export OUT=out ONLY="one-gpu ipc"
        tools/gpu/record.py probes && exit 11
        cat out/probes.md build/record/probes.d/one-gpu.diff'
    assert_success
    assert_line "| one-gpu | 0 | 1 of 276 |"
    assert_line "| ipc | 0 | 0 of 79 |"
    assert_line "< secondallocationinthesamecapture:sameaddress1changed"
}

# bats test_tags=long
@test "lessons: each runs, is sanitized twice and prints what is expected; late ones are named" {
    # Some of them are enough to try the recorder.
    run tools/gpu/stand_in.sh "$BATS_TEST_TMPDIR/workbook" bash -c '
        export ONLY="docs/programs/model_events 02 06"
        OUT=whole tools/gpu/record.py lessons || exit 10
        outputs=$(wc -l <build/record/lessons.d/outputs.txt)
        SECONDS_ALL=0 OUT=late tools/gpu/record.py lessons && exit 11
        echo "$outputs"
        grep -c "| 0 | yes | yes | 0 | 0 |$" whole/lessons.md
        grep -c "| not run: no time was left |" late/lessons.md
        grep "^| lessons | not all of it was run |" late/gpu.md'
    assert_success
    assert_equal "$(tail -n 4 <<<"$output" | head -n 3 | sort -u)" 6
}

# bats test_tags=long
@test "the starter and the mutants that ipc-mutants.txt names are run for it" {
    local name
    recorder probes ONLY=ipc-mutants
    run cat "$BATS_TEST_TMPDIR/workbook/build/record/probes.d/ipc-mutants.txt"
    for name in $(sed -n 's/^== \(.*\):.*/\1/p' simulator/tests/facts/ipc-mutants.txt); do
        assert_line --partial "== $name: 20 runs, "
    done
    refute_output --partial "No such file"
}
