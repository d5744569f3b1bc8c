#!/usr/bin/env bats
# The simulated device returns what a real one returned: the programs behind simulator/tests/facts
# run again, and every line that is modeled is compared.
# Its tests mostly wait.

load ../../../tests/suite

setup_file() {
    local programs=(simulator/tests/facts/{one-gpu,danger,walks,probe-*}.c)
    programs=("${programs[@]%.c}")
    make -s BACKEND=simulator "${programs[@]/#/build/simulator/}" \
        build/simulator/solutions/18_pinned_transfers
}

setup() {
    unset "${!SIM_@}"
    export LD_LIBRARY_PATH=$ROOT/build/simulator SIM_DEVICES=1 SIM_CHECK=leaks
    replay="python3 -B simulator/tests/unit/replay.py"
    probes=$ROOT/build/simulator/simulator/tests/facts
}

# compare FILE ACTUAL [RECORDED]: no line differs but those that differences.txt names. With
# aside=-w spaces do not count: a call is printed as its program writes it, and some programs write
# it with other spaces than the recorded one did.
compare() {
    local name count text why found diff=$BATS_TEST_TMPDIR/diff
    diff ${aside:-} "${3:-simulator/tests/facts/$1.txt}" "$2" | grep '^[<>]' >"$diff" || true
    while IFS='|' read -r name count text why; do
        found=$(grep '^<' "$diff" | grep -cF -- "$text" || true)
        [ "$found" = "$count" ] ||
            complain "differences.txt says that $count lines of $1.txt with \"$text\" differ." \
                "($why) Now $found do. If that is correct, change differences.txt."
        grep -vF -- "$text" "$diff" >"$diff.rest" || true
        mv "$diff.rest" "$diff"
    done < <(grep "^$1|" simulator/tests/facts/differences.txt)
    [ ! -s "$diff" ] ||
        complain "Lines of simulator/tests/facts/$1.txt differ (< recorded, > here):" \
            "$(head -n 40 "$diff")"
}

# ask PROBE [SED [SED [ARGUMENT...]]]: the probe's answers are the recorded ones, without what the
# first SED deletes from both, and when the second has changed the asked ones.
ask() {
    local name=probe-$1
    SIM_CHECK=off bounded "$probes/$name" "${@:4}" 2>"$BATS_TEST_TMPDIR/stderr" |
        sed "${2:-}" | sed "${3:-}" >"$BATS_TEST_TMPDIR/asked"
    [ "${PIPESTATUS[0]}" = 0 ] || complain "$name does not end with status 0."
    sed "${2:-}" "simulator/tests/facts/$name.txt" >"$BATS_TEST_TMPDIR/recorded"
    compare "$name" "$BATS_TEST_TMPDIR/asked" "$BATS_TEST_TMPDIR/recorded"
    finish
}

# said WORDS RECORDED: stderr has as many lines with the words as the recorded lines of the other
# ones: what crashes or hangs a driver is reported.
said() {
    local reported recorded
    reported=$(grep -c "$1" "$BATS_TEST_TMPDIR/stderr") || true
    recorded=$(grep -c "$2" "$BATS_TEST_TMPDIR/recorded") || true
    [ "$reported" = "$recorded" ] ||
        miss "$recorded times a driver crashes or hangs, and $reported are reported:" \
            "$(cat "$BATS_TEST_TMPDIR/stderr")"
}

