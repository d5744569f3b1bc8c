# Lesson 06: trim after the free has finished, keep what the next phase needs, put together what
# stays. Judges $LESSON.
load ../grading/check

setup_file() { lesson_setup 06_trim; }

MIB=1048576
# phases: the two allocations of the first pool, in order, each with its free. history($from; $to):
# what was done to that pool between two lines of the journal.
definitions 'def ok($call): [.[] | select(.call == $call and .result == "cudaSuccess")];
    def mib: if . % '$MIB' == 0 then "\(. / '$MIB') MiB" elif . < '$MIB' then "\(.) bytes"
        else "\(. * 100 / '$MIB' | floor / 100) MiB" end;
    def first_pool: ok("cudaMallocFromPoolAsync") | first.pool;
    def phases: first_pool as $pool | [(ok("cudaMallocFromPoolAsync")[] | select(.pool == $pool))
        as $taken | ok("cudaFreeAsync")[] | select(.allocation == $taken.allocation)
        | {taken: $taken.n, bytes: $taken.bytes, reserved: $taken.reserved, freed: .n}];
    def trims($from; $to): first_pool as $pool | [ok("cudaMemPoolTrimTo")[]
        | select(.pool == $pool and .n > $from and .n < $to)];
    def released: first_pool as $pool | phases as $phase | [.[] | select(.did == "release"
        and .pool == $pool and .n > $phase[0].freed and .n < $phase[1].taken)];
    def history($from; $to): first_pool as $pool | [.[] | select(.n > $from and .n < $to)
        | if .call == "cudaMemPoolTrimTo" and .pool == $pool
            then "cudaMemPoolTrimTo to \(.keep | mib), which left \(.reserved | mib)"
        elif .call | IN("cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize",
            "cudaStreamQuery", "cudaEventQuery", "cudaFree") then .call
        elif .call == "cudaMemPoolSetAttribute" and .value < 18446744073709551615
            then "the threshold set to \(.value | mib)"
        else empty end] | reduce .[] as $next ([]; if last == $next then . else . + [$next] end)
        | if . == [] then "neither a synchronization nor a trim"
            else (.[:8] | join(", then ")) + if length > 8 then ", and so on" else "" end end;
    def capital: (.[:1] | ascii_upcase) + .[1:];
    def between: phases as $phase | if ($phase | length) == 2 then
        "between the phases: " + history($phase[0].freed; $phase[1].taken) + "." else
        "the first pool had \($phase | length) allocations that were freed." end;
    def third: phases[1].freed as $freed | [ok("cudaMallocFromPoolAsync")[].n | select(. > $freed)]
        | first // infinite;
    def pieces: first_pool as $pool | [ok("cudaMallocFromPoolAsync")[]
        | select(.pool != $pool and .bytes == '$((16 * MIB))')];'

# draw_phases: an argument that the file does not name, into $size, and what phase 2 needs, in
# segments of the simulated device, into $need
draw_phases() {
    size=
    draw size 129 159
    need=$((((size + 1) / 2 + 31) / 32 * 32 * MIB))
}

@test "phases 1 and 2 take one pool, and the trim of the pending free returns nothing" {
    run_lesson
    expect_journal 'phases | map(.bytes) == ['$((96 * MIB))', '$((48 * MIB))']' \
        'phase 1 allocates 96 MiB and phase 2 allocates 48 MiB, both from the first pool of the
            program, and both are freed with cudaFreeAsync.' \
        'between' \
        -- 'phases as $phase | trims($phase[0].freed; $phase[1].taken)[0]
            | .keep == 0 and .reserved == '$((96 * MIB)) \
        'the first trim, to 0 while the free is pending, is there as at the start: it shows that a
            trim returns nothing for a pending free.' \
        'between'
}

