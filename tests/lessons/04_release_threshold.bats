# Lesson 04: the threshold decides how much a synchronization returns. Judges $LESSON.
load ../grading/check

setup_file() { lesson_setup 04_release_threshold; }

MIB=1048576
# The rows of the table are the first six pools with a threshold, `phase` is the seventh.
definitions 'def ok($call): [.[] | select(.call == $call and .result == "cudaSuccess")];
    def thresholds: [ok("cudaMemPoolSetAttribute")[]
        | select(.attribute == "cudaMemPoolAttrReleaseThreshold")];
    def rows: . as $all | thresholds[:6][] | .pool as $pool
        | [$all | ok("cudaFreeAsync")[] | select(.pool == $pool)][0] as $free
        | ([$all | ok("cudaFreeAsync")[1:][], ok("cudaMemPoolDestroy")[]
            | select(.pool == $pool and .n > $free.n) | .n] | min) as $until
        | {pool: $pool, free: $free, until: $until};
    def syncs: . as $all | rows as $row | [$all | ok("cudaStreamSynchronize")[]
        | select(.n > $row.free.n and .n < $row.until) | .stream == $row.free.stream];
    def released: . as $all | rows as $row | [$all[]
        | select(.why == "synchronization" and .pool == $row.pool and .n < $row.until)]
        | (last.reserved // $row.free.reserved) / '$MIB';
    def phase: thresholds[6].pool as $pool | [.[] | select(.pool == $pool)];
    def after_peak: phase as $phase | [$phase[] | select(.call == "cudaFreeAsync") | .n][0] as $free
        | [$phase[] | select(.attribute == "cudaMemPoolAttrReservedMemCurrent" and .n > $free)
            | .value][0];'

# What the two rules return for numbers of the check's own, which it draws.
ask() {
    draw segment 3 70
    draw live 71 900
    draw freed 901 3000
    draw threshold 901 2000
    reserved=$(((live + freed + segment - 1) / segment * segment))
    ask_lesson asked_threshold "predict_freed and predict_synchronized take and return sizes in
        MiB, as they did at the start." "$segment" "$live" "$freed" "$threshold"
}

# Each prediction of the table: is it what the journal has?
predictions_hold() {
    local wrong
    after_the_rest
    wrong=$(awk '/^ +[0-9]/ { print $1, $2, $5, $8 }' <<<"$output" |
        paste -d ' ' - <(in_journal '[[rows.free.reserved / '$MIB'], [released]]
            | transpose[] | "\(.[0]) \(.[1])"') |
        awk 'NF != 6 { print "the table does not have one row for each pool"; exit }
            $3 != $5 { print "after the free with a threshold of", $1, "MiB and", $2, \
                "MiB live you predicted", $3, "MiB, the pool reserved", $5; exit }
            $4 != $6 { print "after the synchronization with a threshold of", $1, "MiB and", $2, \
                "MiB live you predicted", $4, "MiB, the pool reserved", $6; exit }')
    [ -z "$wrong" ] || missed "Expected: both predictions of each row of the table hold, for an
        allocation of $1 MiB." \
        "Happened: $wrong."
}

@test "predict_freed holds: what is reserved right after a free" {
    local segment live freed threshold reserved
    ask
    expect_answers 'predict_freed(reserved, freed) is what the pool reserves right after a free. A
        free returns memory to the pool, not to the device.' \
        "predict_freed($reserved, $freed)" "$reserved"
}

@test "predict_synchronized holds for other segments, sizes and thresholds" {
    local segment live freed threshold reserved sizes used limit under kept asked
    local free=() beside=()
    ask
    for sizes in "0 0" "0 $((3 * segment))" "0 $((3 * segment - 1))" "0 $((reserved + segment))" \
        "0 $threshold" "$live 0" "$live $threshold" "$live $((live + segment))" "$live $live" \
        "$live $((reserved - 1))" "$live $((reserved + 1000 * segment))"; do
        read -r used limit <<<"$sizes"
        under=$(((used + segment - 1) / segment * segment)) kept=$((limit / segment * segment))
        [ "$kept" -ge "$under" ] || kept=$under
        [ "$kept" -le "$reserved" ] || kept=$reserved
        asked="predict_synchronized($segment, $reserved, $used, $limit)"
        if [ "$used" = 0 ]; then free+=("$asked" "$kept"); else beside+=("$asked" "$kept"); fi
    done
    expect_answers 'predict_synchronized(segment, reserved, 0, threshold), with nothing live, is as
        many whole segments as fit under the threshold, for segments of any size. It is never more
        than the pool reserved: a threshold takes no memory from the device.' "${free[@]}"
    expect_answers 'predict_synchronized(segment, reserved, live, threshold): the threshold is for
        all that the pool reserves, also under live allocations. It adds nothing to them, and a live
        allocation keeps its segments.' "${beside[@]}"
}

# draw_size: an argument into $size. Two of that size do not fill their segments.
draw_size() {
    size=
    draw size 9 50
    size=$((16 * size + 1))
}

# keeps MIB: the seventh pool keeps what the phase needs
keeps() {
    local needed=$(((2 * $1 + 31) / 32 * 32))
    expect_journal '(thresholds | length) == 7' \
        'try_phase sets the threshold of its pool, once.' \
        '"\(thresholds | length) thresholds were set, six of them in the table."' \
        -- "after_peak / $MIB == $needed" \
        "after the peak the pool keeps what the phase needs, and no more: $1 MiB that are live and
            $1 MiB that it allocates next, in whole segments. A threshold is in bytes." \
        'thresholds[6].value as $value | "with " + (if $value > 1e18
                then "the maximum as its threshold" else "a threshold of \($value) bytes" end)
            + " the pool kept \(after_peak / '$MIB') MiB."' \
        -- '[phase[] | select(.call == "cudaMallocFromPoolAsync") | .bytes / '$MIB"]
            == [$1, 4 * $1, $1]" \
        "the phase allocates $1, then $((4 * $1)), then $1 MiB, as at the start."
}

@test "the third threshold keeps what the phase needs, and nothing else of the peak" {
    run_lesson
    keeps 128
    draw_size
    run_lesson "$size"
    keeps "$size"
}

@test "each threshold is set in bytes, on the pool of the allocation, before the free" {
    run_lesson
    expect_journal '[thresholds[:6][].value] == [0, 48, 64, 256, 64, 160
        | . * '"$MIB"']' \
        'the table sets the thresholds 0, 48, 64, 256, 64 and 160 MiB, in bytes, in this order.' \
        '"the thresholds were set to " + ([thresholds[].value | tostring] | join(", "))
            + " bytes."' \
        -- '[thresholds[:6][].n] as $set | [rows.free.n] as $free
        | ($free | length) == 6 and all(range(6); $free[.] != null and $free[.] > $set[.])' \
        'after each threshold is set, an allocation of that same pool is freed: the threshold of one
            pool has no effect on another.' \
        '"thresholds were set on pools " + ([thresholds[].pool] | tostring)
            + ", allocations freed in pools " + ([ok("cudaFreeAsync")[].pool] | unique | tostring)
            + "."'
}

@test "after each free another stream is synchronized, then the stream of the free" {
    run_lesson
    expect_journal 'any(rows; .free == null)
            or [syncs] == [range(6) | [false, true]]' \
        'each row of the table synchronizes the other stream after the free, and then the stream of
            the free.' \
        '"after the free the rows synchronized "
            + ([syncs | if . == [] then "nothing" else map(if . then "the stream of the free"
                else "the other stream" end) | join(" and ") end] | unique | join("; ")) + "."' \
        -- 'ok("cudaMemPoolTrimTo") | length == 0' \
        'the program trims nothing: it shows what a synchronization alone returns.' \
        '"\(ok("cudaMemPoolTrimTo") | length) trims."'
}

@test "the predictions hold for 128 MiB" {
    run_lesson
    predictions_hold 128
    expect_right 04_release_threshold
}

@test "the predictions hold for a size that is drawn" {
    draw_size
    run_lesson "$size"
    predictions_hold "$size"
    expect_clean
}

@test "the predictions hold for 300 MiB, more than every threshold" {
    run_lesson 300
    predictions_hold 300
    expect_right 04_release_threshold.300
}