@test "replayed walks: at least nine steps in ten agree in each profile, and no fewer than before" {
    local reached name agree offset found
    reached=$(SIM_CHECK=off $replay)
    while read -r name agree offset; do
        found=$(awk -v name="$name" -v a="$agree" -v o="$offset" \
            '$1 == name { print ($3 >= 90 && $3 >= a && $4 >= o) ? "yes" : "no" }' <<<"$reached")
        [ "$found" = yes ] ||
            complain "$name: expected at least $agree % of the steps, $offset % with their offsets."
    done <<'END'
capped 100.0 100.0
large 96.8 95.2
mixed 95.8 95.8
one-stream 100.0 100.0
several 100.0 98.3
small 100.0 100.0
END
    found=$(awk '{ split($5, whole, "/"); agree += whole[1]; all += whole[2] }
        END { print agree " of " all }' <<<"$reached")
    [ "$found" = "117 of 120" ] ||
        complain "$found walks agree to their end. README.md and docs/simulator.rst say" \
            "117 of 120: change both, or neither."
    # shellcheck disable=SC2154  # suite.bash has it
    [ "${#complaints[@]}" = 0 ] || complain "The table (replay.py -v shows each mismatch):" \
        "$reached"
    finish
}

@test "replayed walks: the checker changes nothing that the allocator does" {
    local with without
    without=$(SIM_CHECK=off $replay capped mixed)
    with=$($replay capped mixed)
    assert_equal "$with" "$without"
}

@test "one GPU: growth, thresholds, high marks, reuse, maxSize, errors, destroyed pools" {
    export SIM_CHECK=off                # the questions ask for what a program should not do
    "$probes/one-gpu" first >"$BATS_TEST_TMPDIR/first" 2>"$BATS_TEST_TMPDIR/stderr"
    sed '/^## export/,$d' simulator/tests/facts/one-gpu.txt >"$BATS_TEST_TMPDIR/recorded"
    local aside=-w
    compare one-gpu "$BATS_TEST_TMPDIR/first" "$BATS_TEST_TMPDIR/recorded"
    "$probes/one-gpu" pointers >"$BATS_TEST_TMPDIR/second"
    sed -n '/^## pointer/,/default at end/p' simulator/tests/facts/one-gpu.txt |
        diff -w - <(sed 1d "$BATS_TEST_TMPDIR/second") ||
            complain "The second process's lines differ."
    finish
}

@test "probe: copies, events, attributes and memset nodes with two contexts of the driver API" {
    ask contexts
}

@test "probe: arrays, textures, modules, launches, limits, nodes, and captures of both APIs" {
    # A fault, and an image that cannot run here, are no reason for an exit status of 4.
    SIM_KERNELS=run:allow ask more-answers '' 's/^rc 3$/rc 139/'
}

# Which GPUs a copy between two names says nothing about who needs access to virtual memory.
@test "probe: what the link of two GPUs can do, memory opened on the other one, its nodes" {
    SIM_DEVICES=2 ask more-peers '/^== opened_for_both$/,/^== opened_on_gpu_1$/{
            /cudaMemcpyPeer/d
            /opened for GPU 1 with 1$/,/access of GPU 1/d
        }
        /^== copied_between$/,/^rc/{/^  value 0/d}'
}

# Not modeled are large alignments and reservations, memory of the host and of sparse arrays, and
# DMA-BUF. Left out, too, are a driver's deaths at cuMemcpy, and two cases where a memset that no
# call waited for was over on the GPU.
@test "probe: virtual memory: addresses, memory, mappings, access, uses, and two processes" {
    ask virtual 's/^rc 3$/rc 139/
        /cuMemGetHandleForAddressRange/d
        /^  70368744177664 bytes$/,/^  140737488355328 bytes$/d
        /^  alignment 1073741824$/,/^  alignment 140737488355328$/d
        /^  the second lies/d
        /^  usage 1$/,/^  a reserved byte$/d
        /^  of the host$/,/^  of node 99 of the host$/d
        /cudaMemPoolImport/d
        /^== used_before_mapping$/,/^rc/d
        /^== used_after_unmapping$/,/^rc/d
        /^== mapped_anew$/,/^rc/d
        /^== shared$/,/^== shared_after_the_end$/d'
}

@test "probe: attributes, pointers, error codes, when memory goes back" { ask answers; }

