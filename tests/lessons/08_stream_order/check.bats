# Lesson 08: every use after the allocation and before the free, whatever the streams. Judges
# $LESSON.
load ../grading/check

setup_file() { lesson_setup 08_stream_order; }

MIB=1048576
# data: the allocation that three streams use. scratch: the one that cudaFree frees.
definitions 'def ok($call): [.[] | select(.call == $call and .result == "cudaSuccess")];
    def of_pool: [ok("cudaMallocAsync", "cudaMallocFromPoolAsync")[] | select(.bytes == '$MIB')];
    def data: of_pool | map(select(.stream == "legacy")) | first;
    def use($call; $of): [ok($call)[] | select(.allocation == $of.allocation)] | first;
    def scratch: (use("launch_fill"; data).n) as $from
        | of_pool | map(select(.stream != "legacy" and .n > $from)) | first;
    def non_blocking: [ok("cudaStreamCreateWithFlags")[] | select(.kind == "non-blocking")
        | .stream];
    def who($stream): non_blocking as $all | if $stream == "legacy" then "the legacy stream"
        elif $stream == $all[0] then "the worker" elif $stream == $all[1] then "the reader"
        else "stream \($stream)" end;
    def history: use("launch_fill"; data).n as $from | . as $all
        | [.[] | select(.n >= $from and .did == null and .call != null and (.call
            | test("launch|Memcpy|Record|WaitEvent|Synchronize|cudaFreeAsync|cudaFree$")))
        | .call + (if .event != null then " of event \(.event)" else "" end)
            + (if .stream != null then .stream as $s | " (\($all | who($s)))" else "" end)]
        | "the calls (and their streams) were, in order: " + (.[:18] | join(", ")) + ".";'

# reports WHICH: of the reports on stderr those whose first line WHICH, an awk expression, selects.
# `line` is that line. Lines with advice are held back until the check has missed once before (make
# check-08 counts in CHECK_TRY).
# shellcheck disable=SC2154  # run_lesson sets errors
reports() {
    awk -v advice=$((${CHECK_TRY:-1} > 1)) '
        /^hazard:/ { line = $0; on = '"$1"'; hidden = 0 }
        /^[^ ]/ && !/^hazard:/ { line = ""; on = '"$1"' }
        /^  [A-Z]/ { hidden = !advice && /^  To do:/ }
        on && !hidden' <<<"$errors"
}

# What stderr has besides reports: the tests below show those.
without_reports() { [ -z "$errors" ] || errors=$(reports '!line'); }

