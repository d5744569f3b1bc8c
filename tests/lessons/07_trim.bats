# Lesson 07: trim after the free has happened, keep what the next phase needs. Judges $LESSON.
load ../tools/helpers

setup_file() { lesson_setup 07_trim; }

MIB=1048576
# phases: the two blocks in order, each with its free. waits($stream): what makes the host wait for
# that stream.
QUESTIONS='def ok($call): [.[] | select(.call == $call and .result == "cudaSuccess")];
    def waits($stream): ok("cudaDeviceSynchronize") + ok("cudaEventSynchronize")
        + [ok("cudaStreamSynchronize")[] | select(.stream == $stream)];
    def phases: [ok("cudaMallocFromPoolAsync")[] as $block | ok("cudaFreeAsync")[]
        | select(.allocation == $block.allocation)
        | {taken: $block.n, pool: $block.pool, bytes: $block.bytes, freed: .n, stream: .stream}];
    def history: [.[] | if .did != null then empty elif .call == "cudaMemPoolTrimTo"
        then "TrimTo(\(.keep))"
        elif .call == ("cudaMallocFromPoolAsync", "cudaFreeAsync", "cudaStreamSynchronize",
            "cudaDeviceSynchronize") then .call
        else empty end] | "the calls were, in order: " + (.[:16] | join(", ")) + ".";'

@test "two phases: a block of 96 MiB, then one of 48 MiB from the same pool" {
    run_lesson
    expect_journal "$QUESTIONS"' phases | length == 2 and .[0].pool == .[1].pool
        and .[0].bytes == '$((96 * MIB))' and .[1].bytes == '$((48 * MIB))'' \
        'phase 1 takes 96 MiB and phase 2 takes 48 MiB, both from the program'"'"'s one pool and
            both freed with cudaFreeAsync.' \
        "$QUESTIONS history" \
        -- "$QUESTIONS"' phases as $phase | ($phase | length) == 2 and (([ok("cudaMemPoolTrimTo")[]
        | select(.keep == 0 and .n > $phase[0].freed)] | first) as $pending | $pending != null
        and ([waits($phase[0].stream)[] | select(.n < $pending.n)] | length == 0))' \
        'the first TrimTo(0), while the free is pending, stays as it was: it shows that trim does
            nothing for a pending free.' \
        "$QUESTIONS history"
}

@test "between the phases: the stream is synchronised, then the pool is trimmed" {
    run_lesson
    expect_journal "$QUESTIONS"' phases as $phase | ($phase | length) == 2
        and ([waits($phase[0].stream)[]
        | select(.n > $phase[0].freed and .n < $phase[1].taken)] as $wait
        | ([ok("cudaMemPoolTrimTo")[] | select(.n > $phase[0].freed and .n < $phase[1].taken)]
            | last) as $trim
        | any($wait[]; $trim != null and .n < $trim.n))' \
        'after phase 1, first a synchronise of the stream, then the trim: a trim does nothing for a
            free that is still pending.' \
        "$QUESTIONS history"
}

@test "the trim between the phases keeps what phase 2 needs" {
    run_lesson
    expect_journal "$QUESTIONS"' phases as $phase | ($phase | length) == 2
        and ([ok("cudaMemPoolTrimTo")[] | select(.n > $phase[0].freed and .n < $phase[1].taken)
            | .keep] | .[1:] | unique) == ['$((48 * MIB))']' \
        'cudaMemPoolTrimTo with what phase 2 needs: 48 MiB, in bytes (50331648). What trim may take
            does not depend on the threshold.' \
        "$QUESTIONS history" \
        -- "$QUESTIONS"' phases as $phase | ($phase | length) == 2
        and ([.[] | select(.did == "grow" and .n > $phase[0].freed)] | length == 0)' \
        'phase 2 finds its memory in the pool: the pool does not grow again.' \
        '"the pool grew \([.[] | select(.did == "grow")] | length) times."'
}

@test "the threshold stays at its maximum" {
    run_lesson
    expect_journal "$QUESTIONS"' [ok("cudaMemPoolSetAttribute")[]
        | select(.attribute == "cudaMemPoolAttrReleaseThreshold") | .value >= 18446744073709551615]
        | length > 0 and all' \
        'the release threshold is set to its maximum (UINT64_MAX) and left there: nothing but trim
            gives memory back in this program.' \
        "$QUESTIONS"' "the threshold was set to "
            + ([ok("cudaMemPoolSetAttribute")[]
            | select(.attribute == "cudaMemPoolAttrReleaseThreshold")
            | if .value >= 18446744073709551615 then "its maximum" else "\(.value) bytes" end]
            | join(", then ")) + "."' \
        -- '[.[] | select(.did == "release") | .why] | length > 0 and all(.[];
            . == "trim" or . == "destroy")' \
        'memory goes back at a trim, at no synchronise.' \
        '"memory went back " + ([.[] | select(.did == "release") | "at a " + .why] | join(", "))
            + "."'
}

@test "at the end: synchronised, then trimmed to nothing" {
    run_lesson
    expect_journal "$QUESTIONS"' phases as $phase | ($phase | length) == 2
        and ([waits($phase[1].stream)[] | select(.n > $phase[1].freed)] as $wait
        | ([ok("cudaMemPoolTrimTo")[] | select(.n > $phase[1].freed)] | last) as $trim
        | $trim != null and $trim.keep == 0 and $trim.reserved == 0 and any($wait[];
            .n < $trim.n))' \
        'after phase 2, a synchronise of the stream and then TrimTo(0), which leaves the pool with
            nothing.' \
        "$QUESTIONS history"
}

@test "it prints what a real device prints, also for 160 MiB" {
    run_lesson
    expect_right 07_trim
    run_lesson 160
    expect_right 07_trim.160
}