@test "probe: pools, events and memory of several processes" {
    # Where a driver crashes, the simulated device ends with 3; where a wait for a killed process
    # hangs, the wait ends (ipc.bats).
    ask ipc '/^== exporter_killed/,/^== importer_killed/{/cudaEventQuery/,/^rc/d}' \
        's/^rc 3$/rc 139/'
    said "A real driver.* dies of SIGSEGV here" "^rc 139"
}

@test "probe: an imported pool and a second GPU" { SIM_DEVICES=2 ask ipc-peers; }

# under_schedules PROBE: into asked.SCHEDULE, at the same time, because a probe mostly waits
under_schedules() {
    local schedule
    for schedule in measured late random:3; do
        SIM_CHECK=off SIM_SCHEDULE=$schedule bounded "$probes/$1" \
            >"$BATS_TEST_TMPDIR/asked.$schedule" 2>/dev/null &
    done
    wait
}

@test "probe: pools in other locations, pools by location, managed memory, under any schedule" {
    local schedule
    under_schedules probe-pools
    for schedule in measured late random:3; do
        compare probe-pools "$BATS_TEST_TMPDIR/asked.$schedule"
    done
    finish
}

@test "probe: graphs, their memory and captures, whose laws hold, under any schedule" {
    local name schedule
    export SIM_CHECK_LAWS=1
    # Where a driver crashes, the simulated device ends with 3. A graph's addresses begin at any
    # multiple of 32 MiB.
    local one='s/^rc 3$/rc 139/'
    local steps='/address alignment/{ if ($NF % 33554432 == 0) $NF = 33554432 } { print }'
    for name in probe-graphs probe-graph-nodes; do
        under_schedules "$name"
        sed "$one" "simulator/tests/facts/$name.txt" >"$BATS_TEST_TMPDIR/recorded"
        for schedule in measured late random:3; do
            sed "$one" "$BATS_TEST_TMPDIR/asked.$schedule" |
                awk "$steps" >"$BATS_TEST_TMPDIR/asked"
            compare "$name" "$BATS_TEST_TMPDIR/asked" "$BATS_TEST_TMPDIR/recorded"
        done
    done
    finish
}

@test "probe: calls that no program should make, with two GPUs" {
    # Where two threads free the same memory at once, a driver crashes; here the second free is
    # reported (freed_by_two_threads of simulator/tests/litmus/frees.c).
    # In a launch with a copy from memory that was given back, a driver crashes at the launch, and
    # the simulated device ends when the copy runs.
    SIM_DEVICES=2 ask misuse \
        '/^== free_.*twice/,/^rc/d; /^== graph_with_gone/,/^rc/{/cudaGraphLaunch/d}'
    said "where the host has no memory" "^rc 139"
}

@test "probe: what other people's programs rely on" {
    # Where a driver crashes, the simulated device ends with 3 and a sentence.
    ask strangers '' 's/^exit status 3$/signal 11/'
    grep -q 'cudaMallocAsync was given a stream that is destroyed' "$BATS_TEST_TMPDIR/stderr" ||
        miss "A destroyed stream is not named:" "$(cat "$BATS_TEST_TMPDIR/stderr")"
}

@test "probe: what outsiders asked: failed allocations, neighbors, memory that goes back, imports" {
    ask outsiders
}

@test "probe: what outsiders asked: a stream of the other GPU, lists of access" {
    SIM_DEVICES=2 ask outsiders-peers
}

@test "probe: what a call that was refused has queued: nothing" { SIM_DEVICES=2 ask refused; }

@test "probe: a process whose device fails in front of a record that another one waits for" {
    ask ipc-fault
}

@test "probe: memory in rows, ranges of managed memory, numbers on the PCI bus" {
    ask pitch '' 's/^rc 3$/rc 124/'
    grep -q 'A real driver hangs here' "$BATS_TEST_TMPDIR/stderr" ||
        miss "The memset that hangs is not reported:" "$(cat "$BATS_TEST_TMPDIR/stderr")"
}

