# Lesson 16: pieces take turns in two streams, and pinning pays after some copies. Judges $LESSON:
# no times but the sums made of them.
load ../tools/helpers

setup_file() { lesson_setup 16_pinned_transfers; }

# process works first on pageable memory, then on pinned. The last two stopwatches are around it:
# started and close are the first line and the last of the second one. pieces: the last four
# kernels; work: what process does with pinned memory, and covered($s): whether the host has waited
# for the last work of stream $s, in one of the ways that there are: the device; the stream; an
# event; another stream or event that comes after an event of $s (reaches).
QUESTIONS='def ok($call): [.[] | select(.call == $call and .result == "cudaSuccess")];
    def stops: ok("cudaEventElapsedTime") | map(.n) | .[-2:];
    def pieces: ok("launch_add") | .[-4:];
    def started: stops as $stops | [ok("cudaEventSynchronize")[] | select(.n > $stops[0]) | .n]
        | first;
    def close: stops as $stops | [ok("cudaEventRecord")[] | select(.n < $stops[1]) | .n] | last;
    def work: started as $first | close as $close | [.[] | select(.n > $first and .n < $close
        and .result == "cudaSuccess" and (.call == ("cudaMemcpyAsync", "launch_add",
        "cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize",
        "cudaStreamQuery", "cudaEventQuery", "cudaEventRecord", "cudaStreamWaitEvent")))];
    def is_copy: .call == "cudaMemcpyAsync" or .call == "launch_add";
    def last_copy: [work[] | select(.call == "cudaMemcpyAsync") | .n] | last;
    def waits: [work[] | select(.call == ("cudaStreamSynchronize", "cudaDeviceSynchronize",
        "cudaEventSynchronize", "cudaStreamQuery", "cudaEventQuery"))];
    def reaches($to; $n; $s; $last): . as $all | $n > $last and ($to == $s
        or any($all[] | select(.call == "cudaStreamWaitEvent" and .stream == $to and .n < $n);
            . as $wait | any($all[] | select(.call == "cudaEventRecord" and .stream == $s
                and .n > $last and .n < $wait.n); .event == $wait.event)));
    def covered($s): work as $all | ([$all[] | select(is_copy and .stream == $s) | .n] | last)
            as $last
        | any(waits[]; . as $wait | if .call == "cudaDeviceSynchronize" then .n > $last
            elif .event == null then .stream as $to | .n as $n | $all | reaches($to; $n; $s; $last)
            else ([$all[] | select(.call == "cudaEventRecord" and .event == $wait.event
                and .n < $wait.n)] | last) as $record
                | $record != null and ($all | reaches($record.stream; $record.n; $s; $last)) end);
    def not_covered: . as $all | [pieces[].stream] | unique
        | map(select(. as $s | $all | covered($s) | not));
    def shown: [work[] | if .call == "launch_add" then "kernel in stream \(.stream)"
        elif .call == "cudaMemcpyAsync"
        then "copy \(if .kind == "HostToDevice" then "up" else "down" end) in stream \(.stream)"
        elif .call == "cudaEventRecord" then "record of event \(.event) in stream \(.stream)"
        elif .call == "cudaStreamWaitEvent" then "stream \(.stream) waits for event \(.event)"
        elif .call == "cudaDeviceSynchronize" then "the host waits for the device"
        elif .event != null then "the host waits for event \(.event)"
        else "the host waits for stream \(.stream)" end]
        | "with pinned memory, in this order: " + (.[:20] | join(", ")) + ".";'

@test "the pieces take turns in two streams" {
    run_lesson
    expect_journal "$QUESTIONS"' (ok("launch_add") | length) == 8
        and (pieces | all(.[]; .bytes == 16777216))' \
        'process works on four pieces of 16 MiB, twice: with pageable and with pinned memory.' \
        "$QUESTIONS"' "\(ok("launch_add") | length) kernels, of \([ok("launch_add")[].bytes]
            | unique | tostring) bytes."' \
        -- "$QUESTIONS"' [pieces[].stream] | length == 4 and .[0] != .[1] and .[0] == .[2]
            and .[1] == .[3]' \
        'the pieces take turns: the first and the third in one stream, the second and the fourth in
            the other (YOUR WORK, 1 of 2).' \
        "$QUESTIONS shown" \
        -- "$QUESTIONS"' [work[] | select(is_copy)] | group_by(.stream)
        | all(.[]; [.[] | .kind // "kernel"] == ["HostToDevice", "kernel", "DeviceToHost",
            "HostToDevice", "kernel", "DeviceToHost"])' \
        'each piece is copied up, added to and copied down in one stream: the order of that stream
            is all that the piece needs.' \
        "$QUESTIONS shown"
}

@test "the host waits at the end, for the work of both streams" {
    run_lesson
    expect_journal "$QUESTIONS"' last_copy as $last | [waits[] | select(.n < $last)] == []' \
        'the host waits for nothing while it puts the pieces into the streams: a stream keeps its
            own order.' \
        "$QUESTIONS shown" \
        -- "$QUESTIONS"' not_covered == []' \
        'when process returns, the host has waited for the last copy of each of the two streams:
            before that the result is not on the host.' \
        "$QUESTIONS"' "nothing made the host wait for the last copy of stream "
            + (not_covered | map(tostring) | join(" or stream ")) + "; " + shown' \
        -- "$QUESTIONS"' started as $first
            | [.[] | select(.did == "run" and .n > $first and (.op == "copy" or .op == "add"))] as
            $run
        | any($run[]; . as $a | any($run[]; .stream != $a.stream and .start < $a.finish
            and $a.start < .finish))' \
        'work of one stream runs while work of the other does.'
}

# copies_to_pay itself, with times of the check's own (tests/lessons/asked_copies.h)
@test "pinning pays when it has saved what it took" {
    local pinned saved copies
    draw pinned 100 3000
    draw saved 200 9000
    draw copies 5 90
    ask_lesson asked_copies 'copies_to_pay takes three times and returns a number of copies, as it
        did at the start.' "$pinned" "$saved" "$copies"
}

# draw_size: into $mib, for a device that copies in no time
draw_size() {
    # shellcheck disable=SC2034  # run_lesson reads it
    SIM_ENV=(SIM_SCHEDULE=instant)
    mib=
    draw mib 2 12
}

@test "when pinned copies are no faster, pinning never pays" {
    after_the_rest
    draw_size
    run_lesson "$mib"
    expect_status 0 'the program also runs on a device that copies in no time.'
    grep -q 'paid after 0 copies' <<<"$output" ||
        missed "Expected: copies_to_pay returns 0 if a pinned copy takes as long as a pageable one.
            A division by what it saves is then a division by 0." \
            "Happened: $(grep -m 1 'paid after' <<<"$output")"
}

@test "it prints what a real device prints, and is right with another size" {
    local count
    after_the_rest
    run_lesson
    expect_right 16_pinned_transfers
    grep -q '^~ device "Simulated.*": its figures are "modeled"$' <<<"$output" ||
        miss "$(print_sentences 'Expected: on the simulated device the program prints that its
            figures are modeled. That part was there at the start: put it back.')"
    draw_size
    run_lesson "$mib"
    expect_clean
    count=$((mib * 262144))
    [ "$(grep -cx "process, .* 42 in $count of $count elements" <<<"$output")" = 2 ] ||
        missed "Expected: with $mib MiB, 42 in each of $count elements, twice." \
            "Happened: it printed \"$(grep -m 1 '^process' <<<"$output")\"."
}
