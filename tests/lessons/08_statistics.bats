# Lesson 08: the four figures, the reset of the marks, what cannot be set. Judges $LESSON.
load ../tools/helpers

setup_file() { lesson_setup 08_statistics; }

MIB=1048576
QUESTIONS='def ok($call): [.[] | select(.call == $call and .result == "cudaSuccess")];
    def own: ok("cudaMemPoolCreate") | map(.pool) | first;
    def freed: ([ok("cudaMallocFromPoolAsync")[] | select(.bytes == '$((256 * MIB))') | .allocation]
        | first) as $block
        | [ok("cudaFreeAsync")[] | select(.allocation == $block) | .n] | first;
    def resets($mark): [ok("cudaMemPoolSetAttribute")[] | select(.attribute == $mark
        and .value == 0)];
    def reads($figure): own as $own | [ok("cudaMemPoolGetAttribute")[]
        | select(.attribute == $figure and .pool == $own)];
    def trim: ([.[] | select(.call == "cudaMemPoolTrimTo") | .n] | first) // length;
    def written: trim as $trim | [.[] | select(.call == "cudaMemPoolSetAttribute"
        and .attribute != "cudaMemPoolAttrReleaseThreshold"
        and .n < $trim) | "\(.attribute[15:]) = \(.value) (\(.result))"] | if . == [] then "nothing"
            else join(", ") end
        | "before the trim the program wrote: " + . + ".";
    def figures: "cudaMemPoolAttrReservedMemCurrent", "cudaMemPoolAttrReservedMemHigh",
        "cudaMemPoolAttrUsedMemCurrent", "cudaMemPoolAttrUsedMemHigh";'

@test "stats_read asks the pool for all four figures, each time" {
    run_lesson
    expect_journal "$QUESTIONS"' ([reads(figures) | length] | min) as $least | $least > 0
            and ($least >= 5 or ok("cudaMemPoolTrimTo") == [])' \
        'stats_read reads four attributes of the pool: ReservedMemCurrent, ReservedMemHigh,
            UsedMemCurrent and UsedMemHigh (YOUR WORK, 1 of 2).' \
        "$QUESTIONS"' "reads of the pool: "
            + ([figures as $figure | "\($figure[15:]) \(reads($figure) | length)"] | join(", "))
            + "."'
}

@test "marks_reset writes 0 to both high-water marks" {
    run_lesson
    expect_journal "$QUESTIONS"' trim as $trim
        | [.[] | select(.call == "cudaMemPoolSetAttribute" and .value != 0 and .n < $trim
            and (.attribute == ("cudaMemPoolAttrReservedMemHigh", "cudaMemPoolAttrUsedMemHigh")))]
                | length == 0' \
        'a mark is reset by writing 0, as a uint64_t, whatever the current figure is. Any other
            value: cudaErrorInvalidValue.' \
        "$QUESTIONS"' written' \
        -- "$QUESTIONS"' own as $own | [resets("cudaMemPoolAttrReservedMemHigh")[]
            | select(.pool == $own)] | length == 1' \
        'marks_reset writes 0 to ReservedMemHigh of the pool, once (YOUR WORK, 2 of 2).' \
        "$QUESTIONS"' written' \
        -- "$QUESTIONS"' own as $own | [resets("cudaMemPoolAttrUsedMemHigh")[]
            | select(.pool == $own)] | length == 1' \
        'marks_reset writes 0 to UsedMemHigh of the pool, once (YOUR WORK, 2 of 2).' \
        "$QUESTIONS"' written'
}

@test "the marks are reset after the large block's free and before the trim" {
    run_lesson
    expect_journal "$QUESTIONS"' freed as $freed | ([ok("cudaMemPoolTrimTo")[].n] | first) as $trim
        | $freed != null and $trim != null
            and ([resets("cudaMemPoolAttrReservedMemHigh")[], resets("cudaMemPoolAttrUsedMemHigh")[]
            | .n > $freed and .n < $trim] | length > 0 and all)' \
        'the marks are reset after the free of the large block and before the trim, where main calls
            marks_reset.' \
        "$QUESTIONS"' if resets("cudaMemPoolAttrReservedMemHigh")
            + resets("cudaMemPoolAttrUsedMemHigh") == [] then "no mark was reset."
            elif ok("cudaMemPoolTrimTo") == [] then "the program ended before the trim."
                else "a mark was reset before that free, or after the trim." end' \
        -- "$QUESTIONS"' ok("cudaMemPoolCreate") | length == 1' \
        'one pool for the whole program: a new pool also starts with fresh marks, but that is no
            reset.' \
        "$QUESTIONS"' "\(ok("cudaMemPoolCreate") | length) pools were created."'
}

@test "what cannot be set is tried, and the block is asked for its device before the free" {
    run_lesson
    expect_journal '[.[] | select(.call == "cudaMemPoolSetAttribute"
        and .result == "cudaErrorInvalidValue") | .attribute]
        == ["cudaMemPoolAttrReservedMemCurrent", "cudaMemPoolAttrUsedMemHigh"]' \
        'the program tries to set ReservedMemCurrent and a mark that is not 0; both are refused.
            That part was there at the start: put it back.' \
        '(if any(.[]; .call == "cudaMemPoolTrimTo") then "" else
            "the program ended before it got there. " end)
            + "refused: " + ([.[] | select(.call == "cudaMemPoolSetAttribute"
                and .result == "cudaErrorInvalidValue") | .attribute] | join(", ")) + "."' \
        -- "$QUESTIONS"' freed as $freed | [ok("cudaPointerGetAttributes")[].n] | length > 0
            and all(.[]; . < $freed)' \
        'cudaPointerGetAttributes is asked before the free: after it the pointer means nothing.'
}

@test "it prints what a real device prints, also for 100 MiB" {
    run_lesson
    expect_right 08_statistics
    run_lesson 100
    expect_right 08_statistics.100
}