@test "probe: stream handles that no call has returned" {
    ask handles '' 's/exit status 3$/signal 11/'
}

@test "probe: threads that end with work pending; where a driver hangs, exit status 3" {
    # 64 MiB are pending as long as the 256 that the real device filled.
    ask threads '' 's/^  ended with 3$/  hung: stopped after 10 s/' 64 600
    said "^hazard: a thread that cannot end" hung
}

@test "probe: which calls wait for pending work" { ask waits '' '' 10; }

@test "probe: which copies and memsets of the host's memory wait; freed pinned memory" {
    ask host '' '' 10
}

@test "probe: how much work a stream takes before the host stops" { ask queue; }

@test "probe: what calls return while the process ends; what could not be freed is no leak" {
    local case
    for case in before_first_call destructor; do
        run bounded "$probes/probe-ending" "$case"
        assert_success
        assert_line --partial "cudaFreeAsync was called while the process ends, after the CUDA runt"
        refute_output --partial hazard
    done
    ask ending
}

# Where a driver crashes, the simulated device ends with 3 and a sentence.
@test "probe: odd arguments, and a graph that is added to itself" {
    ask odd-answers '' 's/^rc 3$/rc 139/'
    said "hazard: bad handle.*dies of SIGSEGV here" "^rc 139"
}

@test "probe: how calls fail while streams are captured" {
    ask odd-captures '' 's/^rc 3$/rc 139/'
    said "hazard: bad handle.*an event that is destroyed" "^rc 139"
}

@test "probe: copies of rows, slices, and arrays with odd arguments, and access to mappings" {
    ask odd-copies '' 's/^rc 3$/rc 136/'
    said "hazard: rows without end.*dies of SIGFPE here" "^rc 136"
}

@test "probe: the driver API without a context, and odd arguments of it" { ask odd-driver; }

@test "probe: odd arguments about kernels and launches, and about memory of the host" {
    ask odd-functions '' 's/^rc 3$/rc 139/'
    said "hazard: no attachment.*dies of SIGSEGV here" "^rc 139"
}

# A graph takes no values here.
@test "probe: values of streams, batches of copies, and attributes of pointers" {
    ask values '' '/^cuStreamWriteValue32(s, memory, 1, 0)/s/CUDA_ERROR_NOT_SUPPORTED/CUDA_SUCCESS/'
}

@test "probe: copies in rows that reach beyond their memory" {
    ask endless '' 's/^rc 3$/rc 139/'
    said "hazard: rows without end.*dies of SIGSEGV here" "^rc 139"
    grep -q "^  To do: *give the pitch and the height of the memory\.$" "$BATS_TEST_TMPDIR/stderr"
}

# Whether a reader comes too early was chance on the device; the checker reports each, once for all.
@test "probe: uploads from ordinary memory that are read before they are there: reported" {
    local status=0
    SIM_CHECK=on bounded "$probes/probe-uploads" 1 >"$BATS_TEST_TMPDIR/uploads" \
        2>"$BATS_TEST_TMPDIR/stderr" || status=$?
    assert_equal "$status" 3
    run cat "$BATS_TEST_TMPDIR/stderr"
    assert_line --partial "read not ordered after a write. cudaMemcpy may return before its \
bytes have arrived: it waits until a pageable source has been staged, and for a copy from device \
to device not at all. cudaMemcpyAsync (stream 2)"
    assert_line --partial "found 9 more times: read not ordered after a write"
    assert_equal "$(wc -l <"$BATS_TEST_TMPDIR/uploads")" \
        "$(wc -l <simulator/tests/facts/probe-uploads.txt)"
}

# nvidia-smi is about a device of the machine.
@test "probe: what cudaMemGetInfo counts" { ask counted 's/, nvidia-smi.*//'; }

@test "probe: locality domains, which CUDA 13.4 added" { ask locality; }

