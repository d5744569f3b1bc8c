#!/usr/bin/env bats
# What runs in the reader's browser (docs/live, simulator/os/web): the pool bench and the lessons.
# Chromium runs it here, and it is compared with what runs outside.

load ../suite

BENCH=$ROOT/build/simulator/docs/live/bench
DAYS=$ROOT/build/simulator/docs/live/days
LIVE=docs/live/live.wasm

# The ready scripts, each in a file of its own: NUMBER.txt
setup_file() {
    export SCRIPTS=$BATS_FILE_TMPDIR/scripts
    mkdir "$SCRIPTS"
    awk '/^\/\/ [0-9][0-9] / { number = $2 } { print >(ENVIRON["SCRIPTS"] "/" number ".txt") }' \
        docs/live/scripts.txt
    as_typed make build/simulator/docs/live/{bench,days}
}

# in_page MODULE SCRIPT [FRAGMENT...]: runs a script in a page, or one for each fragment, and puts
# the files that are its value into the test's folder (live_page.py).
in_page() {
    PYTHONPATH=docs/extensions run timeout 600 \
        python3 -SB tests/book/live_page.py "$1" "$BATS_TEST_TMPDIR" "${@:2}" 3>&-
    [ "$status" != 77 ] || skip "$output"
    [ "$status" = 0 ] || miss "In the page:" "$output"
}

# run_in_page MODULE RUN...: runs programs, each with its argument behind a blank. What the first
# one printed is in 0.output and 0.errors, its exit status in 0.status, and so on.
run_in_page() {
    # shellcheck disable=SC2016
    in_page "$1" "(async () => {
        const files = {};
        for (const [number, words] of $(jq -cn '$ARGS.positional' --args "${@:2}").entries()) {
            const [program, ...rest] = words.split(' ');
            const result = await simulatedDevice.run(program, rest, {});
            for (const part of ['output', 'errors', 'status'])
                files[number + '.' + part] = String(result[part]);
        }
        return files;
    })()"
}

# Runs a script as the page does, outside of the page. journal_of FILE JOURNAL
journal_of() {
    SIM_CHECK=${SIM_CHECK:-on} SIM_JOURNAL=$2 bounded "$BENCH" run 200 "$(<"$1")"
}

# same_calls JOURNAL JOURNAL: but for where they stand in the source
same_calls() {
    local place='s/,"file":"[^"]*","line":[0-9]*//'
    cmp -s <(sed "$place" "$1") <(sed "$place" "$2")
}

# Compiles the C programs of scripts into one program, whose first argument is which of them runs.
# programs_of PROGRAM SCRIPT...
programs_of() {
    local program=$1 number=0 script
    shift
    for script; do
        echo "#define main main_$((++number))"
        "$BENCH" c "$(<"$script")"
        echo "#undef main"
    done >"$program.c"
    {
        echo 'int main(int argc, char **argv)'
        echo '{'
        echo '    int (*const programs[])(void) = {'
        for ((i = 1; i <= number; i++)); do echo "        main_$i,"; done
        echo '    };'
        echo '    return argc == 2 ? programs[atoi(argv[1]) - 1]() : 2;'
        echo '}'
    } >>"$program.c"
    as_typed make -s program LESSON="$program.c" PROGRAM="$program"
}

# refuses SCRIPT SENTENCE: a ; in the script begins a line.
refuses() {
    run "$BENCH" run 9 "${1//;/$'\n'}"
    assert_failure 2
    assert_output "$2"
}

