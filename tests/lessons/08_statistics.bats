# Lesson 08: what one phase needed, from a watermark, and memory in advance. Judges $LESSON.
load ../tools/helpers
load asked

setup_file() { lesson_setup 08_statistics; }

# refused: the attributes whose writing was refused, in order
QUESTIONS='def refused: [.[] | select(.call == "cudaMemPoolSetAttribute"
        and .result != "cudaSuccess") | .attribute[15:]];'

# asked need before, asked need live, asked reserve: tests/lessons/asked_statistics.h calls the
# student's functions with sizes in MiB.
asked() {
    local live before size ask=(ask_lesson)
    [ $# = 1 ] || ask=(ask_part "$2")
    draw live 5 90
    draw before 300 900
    if [ "$1" = need ]; then draw size 40 200; else draw size 300 700; fi
    "${ask[@]}" asked_statistics "phase_need and reserve as the rest of the lesson calls them, and
        CUDA calls in them that succeed." "$1" "$live" "$before" "$size"
}

@test "the figures are shown, and two of them cannot be set" {
    run_lesson
    expect_journal "$QUESTIONS"' refused | .[:2] == ["ReservedMemCurrent", "UsedMemHigh"]' \
        'the program tries to set ReservedMemCurrent, and a watermark to another value than 0. Both
            are refused. That part was there at the start: put it back.' \
        "$QUESTIONS"' "refused: " + (refused | join(", ")) + "."'
}

@test "phase_need does not count what the pool used before" {
    run_lesson
    expect_journal "$QUESTIONS"' refused | map(select(. == "UsedMemHigh")) | length == 1' \
        'a watermark is reset by writing 0, as a uint64_t. Any other value is refused, also that of
            the current figure.' \
        "$QUESTIONS"' "writing UsedMemHigh was refused \(refused
            | map(select(. == "UsedMemHigh")) | length - 1) times in phase_need."'
    asked need before
}

@test "phase_need does not count what is live already" {
    asked need live
}

@test "reserve gives the pool memory that is not in use" {
    asked reserve
}

@test "it prints what a real device prints" {
    after_the_rest
    run_lesson
    expect_right 08_statistics
}
