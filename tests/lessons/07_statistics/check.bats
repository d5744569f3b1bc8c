# Lesson 07: what one phase needed, from a watermark, and memory in advance. Judges $LESSON.
load ../grading/check

setup_file() { lesson_setup 07_statistics; }

MIB=1048576
# refused: the attributes whose writing was refused, in order. made: the allocations that succeeded.
definitions 'def refused: [.[] | select(.call == "cudaMemPoolSetAttribute"
        and .result != "cudaSuccess") | .attribute[15:]];
    def made: [.[] | select(.call == ("cudaMallocFromPoolAsync", "cudaMallocAsync")
        and .result == "cudaSuccess")];'

# tests/lessons/asked_statistics.h calls the student's functions with sizes in MiB: what is live,
# what was used before, the phase's size and what it needs beside that. What is live is smaller than
# each allocation of the phase, and what was used before larger.
ASKED='phase_need and reserve as the rest of the lesson calls them, and CUDA calls in them that
    succeed.'
ask_need() {
    draw live 5 19
    draw before 300 900
    draw size 40 200
    draw more 1 30
    ask_lesson asked_statistics "$ASKED" need "$live" "$before" "$size" "$more"
}
# expect_need LIVE BEFORE: that answer is right. Each of the usual wrong ones has its sentence.
# shellcheck disable=SC2154  # ask_lesson sets output, ask_need the sizes
expect_need() {
    local question="phase_need(phase, pool, stream, $size) with $1 MiB live, after $2 MiB were used"
    local sentence
    case $'\n'$output in
    *$'\n'"$question = 0 MiB"*)
        sentence='phase_need returns the most that was used at one time. That is in the watermark,
            UsedMemHigh: the current figure falls at each free, and what is reserved counts whole
            segments.' ;;
    *$'\n'"$question = $2 MiB"*)
        sentence='phase_need returns what the phase needed: what the pool used before does not
            count, so the watermark is reset before the phase.' ;;
    *$'\n'"$question = $(($1 + size + more)) MiB"*)
        sentence='phase_need returns what the phase needed itself: a watermark that is reset takes
            the current figure, which counts what is live already.' ;;
    *)
        sentence='phase_need returns the most that the allocations of the phase used at one time,
            whichever phase it runs: the watermark of what is used, from a reset on.' ;;
    esac
    expect_answers "$sentence" "$question" "$((size + more)) MiB"
}

@test "the figures are shown, and two of them cannot be set" {
    run_lesson
    expect_journal 'refused | .[:2] == ["ReservedMemCurrent", "UsedMemHigh"]' \
        'the program tries to set ReservedMemCurrent, and a watermark to another value than 0. Both
            are refused. The starter has the two calls of try_to_set in show_figures.' \
        '"refused: " + (refused | if . == [] then "nothing" else join(", ") end)
            + "."'
}

@test "phase_need does not count what the pool used before" {
    local live before size more
    run_lesson
    expect_journal 'refused | map(select(. == "UsedMemHigh")) | length == 1' \
        'a watermark is reset by writing 0, as a uint64_t. Any other value is refused, also that of
            the current figure.' \
        '"writing UsedMemHigh was refused \(refused
            | map(select(. == "UsedMemHigh")) | length - 1) times in phase_need."'
    ask_need
    expect_need 0 "$before"
    definitions 'def phases: [made[] | select(.bytes >= '$((20 * MIB))'
            and .bytes < '$((300 * MIB))')];
        def own: [made[] | select(.bytes == '$((before * MIB))', .bytes == '$((live * MIB))')
            | .pool];'
    expect_journal 'phases | length == 6' \
        'phase_need runs the phase once.' \
        '"called twice, it ran the phase \(phases | length / 3) times."' \
        -- 'own as $own | [phases[].pool] == [$own[0, 0, 0, 1, 1, 1]]' \
        'the phase runs in the pool that phase_need is given: what a pool needs for it depends on
            that pool, and its watermark is to show it.' \
        '"phase_need ran it in another pool."' \
        -- '. as $all | own as $own | phases as $p | all(range(2); . as $i
            | $p[$i * 3].n as $from | $p[$i * 3 + 2].n as $to | [$all[]
            | select(.pool == $own[$i] and .attribute == "cudaMemPoolAttrUsedMemHigh"
                and .result == "cudaSuccess")]
            | any(.[]; .call == "cudaMemPoolSetAttribute" and .n < $from)
                and any(.[]; .call == "cudaMemPoolGetAttribute" and .n > $to))' \
        'what the phase needed is measured: the watermark of the pool is reset before the phase and
            read after it.' \
        '"phase_need returned the number without that."'
}

@test "phase_need does not count what is live already" {
    local live before size more
    ask_need
    expect_need "$live" 0
}

@test "reserve gives the pool memory that is not in use" {
    local live size
    draw live 5 19
    draw size 300 700
    ask_lesson asked_statistics "$ASKED" reserve "$live" "$size"
    expect_answers 'reserve returns to its caller.' "reserve(pool, stream, $size MiB)" "done"
    definitions 'def after: made | .[0].pool as $own | map(select(.pool == $own)) | last;'
    expect_journal 'after.used == '$(((live + size) * MIB)) \
        'after reserve nothing more is in use than before.' \
        "after | (.used - .bytes) / $MIB
            | \"$live MiB were used before, and \(.) MiB after.\"" \
        -- 'after.from != "new"' \
        'after reserve the pool has the memory: the driver gives it to a pool for an allocation, and
            the pool keeps it after the free.' \
        "after as \$made | [.[] | select(.call != null and .pool == \$made.pool
            and .reserved != null and .n < \$made.n)] | last.reserved
            | (\$made.reserved - .) / $MIB | \"after a reserve of $size MiB, an allocation of $size
            MiB made the pool grow by \\(.) MiB.\" | gsub(\"\\n *\"; \" \")"
}

@test "it prints what a real device prints" {
    after_the_rest
    run_lesson
    expect_right 07_statistics
}