@test "the threshold stays at its maximum" {
    run_lesson
    expect_journal '[ok("cudaMemPoolSetAttribute")[]
        | select(.attribute == "cudaMemPoolAttrReleaseThreshold") | .value >= 18446744073709551615]
        | length > 0 and all' \
        'the release threshold is set to its maximum (UINT64_MAX) and left there: only a trim
            returns memory of these pools.' \
        '"the threshold was set to "
            + ([ok("cudaMemPoolSetAttribute")[]
            | select(.attribute == "cudaMemPoolAttrReleaseThreshold")
            | if .value >= 18446744073709551615 then "its maximum" else .value | mib end]
            | join(", then to ")) + "."' \
        -- 'first_pool as $pool | [.[] | select(.did == "release" and .pool == $pool)
            | .why] | all(.[]; . == "trim" or . == "destroy")' \
        'a trim returns the memory, not a synchronization.' \
        '"memory was returned by a synchronization."'
}

@test "the trim between the phases returns all but what phase 2 needs" {
    draw_phases
    run_lesson "$size"
    [ "$(in_journal 'any(released[]; .why == "synchronization")')" = false ] ||
        skip "first repair the threshold: here a synchronization returned memory"
    expect_journal '(phases | length) == 2 and released != []' \
        'after phase 1, a trim returns memory. It does nothing for a free that is still pending for
            the host. A synchronization of the stream, of the device, or of an event behind the free
            ends that; a query does not.' \
        'between' \
        -- 'first_pool as $pool | phases as $phase | [.[] | select(.did == "grow"
            and .pool == $pool and .n > $phase[0].freed)] | length == 0' \
        'phase 2 finds its memory in the pool: the trim keeps what phase 2 needs, in bytes, whatever
            the argument of the program is.' \
        '"phase 2 needs \(phases[1].bytes | mib), and the pool grew. "
            + (between | capital)' \
        -- 'phases[1].reserved == '"$need" \
        'the trim keeps what phase 2 needs, and no segment more, whatever the argument of the
            program is.' \
        '"phase 2 needs \(phases[1].bytes | mib), and the pool held"
            + " \(phases[1].reserved | mib). " + (between | capital)' \
        -- 'phases as $phase | (trims($phase[0].freed; $phase[1].taken) | length) <= 3
            and (released | length) == 1' \
        'one trim returns all but what phase 2 needs. It is given that number of bytes: the pool
            itself rounds it up to whole segments, so there is nothing to try out.' \
        'phases as $phase | "\(trims($phase[0].freed; $phase[1].taken)[1:] | length)"
            + " trims after that of the pending free. " + (between | capital)'
}

@test "at the end of phase 2 the pool keeps nothing" {
    draw_phases
    run_lesson "$size"
    expect_journal 'first_pool as $pool | phases[1].freed as $freed | third as $third
        | [.[] | select(.pool == $pool and .n > $freed and .n < $third) | .reserved // empty]
        | last == 0' \
        'after phase 2 a trim returns everything. The last free must not be pending then: the copy
            came before it, so nothing has waited for it yet.' \
        '"after the free of phase 2: " + history(phases[1].freed; third) + "."'
}

@test "in phase 3 the scratch memory leaves the pool" {
    run_lesson
    expect_journal 'pieces | length == 8' \
        'phase 3 makes eight allocations of half a segment from its own pool, four results and four
            pieces of scratch memory. Only their order is yours.' \
        '"it made \(pieces | length) allocations of half a segment."' \
        -- 'pieces[0].pool as $pool | [ok("cudaMallocFromPoolAsync")[]
            | select(.pool == $pool)] | last | .from != "new"' \
        'after the scratch memory is freed, one allocation finds room that is 1 MiB larger than each
            piece: free memory that has live allocations between is not contiguous.' \
        '"the pool grew for it, although half of its memory was free."' \
        -- 'pieces[0].pool as $pool | [ok("cudaMemPoolTrimTo")[]
            | select(.pool == $pool)] | last | .reserved == '$((64 * MIB)) \
        'the last trim returns the scratch memory. A segment with a live allocation stays.' \
        'pieces[0].pool as $pool | [ok("cudaMemPoolTrimTo")[] | select(.pool == $pool)]
            | last | if . == null then "the pool of phase 3 was not trimmed."
            else "\(.used | mib) were used, and the trim left \(.reserved | mib)." end'
}

@test "it prints what a real device prints, and is right with another size" {
    after_the_rest
    run_lesson
    expect_right 06_trim
    draw_phases
    run_lesson "$size"
    expect_clean
}
