# Lesson 02: the default pool grows in whole segments, whose size is measured. Judges $LESSON.
load ../grading/check

setup_file() { lesson_setup 02_default_pool; }

MIB=1048576
# Allocations, from the pool that is given or from the current one; `small`: those of less than 1
# MiB before the first of the lesson's own.
definitions 'def ok($call): [.[] | select(.call == $call and .result == "cudaSuccess")];
    def allocations: [.[] | select(.call == ("cudaMallocAsync", "cudaMallocFromPoolAsync")
        and .result == "cudaSuccess")];
    def own: [allocations[] | select(.bytes >= '$MIB')];
    def small: own[0].n as $own | [allocations[] | select(.bytes < '$MIB' and .n < $own)];
    def freed: small[0] as $small
        | [ok("cudaFreeAsync", "cudaFree")[] | select(.allocation == $small.allocation) | .n][0];
    def reserved: [ok("cudaMemPoolGetAttribute")[] | select(.pool == 0
        and (.attribute | startswith("cudaMemPoolAttrReservedMem")))];'

# Every line that the program printed with a prediction: is it what the journal has?
predictions_hold() {
    local wrong reserved number='\([0-9]*\) MiB'
    after_the_rest
    reserved=$(in_journal "own[] | .reserved / $MIB")
    wrong=$(sed -n "s/^allocation.*used *$number.*predicted *$number.*/\1 \2/p" <<<"$output" |
        paste -d ' ' - <(echo "$reserved") |
        awk 'NF == 3 && $2 == $3 { next }
            NF == 3 { print "with " $1 " MiB used you predicted " $2 " MiB, the pool reserved " \
                $3 " MiB" }
            NF != 3 { print "the output does not have one prediction for each allocation" }
            { exit }')
    [ -z "$wrong" ] || missed "Expected: the predictions hold for allocations of $1 MiB, which
        follow each other without gaps." \
        "Happened: $wrong."
}

# What the student's functions return on a device with segments of $other MiB.
ask() {
    draw other 71 120
    draw segment 3 70
    draw used 71 9000
    # shellcheck disable=SC2034  # for ask_lesson
    SIM_ENV=("SIM_SEGMENT=$other")
    ask_lesson asked_segments "measure_segment and predict_reserved take what they took at the
        start, and return a size in MiB." "$segment" "$used"
}

@test "the segment is measured: 1 byte is allocated, reserved is read, and the byte is freed" {
    local other segment used
    run_lesson
    expect_journal 'own[0].n as $own | $own != null and (small | length) > 0
        and all(small[]; .pool == 0)' \
        'measure_segment allocates 1 byte from the default pool before the program allocates
            anything else.' \
        '"the first allocation was of \(allocations[0].bytes // 0) bytes, from "
            + if allocations[0].pool == 0 then "the default pool." else "another pool." end' \
        -- 'freed != null and freed < own[0].n' \
        'measure_segment frees its byte before the program allocates anything else.' \
        '"the byte was still allocated then."' \
        -- 'small[0].n as $small | freed as $freed
            | any(reserved[]; .n > $small and .n < $freed)' \
        'measure_segment reads what the pool reserves while its byte is allocated. At that time the
            pool consists of one segment.' \
        'small[0].n as $small
            | "what the pool reserves was read " + (if any(reserved[]; .n < $small)
                then "before the byte was allocated, and " else "" end)
            + "not between its allocation and its free."' \
        -- 'own[0].n as $own | ([reserved[] | select(.n < $own)] | last.value) == 0' \
        'the pool is empty again before the program allocates anything else: the pool returns its
            segment when the stream that freed the byte is synchronized.' \
        'own[0].n as $own | "the pool still reserved \([reserved[]
            | select(.n < $own)] | last.value / '$MIB') MiB."'
    ask
    expect_answers "measure_segment returns what it has measured. On a device with segments of
        $other MiB (SIM_SEGMENT=$other) that is $other." "measure_segment(pool, stream)" "$other"
}

@test "predict_reserved holds for other segments and sizes" {
    local other segment used size questions=()
    ask
    for size in "$used" 1 "$segment" $((3 * segment - 1)) $((3 * segment)) $((3 * segment + 1)); do
        questions+=("predict_reserved($segment, $size)"
            $(((size + segment - 1) / segment * segment)))
    done
    expect_answers 'predict_reserved(segment, used) is the rule for any segment and any size, in
        MiB: as many whole segments as the allocations need, and no more. It makes no CUDA call.' \
        "${questions[@]}"
}

@test "four allocations of the given size come from the default pool, which is not changed" {
    run_lesson
    expect_journal '[own[] | select(.call == "cudaMallocAsync" and .pool == 0
        and .bytes == '$((20 * MIB))')] | length == 4' \
        'four cudaMallocAsync of 20 MiB each, from the default pool of device 0. The program had
            them at the start.' \
        '"the allocations were of " + ([own[].bytes | . / '$MIB' | tostring]
            | join(", ")) + " MiB."' \
        -- 'ok("cudaMemPoolSetAttribute") + ok("cudaDeviceSetMemPool")
            + ok("cudaMemPoolTrimTo")
        + ok("cudaMemPoolCreate") | length == 0' \
        'the program changes nothing about the default pool: only measure_segment and
            predict_reserved are yours to write.' \
        '"it called " + ([.[] | select(.call == ("cudaMemPoolSetAttribute", "cudaDeviceSetMemPool",
            "cudaMemPoolTrimTo", "cudaMemPoolCreate")) | .call] | unique | join(", ")) + "."'
}

@test "the predictions hold for 20 MiB" {
    run_lesson
    predictions_hold 20
    expect_right 02_default_pool
}

@test "the predictions hold for allocations that fill their segments, of 32 MiB" {
    run_lesson 32
    predictions_hold 32
    expect_right 02_default_pool.32
}

@test "the predictions hold for allocations a little larger, of 33 MiB" {
    run_lesson 33
    predictions_hold 33
    expect_right 02_default_pool.33
}
