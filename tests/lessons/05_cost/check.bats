# Lesson 05: a pool that keeps its memory, and requests that wait for no other stream. Judges
# $LESSON by what it calls, never by a time.
load ../grading/check

setup_file() { lesson_setup 05_cost; }

MIB=1048576
# served: the calls of serve, with those of the stopwatch around it: from the last copy of the other
# stream to the query of that stream.
definitions 'def ok($call): [.[] | select(.call == $call and .result == "cudaSuccess")];
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
    # The stopwatch around serve waits twice. Whether a cudaFree waits depends on the other stream.
    def waits: [served[] | select(.acquired and .call != "cudaFree")];
    # Has request $i filled $bytes with its number, and copied the last int of them?
    def answered($i; $bytes): . as $all | any(.[]; .call == "launch_fill" and .value == $i
        and .bytes == $bytes and (. as $fill | [$all[] | select(.n > $fill.n
            and .allocation == $fill.allocation and (.call == "launch_fill"
                or .kind == "DeviceToHost"))] | first
            | .kind == "DeviceToHost" and .bytes == 4 and .inner_offset == $bytes - 4));
    def unanswered($requests; $bytes): . as $all
        | [range($requests) | select(. as $i | $all | answered($i; $bytes) | not)];
    def without($requests; $bytes): . as $all | unanswered($requests; $bytes) as $missing
        | [range($requests) | select(. as $i | any($all[]; .call == "launch_fill" and .value == $i
            and .bytes == $bytes))] as $filled
        | "\($filled | length) of \($requests) requests filled \($bytes) bytes with their number,
            and \($requests - ($missing | length)) copied the last int of them. The first that did
            not is request \($missing[0])." | gsub("\n *"; " ");'
REQUEST='request i fills its memory with i on the device (launch_fill), and the last int of that
    memory is copied to its answer (cudaMemcpyAsync).'

# The journal of the loops has 18,000 lines; jq gets those that a question is about. What is made of
# a journal lies beside the folder of the run, where the program does not write.
only() { # only NAME PROGRAM-OF-AWK
    [ -s "$journal" ] || return 0
    [ -e "$CHECK_RUN.$1" ] || awk "NR == 1; $2" "$journal" >"$CHECK_RUN.$1"
    journal=$CHECK_RUN.$1
}

# ask keep MIB, ask serve REQUESTS BYTES: tests/lessons/asked_cost.h calls keep_memory or serve
ask() {
    ask_lesson asked_cost 'keep_memory and serve as the rest of the lesson calls them, and CUDA
        calls in them that succeed.' "$@"
}
KEEPS='after keep_memory the default pool keeps all its memory at each synchronization, whatever the
    size of its allocations (YOUR WORK, 1 of 2). The threshold is in bytes.'

@test "after keep_memory no synchronization takes memory from the pool" {
    local mib
    run_lesson
    # The pool is to keep its memory from the first allocation after the 3 x 501 before keep_memory.
    only kept '/"call":"cudaMallocAsync".*"cudaSuccess"/ && ++made == 1504
        /"cudaMemPoolAttrReleaseThreshold"/ || made > 1503 && /"did":"release"/'
    expect_journal '(ok("cudaMallocAsync") | length) == 1 and returned == []' \
        "$KEEPS" \
        '"after keep_memory, with allocations of up to 1024 MiB, the default"
            + " pool returned memory at \(returned | length) synchronizations: \(threshold)."'
    draw mib 1100 1900
    ask keep "$mib"
    expect_journal 'any(.[]; .call == "cudaStreamSynchronize") and returned == []' \
        "$KEEPS" \
        '"after keep_memory, with an allocation of '"$mib"' MiB, a synchronization left
            \(returned | first.reserved // 0 | . / 1048576) MiB: \(threshold)."
            | gsub("\n *"; " ")'
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
        missed "Expected: print_costs makes 501 pairs of each size in each of its four ways, as in
            the starter." \
            "Happened: its loops made another number of allocations or frees."
    [ "${returned:-0}" -ge 1503 ] ||
        missed 'Expected: in the way "pool, default, synchronized each time" the host synchronizes
            after each free, as in the starter, and the pool returns its memory.' \
            "Happened: memory was returned at $returned synchronizations, and the way has 1503
            frees."
}

SERVED='/"call":"cudaMallocHost"/ { behind = 1 } behind'

@test "serve works on the device, and waits for no other stream" {
    run_lesson
    only served "$SERVED"
    expect_journal 'queried | .result == "cudaErrorNotReady"' \
        'when serve returns, the copies in the other stream are still pending: no call of serve
            waits for them (YOUR WORK, 2 of 2).' \
        'longest + ", until the copies in the other stream were done."' \
        -- 'served | unanswered(16; '$((4 * MIB))') == []' "$REQUEST" \
        'served | without(16; '$((4 * MIB))')'
}

@test "serve synchronizes once, for all requests" {
    run_lesson
    only served "$SERVED"
    expect_journal 'served != [] and (waits | length) <= 3' \
        'the host waits once, after the last request: memory of the pool may be used and freed in
            the stream before that.' \
        '"serve waited \(waits | length - 2) times for 16 requests, in "
            + (waits[1:-1] | map(.call) | unique | join(", ")) + "."'
}

@test "serve answers every request, whatever their number and size" {
    local requests kib bytes
    run_lesson
    only served "$SERVED"
    [ "$(grep -c '"cudaMemcpyAsync".*"DeviceToHost"' "$journal")" -ge 16 ] || after_the_rest
    draw requests 17 60
    draw kib 5 900
    bytes=$((kib * 1024))
    definitions 'def noted: [.[] | select(.call == "launch_fill" and .bytes == 4)];
        def late: noted[0].t as $returned
            | [.[] | select(.did == "run" and .op == "copy" and .finish > $returned)];'
    ask serve "$requests" $bytes
    expect_journal "unanswered($requests; $bytes) == []" \
        "serve answers as many requests as it is asked, here $requests of $bytes bytes: $REQUEST" \
        "without($requests; $bytes)" \
        -- "late == []" \
        'serve returns when every answer has arrived: it waits for the last copy.' \
        '"when serve returned, the copies of \(late | length) answers had not"
            + " ended."' \
        -- '[noted[].value] | .['"$requests"':] as $rest
            | .[:'"$requests"'] == [range('"$requests"')] and ($rest | unique) == [-1]' \
        "serve returns with answers[i] == i for each request, and writes no other answer." \
        '[noted[].value] as $answers
            | [range($answers | length) | select($answers[.] != (if . < '"$requests"' then .
                else -1 end))][0] | "of '"$requests"' requests, answers[\(.)] was \($answers[.])
            when serve returned (-1: not written)." | gsub("\n *"; " ")'
}

@test "it prints what a real device prints" {
    after_the_rest
    run_lesson
    expect_right 05_cost
}