@test "probe: reuse between streams, fragmentation, thresholds, alignment" { ask reuse; }

@test "probe: what stalls whom" { ask stalls; }

@test "probe: a full device gives back what its pools keep" { ask full; }

@test "probe: what a pool knows of frees in blocking streams and in the legacy stream" {
    ask legacy-order
}

# The recorded program uses a stream and pinned memory of before the reset there, and crashes.
@test "probe: a reset, with work pending, after a fault, and what stays" {
    ask reset '/^== old_\(pinned_memory_read\|stream_used\)/,/^rc/d'
}

# The recorded program uses freed memory there, which ends the simulated one.
@test "probe: the second launch of a graph, its nodes on pool memory, the flag external" {
    ask graph-again '/^== nodes_on_freed/,/^rc/d
        /^== nodes_freed_before_launch/,/^rc/{/cudaGraphLaunch/d}'
}

@test "probe: what an instantiated graph still takes: all but a free of its memory" {
    ask graph-changed
}

@test "probe: cudaFree leaves used as it was, and reserves what the threshold allows" {
    ask cuda-free
}

@test "probe: a host that reads or writes device memory dies" { ask host-touch; }

@test "probe: which copies between two GPUs can be captured" { SIM_DEVICES=2 ask peer-capture; }

@test "probe: copies between two GPUs: what they wait for, and their codes" {
    SIM_DEVICES=2 ask peer-copies
}

@test "probe: access between two GPUs, and which calls wait for the other one" {
    SIM_DEVICES=2 ask peer-calls
}

@test "probe: memory, events and nodes of the GPU that is not current" {
    SIM_DEVICES=2 ask odd-peers
}

# An importer sees the GPUs that its exporter sees: CUDA_VISIBLE_DEVICES is not simulated.
@test "probe: imported memory that cudaFree frees, an imported pool's attributes" {
    SIM_DEVICES=2 ask importer '/^== importer_sees_/,$d'
}

# What a real device returned in a case of danger.txt.
recorded_case() {
    awk -v n="$1" '/^== /{ on = $2 == n; next } on' simulator/tests/facts/danger.txt
}

# near RECORDED ASKED: the asked lines, but as recorded where their times differ by 10 % or less, or
# by 8 us or less, as two recordings of a small copy do. Of several copies that are alike, "N x",
# the order of the times does not count: which of them goes first was chance.
near() {
    awk '
        function is_near(a, b) { return a - b <= most(b) && b - a <= most(b) }
        function most(b) { return b * 0.1 > 8 ? b * 0.1 : 8 }
        function sort(t, n,    i, j, x) {
            for (i = 2; i <= n; i++) {
                x = t[i]
                for (j = i - 1; j > 0 && t[j] > x; j--) t[j + 1] = t[j]
                t[j + 1] = x
            }
        }
        function times(line, t,    n, i) {
            sub(/^.* us: */, "", line)
            n = split(line, t, " ")
            for (i = 1; i <= n; i++) t[i] += 0
            if (label ~ / x /) sort(t, n)
            return n
        }
        FNR == NR { recorded[FNR] = $0; next }
        {
            label = $0
            sub(/ +[0-9.]+ us: .*/, "", label)
            n = times($0, a)
            same = index(recorded[FNR], label " ") == 1 && n == times(recorded[FNR], b)
            for (i = 1; i <= n; i++) same = same && is_near(a[i], b[i])
            print same ? recorded[FNR] : $0
        }' "$1" "$2"
}

# how_long PROBE DEVICES
how_long() {
    local name=probe-$1
    SIM_CHECK=off SIM_DEVICES=$2 "$probes/probe-$1" 1 >"$BATS_TEST_TMPDIR/times" \
        2>"$BATS_TEST_TMPDIR/stderr"
    near "simulator/tests/facts/$name.txt" "$BATS_TEST_TMPDIR/times" >"$BATS_TEST_TMPDIR/near"
    compare "$name" "$BATS_TEST_TMPDIR/near"
    finish
}

