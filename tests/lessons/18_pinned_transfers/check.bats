# Lesson 18: pieces take turns in two streams, and pinning pays after some copies. Judges $LESSON:
# no times but the sums made of them.
load ../grading/check

setup_file() { lesson_setup 18_pinned_transfers; }

# calls: for each of the two calls of process, its work, each with its piece: the device memory's
# quarter. One has half as many bytes as the other.
CALLS='def ok($call): [.[] | select(.call == $call and .result == "cudaSuccess")];
    def calls: [ok("cudaMalloc")[] | select(.bytes == ($bytes, 2 * $bytes))] as $memory
        | [$memory[] as $m | [.[] | select(.allocation == $m.allocation and .result == "cudaSuccess"
            and .call == ("cudaMemcpyAsync", "launch_add"))
            | . + {piece: ((.inner_offset // 0) / ($m.bytes / 4)), whole: $m.bytes}]];
    def adds: map(select(.call == "launch_add"));
    # The streams of the four pieces, by their place.
    def streams: adds | sort_by(.piece) | map(.stream);
    def waits: . as $all | [calls[] | [.[].n] | min as $from | max as $to | $all[]
        | select(.acquired and .n > $from and .n < $to)];
    # What ran of a call of process: up to the next one.
    def runs: . as $all | [ok("cudaMalloc")[] | select(.bytes == ($bytes, 2 * $bytes))]
        | map(.allocation as $a | [$all[] | select(.did == "run" and .allocation == $a)]);
    def listed: calls | map(select(length > 0)) | first // []
        | map((if .call == "launch_add" then "kernel" elif .kind == "HostToDevice" then "copy up"
            else "copy down" end) + " of piece \(.piece + 1 | floor) in stream \(.stream)")
        | "in this order: " + (.[:12] | join(", ")) + ".";'

# ask_process: tests/lessons/asked_copies.h calls process
ask_process() {
    local kib
    draw kib 1000 3000
    JUDGES_HAZARDS=1 ask_lesson asked_copies \
        'process takes and returns what it did in the starter, and its CUDA calls succeed.' \
        process "$kib"
    definitions "$((kib << 10)) as \$bytes | $CALLS"
}

@test "the pieces take turns in two streams" {
    ask_process
    expect_journal 'all(calls[]; adds | map([.piece, .bytes * 4 / .whole, .value])
            | sort == [[0, 1, 2], [1, 1, 2], [2, 1, 2], [3, 1, 2]])' \
        'process adds 2 to each element, in four pieces: four kernels, of a quarter of the elements
            each.' \
        '[calls[] | adds | length] | "process launched "
            + (map(tostring) | join(" and ")) + " kernels that add to parts of"
            + " its device memory."' \
        -- 'all(calls[]; streams | .[0] != .[1] and .[0] == .[2] and .[1] == .[3])' \
        'the pieces take turns: the first and the third in one stream, the second and the fourth in
            the other (YOUR WORK, 1 of 2).' \
        'listed' \
        -- 'all(calls[]; . as $work | all(adds[]; . as $add
            | [$work[] | select(.piece == $add.piece and .bytes == $add.bytes
                and .stream == $add.stream)] | map(.kind // "kernel")
                == ["HostToDevice", "kernel", "DeviceToHost"]))' \
        'each piece is copied up, added to and copied down in one stream: the order of that stream
            is all that the piece needs.' \
        'listed' \
        -- 'waits != [] or (runs | all(.[]; . as $run | any($run[]; . as $a
            | any($run[]; .stream != $a.stream and .start < $a.finish and $a.start < .finish))))' \
        'a piece in one stream runs beside a piece in the other: no stream waits for the other.' \
        '"no work of one stream ran beside work of the other, though the host had
            queued all of it: \([.[] | select(.call == "cudaStreamWaitEvent")] | length) times a
            stream was made to wait for an event." | gsub("\n *"; " ")'
}

# shellcheck disable=SC2154  # ask_lesson sets output and errors
@test "the host waits at the end, for the work of both streams" {
    local stream=
    ask_process
    [[ $errors != *"hazard: "* || $errors == *"hazard: host access"* ]] || after_the_rest
    expect_journal 'calls | all(.[]; length > 0)' \
        'process copies and adds with cudaMemcpyAsync and launch_add, on the device memory that it
            is given.' \
        '"it made no such call."' \
        -- 'waits == []' \
        'the host waits for nothing while it puts the pieces into the streams: a stream keeps its
            own order. A call that returns when work is over is a wait, whatever it is for.' \
        '"between the first copy and the last the host waited in "
            + ([waits[].call] | group_by(.) | map("\(.[0]), \(length) times") | join(", "))
            + ", in two calls of process."' \
        -- '[.[] | select(.did == "hazard" and (.kind | startswith("host access")))] == []' \
        'when process returns, the host has waited for the last copy of each of the two streams:
            before that the result is not on the host.' \
        "$([[ $errors =~ "hazard: host access"[^$'\n']*"(stream "([0-9]+) ]] &&
            stream=" of stream ${BASH_REMATCH[1]}"
        echo "\"nothing made the host wait for the last copy$stream.\"")"
}

# ask_pay, expect_pay SENTENCE PINNING PAGEABLE PINNED COPIES: copies_to_pay, with times of the
# check's own
ask_pay() {
    draw pinned 100 3000
    draw saved 200 9000
    draw copies 5 90
    pinning=$((saved * copies)) pageable=$((pinned + saved))
    ask_lesson asked_copies 'copies_to_pay takes three times and returns a number of copies, as in
        the starter.' pay "$pinned" "$saved" "$copies"
}
expect_pay() { expect_answers "$1" "copies_to_pay($2, $3, $4)" "$5"; }

@test "pinning pays when it has saved what it took" {
    local pinned saved copies pinning pageable
    local least='copies_to_pay returns the least number of copies that together save as much time as
        pinning takes.'
    ask_pay
    expect_pay "$least" $((pinning + saved / 3)) "$pageable" "$pinned" $((copies + 1))
    expect_pay "$least" $((pinning + saved - 1)) "$pageable" "$pinned" $((copies + 1))
    expect_pay 'copies_to_pay counts no copy more if the copies save exactly what pinning takes.' \
        "$pinning" "$pageable" "$pinned" "$copies"
    expect_pay "$least" $((saved / 2)) "$pageable" "$pinned" 1
}

@test "when pinned copies are no faster, pinning never pays" {
    local pinned saved copies pinning pageable
    ask_pay
    expect_pay 'copies_to_pay returns 0 if a pinned copy takes as long as a pageable one. A division
        by what it saves is then a division by 0.' "$pinning" "$pinned" "$pinned" 0
    expect_pay 'copies_to_pay returns 0 if a pinned copy takes longer than a pageable one.' \
        "$pinning" "$pinned" "$pageable" 0
}

@test "it prints what a real device prints, and is right with another size" {
    local count mib
    after_the_rest
    run_lesson
    expect_right 18_pinned_transfers
    grep -q '^~ device "Simulated.*": its figures are "modeled"$' <<<"$output" ||
        miss "$(print_sentences 'Expected: on the simulated device the program prints that its
            figures are modeled: the starter calls say_device for that.' \
            "Happened: it printed no such line.")"
    draw mib 2 12
    # shellcheck disable=SC2034  # run_lesson reads it; a device that copies in no time
    SIM_ENV=(SIM_SCHEDULE=instant)
    run_lesson "$mib"
    expect_clean
    count=$((mib * 262144))
    [ "$(grep -cx "process, .* 42 in $count of $count elements" <<<"$output")" = 2 ] ||
        missed "Expected: with $mib MiB, 42 in each of $count elements, twice." \
            "Happened: it printed \"$(grep -m 1 '^process' <<<"$output")\"."
}