@test "a mistake in a script is a sentence that names its line" {
    refuses 'cudaFoo(a)' \
        'line 1: the bench has no call "cudaFoo"; its buttons list those that it has.'
    refuses 'hello' 'line 1: a line is a call, such as cudaMallocAsync(a, 64 MiB, s1).'
    refuses '// ok;cudaFreeAsync(a, s1)' 'line 2: no line above allocates a.'
    refuses 'cudaMallocAsync(a, 64, s1)' \
        'line 1: 64 has no unit: is it 64 MiB?'
    refuses 'cudaMallocAsync(a, 0 MiB, s1)' 'line 1: an allocation has at least 1 KiB.'
    refuses 'cudaMallocAsync(a, 1 MiB, s5)' \
        'line 1: "s5" is no stream; the streams are s1 to s4.'
    refuses 'cudaMallocAsync(s1, 1 MiB, s1)' \
        'line 1: "s1" is no name for an allocation; a name is letters and digits, such as a.'
    refuses 'cudaMallocAsync(a, 1 MiB)' \
        'line 1: expected the form cudaMallocAsync(a, 64 MiB, s1).'
    refuses 'gate_open(s1)' 'line 1: no line above holds s1.'
    refuses 'cudaDeviceSynchronize();cudaMemPoolCreate(maxSize, 1 MiB)' \
        'line 2: the pool is created before everything else: make this the first line.'
    refuses 'cudaMemPoolSetAttribute(ReuseAllowOpportunistic, 2)' \
        'line 1: ReuseAllowOpportunistic is 0 or 1, not "2".'
    refuses 'cudaEventRecord(a, s1);cudaMallocAsync(a, 1 MiB, s1)' \
        'line 2: a is an event in another line; use another name.'
}

@test "a call may stand as in C, and a size has any of three units" {
    local form
    for form in 'cudaMallocAsync((void **)&a, 64 << 20, s1);' 'cudaMallocAsync(&a, 64MiB, s1);' \
        'cudaMallocAsync(a, 65536 KiB, s1)'; do
        run "$BENCH" c "$form"
        assert_success
        assert_line --partial "cudaMallocAsync((void **)&a, 64 * MiB, s1)"
    done
    run "$BENCH" c 'cudaMallocAsync(a, 2 GiB, s1)'
    assert_line --partial "cudaMallocAsync((void **)&a, 2048 * MiB, s1)"
}

@test "a script runs as far as its line, and a call that fails ends it" {
    local script
    script=$(lines 'cudaMemPoolCreate(maxSize, 32 MiB)' 'cudaStreamQuery(s1)' \
        'cudaMallocAsync(a, 64 MiB, s1)')
    run "$BENCH" run 2 "$script"
    assert_success
    assert_output "s1: cudaSuccess"
    run "$BENCH" run 3 "$script"
    assert_failure 1
    assert_line "line 3: cudaMallocAsync returned cudaErrorMemoryAllocation (out of memory)"
}