@test "probe: how long copies take, alone and beside others" { how_long engines 1; }

@test "probe: how long copies between two GPUs take, alone and beside others" {
    how_long peer-engines 2
}

@test "lesson 18 takes as long as on the recorded device, within 10 %" {
    local mib recorded
    for mib in 64 8; do
        recorded=tests/lessons/18_pinned_transfers/expected/output.txt
        [ "$mib" = 64 ] || recorded=${recorded%.txt}.$mib.txt
        build/simulator/solutions/18_pinned_transfers "$mib" >"$BATS_TEST_TMPDIR/modeled"
        awk '/^~.* us/ { sub(/^.*[^0-9.]+[0-9]* MiB up, /, "~ "); match($0, /[0-9.]+ us/)
                         print substr($0, 1, RSTART - 1) "|" substr($0, RSTART) + 0 }
            ' "$recorded" "$BATS_TEST_TMPDIR/modeled" |
            awk -F '|' -v mib="$mib" '
                !($1 in recorded) { recorded[$1] = $2; next }
                { compared++ }
                $2 > 1.1 * recorded[$1] || $2 < 0.9 * recorded[$1] {
                    print mib " MiB, " $1 ": " $2 " us; the recorded device took " recorded[$1]
                }
                END { if (compared != 5) print mib " MiB: " compared " times were compared" }
            ' >"$BATS_TEST_TMPDIR/far"
        [ ! -s "$BATS_TEST_TMPDIR/far" ] || complain "$(cat "$BATS_TEST_TMPDIR/far")"
    done
    finish
}

@test "calls that may crash: the recorded results; where a driver crashed or hung, status 3" {
    local n status wanted folder=$BATS_TEST_TMPDIR aside=-w
    export SIM_CHECK=off                 # what the checker finds is the next test's
    : >"$folder/recorded"
    : >"$folder/actual"
    for n in {0..19}; do
        status=0
        bounded "$probes/danger" "$n" >"$folder/out" 2>"$folder/err" || status=$?
        recorded_case "$n" | grep -v '^(' >"$folder/case"
        if grep -qE '^rc (139|124)$' "$folder/case"; then
            [ "$status" = 3 ] || complain "Case $n: exit status $status, not 3."
            [[ $(head -n 1 "$folder/err") == "hazard: "*". "* ]] ||
                complain "Case $n: stderr does not begin with a sentence after \"hazard:\":" \
                    "$(head -n 1 "$folder/err")"
            wanted=$(sed '/^rc/d' "$folder/case")
            [[ $wanted == "$(cat "$folder/out")"* ]] ||
                complain "Case $n: it returned:" "$(cat "$folder/out")" "and not:" "$wanted"
        else
            cat "$folder/case" >>"$folder/recorded"
            { cat "$folder/out"; echo "rc $status"; } >>"$folder/actual"
        fi
    done
    compare danger "$folder/actual" "$folder/recorded"
    finish
}

@test "calls that may crash: the checker reports the incorrect ones; the results stay" {
    local n status correct=" 8 9 11 14 15 16 " folder=$BATS_TEST_TMPDIR
    for n in {0..19}; do
        status=0
        bounded "$probes/danger" "$n" >"$folder/out" 2>"$folder/err" || status=$?
        if [[ $correct == *" $n "* ]]; then
            [ "$status" = 0 ] ||
                complain "Case $n is correct, but: exit status $status: $(head -n 1 "$folder/err")"
        else
            [ "$status" = 3 ] || complain "Case $n: exit status $status, not 3."
            grep -q '^hazard: ' "$folder/err" ||
                complain "Case $n: no line of stderr begins with \"hazard:\"."
        fi
        SIM_CHECK=off bounded "$probes/danger" "$n" 2>/dev/null | cmp -s - "$folder/out" ||
            complain "Case $n: the checker changes the results."
    done
    finish
}
