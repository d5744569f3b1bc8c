#!/usr/bin/env bats
# What runs in the reader's browser (docs/live, simulator/os/web): the pool bench and the lessons.
# It is run here by node, and compared with what runs outside.

load ../tools/helpers

BENCH=$ROOT/build/simulator/docs/live/bench

setup_file() { as_typed make build/simulator/docs/live/bench; }

# Skips where make live cannot run.
need_live() {
    type -P emcc >/dev/null || skip "emcc is not installed (apt-get install emscripten)"
    as_typed make live >"$BATS_TEST_TMPDIR/live" 2>&1 ||
        miss "make live:" "$(<"$BATS_TEST_TMPDIR/live")"
}

# Runs a script as the page does, outside of the page. journal_of FILE JOURNAL
journal_of() {
    SIM_CHECK=${SIM_CHECK:-noleaks} SIM_JOURNAL=$2 timeout 20 "$BENCH" run 200 "$(<"$1")"
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
        'line 1: "64" is no size; a size is a whole number with its unit, such as 64 MiB.'
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
    programs_of "$BATS_TEST_TMPDIR/programs" docs/live/scripts/*.txt
    for script in docs/live/scripts/*.txt; do
        number=$((number + 1))
        journal_of "$script" "$BATS_TEST_TMPDIR/bench" >/dev/null 2>&1 || true
        LD_LIBRARY_PATH=build/simulator SIM_CHECK=noleaks SIM_JOURNAL=$BATS_TEST_TMPDIR/program \
            "$BATS_TEST_TMPDIR/programs" $number >/dev/null 2>&1 || true
        cmp -s "$BATS_TEST_TMPDIR/bench" "$BATS_TEST_TMPDIR/program" ||
            complain "$script: its C program makes other calls."
    done
    finish
    assert_equal "$(sed 1d docs/programs/bench.c)" \
        "$("$BENCH" c "$(<docs/live/scripts/01_same_stream.txt)")"
}

# bats test_tags=long
@test "the bench in a page writes the journals of the bench and of the C programs" {
    need_live
    local folder=$BATS_TEST_TMPDIR number scripts=()
    node tests/workbook/live_scripts.js "$folder" 100
    for ((number = 1; number <= 100; number++)); do scripts+=("$folder/$number.txt"); done
    programs_of "$folder/programs" "${scripts[@]}"
    for ((number = 1; number <= 100; number++)); do
        SIM_CHECK=off journal_of "$folder/$number.txt" "$folder/native" >/dev/null 2>&1 || true
        cmp -s "$folder/$number.unchecked" "$folder/native" ||
            complain "script $number: another run outside."
        LD_LIBRARY_PATH=build/simulator SIM_CHECK=noleaks SIM_JOURNAL=$folder/program \
            "$folder/programs" $number >/dev/null 2>&1 || true
        cmp -s "$folder/$number.journal" "$folder/program" ||
            complain "script $number: another C program."
    done
    finish
    # They are worth comparing: pools reuse, wait and refuse, and the checker reports.
    run jq -rn '[inputs | .from // .kind
        // (select(.result == "cudaErrorMemoryAllocation") | .result)] | unique[]' \
        "$folder"/*.journal
    for word in "same stream" synchronized event opportunistic internal new \
        cudaErrorMemoryAllocation "unordered writes"; do assert_line "$word"; done
}

# bats test_tags=long
@test "the lessons in a page print what an H200 printed" {
    need_live
    local lesson lessons=0
    while read -r lesson; do
        lessons=$((lessons + 1))
        node tests/workbook/live_run.js "solutions/$lesson" >"$BATS_TEST_TMPDIR/output"
        diff "tests/lessons/expected/$lesson.txt" "$BATS_TEST_TMPDIR/output" ||
            complain "$lesson prints something else in a page."
    done < <(sed -n 's|.*"solutions/\(.*\)".*|\1|p' build/live/programs.inc)
    assert_equal $lessons 12
    # A report names the same lines and streams.
    local lesson_03=lessons/03_stream_order
    as_typed make -s "build/simulator/$lesson_03"
    local errors ended=0
    errors=$(node tests/workbook/live_run.js "$lesson_03" 2>&1 >/dev/null) || ended=$?
    assert_equal "$ended" 3
    assert_equal "$errors" "$("build/simulator/$lesson_03" 2>&1 >/dev/null)"
    finish
}

# bats test_tags=long
@test "what a page cannot do ends with a sentence" {
    need_live
    run node tests/workbook/live_run.js solutions/06_release_threshold 300
    assert_failure 1
    assert_output --partial "a page keeps the contents of at most 960 MiB of each pool"
}

# bats test_tags=long
@test "the bench is at most 150 KB compressed" {
    need_live
    local bytes
    bytes=$(cat build/live/live.js docs/_static/bench.js docs/_static/bench_pictures.js \
        docs/_static/bench.css docs/_static/pictures.css | gzip -9 | wc -c)
    [ "$bytes" -le 153600 ] || miss "The bench has $bytes bytes compressed; 153,600 are allowed."
}

# bats test_tags=long
@test "a browser shows the simulated device's figures, and no error" {
    need_live
    local browser script folder=$BATS_TEST_TMPDIR
    browser=$(type -P chromium chromium-browser google-chrome | head -n 1)
    [ -n "$browser" ] || skip "Chromium is not installed (apt-get install chromium)"
    cp docs/_static/bench* build/live/live.js "$folder"
    {
        echo '<!doctype html><meta charset="utf-8"><link rel="stylesheet" href="bench.css">'
        echo "<div class='bench' id='pool-bench' data-scripts='[]'></div>"
        for script in live bench_pictures bench; do echo "<script src='$script.js'></script>"; done
    } >"$folder/page.html"
    for script in 01_same_stream 03_missing_edge 06_threshold 11_internal; do
        script=docs/live/scripts/$script.txt
        SIM_CHECK=noleaks SIM_JOURNAL=$folder/journal \
            "$BENCH" run 200 "$(<"$script")" >/dev/null 2>&1 || true
        HOME=$folder timeout 60 "$browser" --headless=new --no-sandbox --disable-gpu \
            --virtual-time-budget=20000 --enable-logging=stderr --dump-dom \
            "file://$folder/page.html#$(jq -rR --slurp '"lines=200&script=" + @uri' "$script")" \
            >"$folder/dom" 2>"$folder/errors"
        run grep -o 'data-reserved="[0-9]*"' "$folder/dom"
        # The last that a call or a release before the program's end has left.
        assert_output "data-reserved=\"$(jq -s 'map(select(.reserved)) | last.reserved' \
            "$folder/journal")\""
        run grep CONSOLE "$folder/errors"
        assert_output ""
        assert_equal "$(grep -c 'nothing orders these' "$folder/dom")" \
            "$(grep -c '"did":"hazard"' "$folder/journal")"
    done
}