@test "the C program of each ready script makes the same calls" {
    local number=0 script
    programs_of "$BATS_TEST_TMPDIR/programs" "$SCRIPTS"/*.txt
    for script in "$SCRIPTS"/*.txt; do
        number=$((number + 1))
        journal_of "$script" "$BATS_TEST_TMPDIR/bench" >/dev/null 2>&1 || true
        LD_LIBRARY_PATH=build/simulator SIM_CHECK=on SIM_JOURNAL=$BATS_TEST_TMPDIR/program \
            "$BATS_TEST_TMPDIR/programs" $number >/dev/null 2>&1 || true
        same_calls "$BATS_TEST_TMPDIR/bench" "$BATS_TEST_TMPDIR/program" ||
            complain "$script: its C program makes other calls."
    done
    finish
    assert_equal "$(sed 1d docs/programs/bench.c)" \
        "$("$BENCH" c "$(<$SCRIPTS/01.txt)")"
}

# bats test_tags=long
@test "the module for pages is compiled from these sources, or make test-all says what it does" {
    [ "$(<docs/live/sources.txt)" = "$(tools/live_sources.sh)" ] ||
        skip "$(echo "docs/live/live.wasm is older than its sources. make test-all judges it by" \
            "what it does, and make live compiles it anew (its compiler takes 842 MB)")"
}

@test "no_kernels.c has all that pages need of nvcc's kernels, so that make live can link" {
    local objects=build/simulator/objects left name
    # Nothing calls a function of ptx/ by its name.
    left=$(printf '%s\n' "$objects"/module/*.o \
        "$objects"/run/{nvcc_kernel,device_runtime,kernel_library}.o)
    for name in $(comm -12 \
        <(xargs nm <<<"$left" | awk '$2 ~ /^[TDB]$/ { print $3 }' | sort -u) \
        <(find $objects -name '*.o' ! -path '*/os/*' ! -path '*/ptx/*' ! -name 'driver_*' |
            grep -vxF "$left" | xargs nm | awk '$1 == "U" { print $2 }' | sort -u)); do
        grep -qw "$name" docs/live/no_kernels.c || complain "$name is not in docs/live/no_kernels.c"
    done
    finish
}

# compare_bench MODULE: a hundred random scripts in a page, and outside
compare_bench() {
    local folder=$BATS_TEST_TMPDIR number scripts=() rungs word
    in_page "$1" "$(<tests/book/live_scripts.js)"
    for ((number = 1; number <= 100; number++)); do scripts+=("$folder/$number.txt"); done
    programs_of "$folder/programs" "${scripts[@]}"
    for ((number = 1; number <= 100; number++)); do
        SIM_CHECK=off journal_of "$folder/$number.txt" "$folder/native.$number" >/dev/null 2>&1 ||
            true
        same_calls "$folder/$number.unchecked" "$folder/native.$number" ||
            complain "script $number: another run outside."
        LD_LIBRARY_PATH=build/simulator SIM_CHECK=on SIM_JOURNAL=$folder/program \
            "$folder/programs" $number >/dev/null 2>&1 || true
        same_calls "$folder/$number.journal" "$folder/program" ||
            complain "script $number: another C program."
    done
    # They are worth comparing: pools reuse, wait and refuse, and the checker reports.
    run jq -rn '[inputs | .from // .kind
        // (select(.result == "cudaErrorMemoryAllocation") | .result)] | unique[]' \
        "$folder"/*.journal
    mapfile -t rungs < <(sed -nE 's/^RUNG(_IF)?\([A-Z_]+, "([^"]*)".*/\2/p' simulator/mem/rungs.def)
    for word in "${rungs[@]}" cudaErrorMemoryAllocation "unordered writes"; do
        grep -qx "$word" <<<"$output" || complain "No script has \"$word\"."
    done
}

# compare_outside PROGRAM NUMBER: what it says outside of a page is what it said there, as NUMBER.
compare_outside() {
    local folder=$BATS_TEST_TMPDIR part ended=0
    "build/simulator/$1" >"$folder/output" 2>"$folder/errors" || ended=$?
    printf %s $ended >"$folder/status"
    for part in output errors status; do
        diff "$folder/$part" "$folder/$2.$part" || complain "$1: its $part differs in a page."
    done
}

