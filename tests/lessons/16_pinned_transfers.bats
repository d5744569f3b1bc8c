# Lesson 16: pieces take turns in two streams, and pinning pays after some copies. Judges $LESSON:
# no times but the sums made of them.
load ../tools/helpers

setup_file() { lesson_setup 16_pinned_transfers; }

# process works first on pageable memory, then on pinned. pieces: the last four kernels; work: what
# belongs to them.
QUESTIONS='def ok($call): [.[] | select(.call == $call and .result == "cudaSuccess")];
    def waits: ok("cudaStreamSynchronize") + ok("cudaDeviceSynchronize")
        + ok("cudaEventSynchronize");
    def pieces: ok("launch_add") | .[-4:];
    def started: pieces as $piece | ([ok("cudaEventRecord")[] | select(.n < $piece[0].n) | .n]
        | last) as $begin
        | [ok("cudaEventSynchronize")[] | select(.n > $begin) | .n] | first;
    def last_copy: ok("cudaMemcpyAsync") | last | .n;
    def work: started as $first | [.[]
        | select(.n > $first and (.call == ("cudaMemcpyAsync", "launch_add",
        "cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize")))];
    def told: [work[] | if .call == "launch_add" then "kernel in \(.stream)"
        elif .call == "cudaMemcpyAsync"
        then "copy \(if .kind == "HostToDevice" then "up" else "down" end) in \(.stream)"
        else "wait" end]
        | "with pinned memory it did, by stream: " + (.[:16] | join(", ")) + ".";'

# What the program printed of pinning: does its number of copies follow from its times?
copies_hold() {
    local wrong
    wrong=$(awk '/^~.* MiB up, pageable/ { slow = $6 } /^~.* MiB up, pinned/ { fast = $6 }
        /^~ pinning takes/ {
            pinning = $4
            copies = $8
            saved = slow - fast
            paid = copies * saved
            slack = 0.2 * (copies + 1)
            if ((saved <= 0 && copies != 0) || (saved > 0 && (copies < 1 ||
                paid < pinning - slack || paid - saved > pinning + slack)))
                print "pinning takes " pinning " us, a copy " slow " us or, pinned, " fast \
                    " us; you said " copies " copies"
        }' <<<"$output")
    [ -z "$wrong" ] || missed "Expected: copies_to_pay is the least number of copies that together
        save as much time as pinning takes, and 0 when a copy saves none (YOUR WORK, 2 of 2)." \
        "Happened: $wrong."
}

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
        "$QUESTIONS told" \
        -- "$QUESTIONS"' [work[] | select(.stream != null and .call != "cudaStreamSynchronize")]
            | group_by(.stream)
        | all(.[]; [.[] | .kind // "kernel"] == ["HostToDevice", "kernel", "DeviceToHost",
            "HostToDevice", "kernel", "DeviceToHost"])' \
        'each piece is copied up, added to and copied down in one stream: its order is all that the
            piece needs.' \
        "$QUESTIONS told"
}

@test "the host waits at the end, for both streams" {
    run_lesson
    expect_journal "$QUESTIONS"' started as $first | last_copy as $last
        | [waits[] | select(.n > $first and .n < $last)] | length == 0' \
        'the host waits for nothing while it puts the pieces into the streams: a stream keeps its
            own order.' \
        "$QUESTIONS told" \
        -- "$QUESTIONS"' last_copy as $last | ([ok("cudaEventRecord")[] | select(.n > $last) | .n]
            | first) as $close
        | ([waits[] | select(.n > $last and .n < $close and .call == "cudaStreamSynchronize")
            | .stream] | unique) == ([pieces[].stream] | unique)
            or any(ok("cudaDeviceSynchronize")[]; .n > $last and .n < $close)' \
        'process ends with a synchronise of each stream: before that the result is not on the
            host.' \
        "$QUESTIONS told" \
        -- "$QUESTIONS"' started as $first
            | [.[] | select(.did == "run" and .n > $first and (.op == "copy" or .op == "add"))] as
            $run
        | any($run[]; . as $a | any($run[]; .stream != $a.stream and .start < $a.finish
            and $a.start < .finish))' \
        'work of one stream runs while work of the other does.'
}

@test "pinning pays when it has saved what it took" {
    run_lesson
    copies_hold
    run_lesson 8
    copies_hold
    # Under this schedule a copy saves another part of its time.
    # shellcheck disable=SC2034  # run_lesson reads it
    SIM_ENV=(SIM_SCHEDULE=random:1)
    run_lesson 8
    copies_hold
}

@test "when pinned copies are no faster, pinning never pays" {
    # shellcheck disable=SC2034  # run_lesson reads it
    SIM_ENV=(SIM_SCHEDULE=instant)
    run_lesson
    expect_status 0 'the program also runs on a device that copies in no time.'
    grep -q 'paid after 0 copies' <<<"$output" ||
        missed "Expected: copies_to_pay answers 0 when a pinned copy takes as long as a pageable
            one. A division by what it saves is then a division by 0." \
        "Happened: $(grep -m 1 'paid after' <<<"$output")"
}

@test "it prints what a real device prints, also for 8 MiB" {
    run_lesson
    expect_right 16_pinned_transfers
    grep -q '^~ device "Simulated.*": its figures are "modeled"$' <<<"$output" ||
        miss "$(tell_sentences 'Expected: on the simulated device the program says that its figures
            are modelled. That part was there at the start: put it back.')"
    run_lesson 8
    expect_right 16_pinned_transfers.8
}
