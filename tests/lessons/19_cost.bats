# Lesson 19: a pool that keeps its memory, and requests that wait for no other stream. Judges
# $LESSON by what it calls, never by a time.
load ../tools/helpers

setup_file() { lesson_setup 19_cost; }

MIB=1048576
# served: the calls of serve, with those of the stopwatch around it: from the last copy of the other
# stream to the query of that stream.
QUESTIONS='def ok($call): [.[] | select(.call == $call and .result == "cudaSuccess")];
    def returned: [.[] | select(.did == "release" and .why == "synchronization")];
    def threshold: [ok("cudaMemPoolSetAttribute")[]
        | select(.attribute == "cudaMemPoolAttrReleaseThreshold")] | last
        | if . == null then "it set no threshold" else "it set the threshold of "
            + (if .pool == 0 then "the default pool" else "another pool" end)
            + " to \(if .value >= 18446744073709551615 then "UINT64_MAX" else .value end) bytes"
            end;
    def copied: [ok("cudaMemcpyAsync")[] | select(.kind == "HostToDevice") | .n] | last // infinite;
    def queried: [.[] | select(.call == "cudaStreamQuery")] | last;
    def served: copied as $from | (queried.n // 0) as $to
        | [.[] | select(.call != null and .n > $from and .n < $to)];
    def longest: served | max_by(.end - .t) | if . == null then "the program ended before"
        else "the longest call of serve was \(.call): it took \((.end - .t) / 1000 | floor) us"
            end;
    def waits: [served[] | select(.call | IN("cudaStreamSynchronize", "cudaDeviceSynchronize",
        "cudaEventSynchronize"))] | length - 2;'

# The journal of the loops has 18,000 lines; jq gets those that a question is about. What is made of
# a journal lies beside the folder of the run, where the program does not write.
only() { # only NAME PROGRAM-OF-AWK
    [ -s "$journal" ] || return 0
    [ -e "$CHECK_RUN.$1" ] || awk "NR == 1; $2" "$journal" >"$CHECK_RUN.$1"
    journal=$CHECK_RUN.$1
}

# asked keep MIB, asked serve REQUESTS BYTES: tests/lessons/asked_cost.h calls keep_memory or serve
asked() {
    ask_lesson asked_cost 'keep_memory and serve as the rest of the lesson calls them, and CUDA
        calls in them that succeed.' "$@"
}

@test "after keep_memory no synchronization takes memory from the pool" {
    local mib
    run_lesson
    # The pool is to keep its memory from the first allocation after the 3 x 501 before keep_memory.
    only kept '/"call":"cudaMallocAsync".*"cudaSuccess"/ && ++made == 1504
        /"cudaMemPoolAttrReleaseThreshold"/ || made > 1503 && /"did":"release"/'
    expect_journal "$QUESTIONS"' (ok("cudaMallocAsync") | length) == 1 and returned == []' \
        'after keep_memory the default pool keeps all its memory at each synchronization, whatever
            the size of its allocations (YOUR WORK, 1 of 2). The threshold is in bytes.' \
        "$QUESTIONS"' "after keep_memory, with allocations of up to 1024 MiB, the default"
            + " pool returned memory at \(returned | length) synchronizations: \(threshold)."'
    draw mib 1100 1900
    asked keep "$mib"
}

@test "the loops do what their names say" {
    local pairs returned
    run_lesson
    read -r pairs returned < <(awk '
        /"call":"cudaMallocHost".*"cudaSuccess"/ { behind = 1 }
        /"did":"release".*"why":"synchronization"/ { returned++ }
        !behind && /"cudaSuccess"/ && match($0, /"call":"[A-Za-z]*/) {
            calls[substr($0, RSTART + 8, RLENGTH - 8)]++
        }
        END {
            print behind * calls["cudaMallocAsync"] "-" behind * calls["cudaFreeAsync"] "-" \
                behind * calls["cudaFree"], returned + 0
        }' "$journal" 2>/dev/null) || true
    [ "$pairs" = 4509-4509-1503 ] ||
        missed "Expected: print_costs makes 501 pairs of each size in each of its four ways. That
            part was there at the start: put it back." \
            "Happened: its loops made another number of allocations or frees."
    [ "${returned:-0}" -ge 1503 ] ||
        missed 'Expected: in the way "pool, default, synchronized each time" the host synchronizes
            after each free, and the pool returns its memory. That part was there at the start: put
            it back.' \
            "Happened: memory was returned at $returned synchronizations, and the way has 1503
            frees."
}

SERVED='/"call":"cudaMallocHost"/ { behind = 1 } behind'

@test "serve waits for no other stream" {
    run_lesson
    only served "$SERVED"
    expect_journal "$QUESTIONS"' queried | .result == "cudaErrorNotReady"' \
        'when serve returns, the copies in the other stream are still pending: no call of serve
            waits for them (YOUR WORK, 2 of 2).' \
        "$QUESTIONS"' longest + ", until the copies in the other stream were done."' \
        -- "$QUESTIONS"' [served[] | select(.call == "launch_fill" and .bytes == '$((4 * MIB))')]
            | length == 16' \
        'each of the 16 requests fills its memory on the device with launch_fill.' \
        "$QUESTIONS"' "serve filled memory of that size \([served[] | select(.call == "launch_fill"
            and .bytes == '$((4 * MIB))')] | length) times."'
}

@test "serve synchronizes once, for all requests" {
    run_lesson
    only served "$SERVED"
    expect_journal "$QUESTIONS"' served != [] and waits <= 1' \
        'the host synchronizes once, after the last request: memory of the pool may be used and
            freed in the stream before that.' \
        "$QUESTIONS"' "serve synchronized \(waits) times for 16 requests."'
}

@test "serve answers every request, whatever their number and size" {
    local requests kib
    draw requests 17 60
    draw kib 5 900
    asked serve "$requests" $((kib * 1024))
}

@test "it prints what a real device prints" {
    after_the_rest
    run_lesson
    expect_right 19_cost
}