# compare_lessons MODULE: a solution prints in a page what was recorded; a starter prints, reports
# and returns what it does outside.
compare_lessons() {
    local folder=$BATS_TEST_TMPDIR lessons lesson number=0
    mapfile -t lessons < <(grep -aoE 'solutions/[0-9]{2}_[a-z_]+' "$1" | sort -u)
    lessons=("${lessons[@]#*/}")
    [ "${#lessons[@]}" = 12 ] || complain "The module has ${#lessons[@]} lessons, not 12."
    as_typed make -s "${lessons[@]/#/build/simulator/lessons/}"
    run_in_page "$1" "${lessons[@]/#/solutions/}" "${lessons[@]/#/lessons/}"
    for lesson in "${lessons[@]}"; do
        diff "tests/lessons/$lesson/expected/output.txt" "$folder/$number.output" ||
            complain "The solution of $lesson prints something else in a page."
        compare_outside "lessons/$lesson" $((number + ${#lessons[@]}))
        number=$((number + 1))
    done
}

# live_mutants: those that manifests name, as programs of a page
live_mutants() { tools/live_programs.sh | sed -n 's|^build/||p'; }

# compare_mutants MODULE: each says the same in a page as outside, and not what its solution says.
compare_mutants() {
    local folder=$BATS_TEST_TMPDIR mutants mutant number=0 expected
    mapfile -t mutants < <(live_mutants)
    as_typed make -s "${mutants[@]/#/build/simulator/}"
    run_in_page "$1" "${mutants[@]}"
    for mutant in "${mutants[@]}"; do
        compare_outside "$mutant" $number
        expected=tests/lessons/$(cut -d / -f 2 <<<"$mutant")/expected/output.txt
        ! cmp -s "$expected" "$folder/$number.output" || [ -s "$folder/$number.errors" ] ||
            complain "$mutant says nothing: it prints what the solution does, without a report."
        number=$((number + 1))
    done
}

# Fails if the module that is kept did something else than what the sources say now.
finish_kept() {
    # shellcheck disable=SC2154  # suite.bash has the list
    [ "${#complaints[@]}" = 0 ] || complain "If what runs outside is right, make the module for \
pages again: type make live."
    finish
}

# bats test_tags=long
@test "the bench in a page writes the journals of the bench and of the C programs" {
    compare_bench "$LIVE"
    finish_kept
}

# bats test_tags=long
@test "the lessons in a page print what an H200 printed" {
    compare_lessons "$LIVE"
    finish_kept
}

# bats test_tags=long
@test "a mistake that a page offers says the same there as outside, and no solution says it" {
    [ "$(live_mutants | wc -l)" -ge 24 ] || complain "Pages offer too few mistakes."
    compare_mutants "$LIVE"
    finish_kept
}

# bats test_tags=long
@test "with the largest argument that a page offers, a lesson comes to its end there" {
    local programs number=0 program
    # A mutant needs what its solution needs.
    mapfile -t programs < <(tools/live_programs.sh | while IFS=/ read -r folder lesson; do
        [ "$folder" != build ] || continue
        sed -n "s|^live = |$folder/$lesson |p" "tests/lessons/$lesson/manifest.ini"
    done)
    run_in_page "$LIVE" "${programs[@]}"
    for program in "${programs[@]}"; do
        ! grep -q "a page keeps" "$BATS_TEST_TMPDIR/$number.errors" ||
            complain "$program: $(<"$BATS_TEST_TMPDIR/$number.errors")"
        [[ $(<"$BATS_TEST_TMPDIR/$number.status") == [013] ]] ||
            complain "$program ends with status $(<"$BATS_TEST_TMPDIR/$number.status")."
        number=$((number + 1))
    done
    finish
}

# bats test_tags=long
@test "make live makes the module again, and the new one does the same" {
    local new=build/live/live.wasm copy=$BATS_TEST_TMPDIR/copy
    type -P emcc >/dev/null || skip "emcc is not installed (apt-get install emscripten)"
    # To compile that library takes minutes. The tests above guard the module that the repository
    # keeps. This one is for those who change its sources, and they type make live.
    [ -e build/live/cache/sysroot/lib/wasm64-emscripten/libc.a ] ||
        skip "make live was never typed in this folder: its C library is not compiled"
    run as_typed make "$new"
    [ "$status" = 0 ] || miss "make $new:" "$output"
    if ! cmp -s "$new" "$LIVE"; then # the same module has been compared above
        compare_bench "$new"
        compare_lessons "$new"
        compare_mutants "$new"
        finish
    fi

    workbook_copy "$copy"
    mkdir "$copy/docs"
    cp -a docs/live "$copy/docs"
    cp -a build/live "$copy/build"
    cd "$copy" || return 1
    echo "no module" >"$LIVE"
    accepted make live
    # The linker may warn of Emscripten's own libraries before.
    assert_line --regexp "^$LIVE is new: [0-9]+ bytes, [0-9]+ compressed\.$"
    cmp "$LIVE" "$new"
    run as_typed make live
    assert_output "$LIVE is as it was."
}

# bats test_tags=long
@test "what a page cannot do ends with a sentence" {
    run_in_page "$LIVE" "solutions/04_release_threshold 300"
    assert_equal "$(<"$BATS_TEST_TMPDIR/0.status")" 1
    run cat "$BATS_TEST_TMPDIR/0.errors"
    assert_output --partial "a page keeps the contents of at most 960 MiB of each pool"
}

@test "a day of the first page is in a page what it is outside, and a mistake is a sentence" {
    local arguments day name ended journal=$BATS_TEST_TMPDIR/journal
    local printed=$BATS_TEST_TMPDIR/printed
    in_page "$LIVE" "(async () => {
        const files = {};
        for (const words of ['0', '8', '8 fill-add copy-free', '8 fill-add add-copy copy-free'])
            for (let day = 1; day <= 10; day++) {
                const result = await simulatedDevice.run('docs/live/days', words.split(' '),
                    { SIM_SCHEDULE: 'random:' + day });
                const reports = result.journal.split('\n')
                    .filter((one) => one.includes('hazard\"'));
                files[words.replaceAll(' ', '_') + '.' + day] =
                    result.output + reports.length + ' ' + result.status;
            }
        return files;
    })()"
    for arguments in 0 8 '8 fill-add copy-free' '8 fill-add add-copy copy-free'; do
        for day in {1..10}; do
            name=${arguments// /_}.$day
            # shellcheck disable=SC2086
            SIM_SCHEDULE=random:$day SIM_JOURNAL=$journal \
                bounded "$DAYS" $arguments >"$printed" 2>/dev/null && ended=0 || ended=$?
            assert_equal "$(<"$BATS_TEST_TMPDIR/$name")" \
                "$(<"$printed")"$'\n'"$(grep -c 'hazard"' "$journal") $ended"
        done
    done
    run "$DAYS" 8 add-fill
    assert_failure 2
    assert_output '"add-fill" is no arrow; expected two of fill, add, copy and free in this order,'\
' such as fill-add.'
    run "$DAYS" many
    assert_failure 2
    assert_output '"many" is no number of kernels; expected 0 to 64.'
}

# bats test_tags=long
@test "each step of the bench has the journal's figures, and marks what the checker reports" {
    local script folder=$BATS_TEST_TMPDIR shown calls marks fragments=() number=0
    # From the last step back to the first, by the key: the call's number, used, reserved.
    shown="new Promise((done) => {
        const bench = document.getElementById('pool-bench');
        const text = (part) => bench.querySelector(part).textContent;
        const steps = [];
        const marks = []; // of the reports
        const look = () => {
            const [, ...figures] = /used ([0-9.]+) MiB.*, reserved ([0-9.]+) MiB/
                .exec(text('.figures')) || [0, 0, 0];
            const isReport = text('.say').startsWith('The report');
            if (isReport)
                marks.push(...[...bench.querySelectorAll('.line.access')].map(
                    (line) => line.dataset.line));
            else if (bench.dataset.number !== '0')
                steps.unshift([bench.dataset.number, ...figures].join(' ') + '\n');
            if (text('.count').startsWith('1 of ')) return;
            document.body.dispatchEvent(
                new KeyboardEvent('keydown', { key: 'ArrowLeft', bubbles: true }));
            look();
        };
        const wait = () => {
            if (!bench.dataset.state.match(/shown|failed/)) return setTimeout(wait, 20);
            look();
            done({ steps: steps.join(''), failed: bench.dataset.state, marks: marks.join(' ') });
        };
        wait();
    })"
    for script in "$SCRIPTS"/*.txt; do
        fragments+=("$(jq -rR --slurp '"lines=200&script=" + @uri' "$script")")
    done
    in_page "$LIVE" "$shown" "${fragments[@]}"
    for script in "$SCRIPTS"/*.txt; do
        number=$((number + 1))
        journal_of "$script" "$folder/journal" >/dev/null 2>&1 || true
        assert_equal "$(<"$folder/$number.failed")" shown
        # What each call has left. The calls that make the pool, streams and events are no steps.
        jq -rs 'def mib: . / 1048576 * 100 | round / 100;
            reduce .[] as $line ({used: 0, reserved: 0};
                . + ($line | {used, reserved} | with_entries(select(.value != null)))
                | if $line.number and ($line.did | not)
                then .out += ["\($line.number) \(.used | mib) \(.reserved | mib)"] else . end)
            | .out[]' "$folder/journal" >"$folder/calls"
        calls=$(grep -E '^(cuda|launch_)' "$script" | grep -vc cudaMemPoolCreate)
        diff <(tail -n "$calls" "$folder/calls") "$folder/$number.steps" ||
            complain "$script: the steps have other figures than the journal."
        marks=$([[ $script != */08.txt ]] || echo 3 6)
        assert_equal "$(<"$folder/$number.marks")" "$marks"
    done
    finish
}