# not_reported CALL SENTENCE: the program makes this call, and the simulated device reports nothing
# about it
not_reported() {
    local report='' early memory=data questions
    [ "$1" != cudaFree ] || memory=scratch
    [ -z "$errors" ] || report=$(reports 'line && !seen && index(line, ". '"$1"' (") && ++seen')
    if [ -z "$report" ]; then
        questions=('use("'"$1"'"; '"$memory"') != null'
            "$1 of $memory. The program had it at the start.")
        [[ $errors == *hazard:* ]] ||
            questions+=(-- 'all(.[] | select(.did == "exit"); .hazards == 0)'
                'what the simulated device reports can be read: stderr stays open.')
        expect_journal "${questions[@]}"
        return
    fi
    early=$(in_journal '. as $all | (data, scratch) as $of | use("'"$1"'"; $of) as $use
        | [ok("cudaStreamWaitEvent")[] | select(.stream == $use.stream and .n < $use.n)
            | . as $wait | select([$all[] | select(.call == "cudaEventRecord"
                and .event == $wait.event and .n < $wait.n)] == [])]
        | first | select(. != null) | .stream as $stream
        | "\($all | who($stream)) waits for event \(.event) before that event is recorded. Such a" +
            " wait succeeds, and waits for nothing."' | head -n 1)
    print_sentences "Expected: $2"
    if [ -n "$early" ]; then
        echo "Happened: $early"
    else
        echo "Happened: the simulated device reports this (the worker is stream 1, the reader 2):"
        sed 's/^/    /' <<<"$report"
        if [ "${CHECK_TRY:-0}" = 1 ]; then
            echo "What to do about it is shown when the check misses again."
        fi
    fi
    try_it
    return 1
}

@test "the parts are there: one allocation in three streams, another in one" {
    run_lesson
    without_reports
    expect_journal 'data as $data | use("launch_fill"; $data) as $fill
        | use("launch_add"; $data) as $add | use("cudaMemcpyAsync"; $data) as $copy
        | use("cudaFreeAsync"; $data) as $free | ([$data, $fill, $add, $copy, $free]
            | all(. != null))
        and $fill.stream == "legacy" and $add.stream != $copy.stream and $free.stream == $add.stream
        and (non_blocking | index($add.stream) != null and index($copy.stream) != null)' \
        'data is filled in the legacy stream, added to in the worker, copied in the reader, freed in
            the worker. Worker and reader stay two non-blocking streams, as at the start.' \
        'history' \
        -- 'scratch as $scratch | [use("launch_fill"; $scratch), use("cudaMemcpyAsync";
            $scratch), use("cudaFree"; $scratch)] | all(. != null)' \
        'scratch is filled and copied in the worker, and freed with cudaFree, as at the start.' \
        'history'
}

@test "the worker's add comes after the legacy stream's fill" {
    run_lesson
    not_reported launch_add 'an event recorded in the legacy stream after launch_fill, for which the
        worker waits before launch_add. The worker is a non-blocking stream: the legacy stream does
        not make it wait.'
}

@test "the reader's copy comes after the worker's add" {
    run_lesson
    not_reported cudaMemcpyAsync 'the reader waits for an event that was recorded in the worker
        after launch_add (which comes after the fill). An event stands for the work that was in its
        stream when it was recorded, and for no later work.'
}

@test "the worker's free comes after the reader's copy" {
    run_lesson
    not_reported cudaFreeAsync 'an event recorded in the reader after the copy, for which the worker
        waits before cudaFreeAsync. The free is ordered only in the stream that it is given; the
        allocator has no record of other uses.'
}

@test "cudaFree comes after the host's wait for the worker" {
    run_lesson
    not_reported cudaFree 'the host waits for the worker (cudaStreamSynchronize), and then frees
        with cudaFree. cudaFree of an allocation of a pool waits for nothing.'
}

# Where all work is a second late, a call of the host that waits for work takes as long, whatever it
# is called. A loop of queries would be long there: it is looked for before.
@test "events do it: the host waits no more often than at the start" {
    local waits='def waits: use("launch_fill"; data).n as $from
        | [.[] | select(.end != null and .n > $from and .end - .t > 500000000) | .call];'
    local asks='def asks($result): use("launch_fill"; data).n as $from | [.[] | select(.n > $from
        and .call == ("cudaStreamQuery", "cudaEventQuery") and .result == $result) | .call];'
    run_lesson
    without_reports
    expect_journal "$asks"' asks("cudaSuccess") == []' \
        'no loop of queries after the fill of data: a host that asks until the work is done waits
            for it. The streams wait for each other, the host goes on.' \
        "$asks"' asks("cudaSuccess")[0] + " was called"
            + " \(asks("cudaSuccess") + asks("cudaErrorNotReady") | length) times, until it"
            + " returned cudaSuccess."'
    # shellcheck disable=SC2034  # for run_lesson
    SIM_ENV=(SIM_SCHEDULE=late)
    run_lesson
    without_reports
    expect_journal "$waits waits | length <= 2" \
        'after the fill of data the host waits twice, as at the start: before it reads what came
            from data, and before it reads what came from scratch. Between the streams events do it:
            the streams wait for each other, the host goes on.' \
        "$waits"' waits | "the host waited \(length) times, in " + join(", ") + "."'
}

@test "it prints what a real device prints, under every schedule, also with another size" {
    local schedule mib
    after_the_rest
    run_lesson
    errors=$(reports 1)
    expect_clean
    expect_output 08_stream_order
    for schedule in late instant; do
        # shellcheck disable=SC2034  # for run_lesson
        SIM_ENV=("SIM_SCHEDULE=$schedule")
        run_lesson
        expect_right 08_stream_order
    done
    # shellcheck disable=SC2034  # for run_lesson
    SIM_ENV=(SIM_SCHEDULE=random:1)
    draw mib 2 9
    run_lesson "$mib"
    expect_clean
    [ "$(grep -c " in $((mib * 262144)) of $((mib * 262144)) elements\$" <<<"$output")" = 2 ] ||
        missed "Expected: with $mib MiB, two lines with $((mib * 262144)) correct elements." \
            "Happened: it printed \"$(tail -n 1 <<<"$output")\"."
}
