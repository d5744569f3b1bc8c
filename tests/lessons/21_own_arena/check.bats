# Lesson 21: requests are aligned, refused when they must be, and a refused one changes nothing; one
# allocation of the right kind serves them all. Judges $LESSON.
load ../grading/check

setup_file() { lesson_setup 21_own_arena; }

definitions 'def made($calls): [.[] | select(.call == $calls[] and .result == "cudaSuccess")];
    def of_device: made(["cudaMallocAsync", "cudaMallocFromPoolAsync", "cudaMalloc"]);
    def of_host: made(["cudaMallocHost", "cudaHostAlloc"]);
    def took: "the program allocated " + ([of_device + of_host | sort_by(.n)[]
        | "\(.bytes) bytes with \(.call)"] | join(", ") | if . == "" then "nothing" else . end)
        + ".";'

# ask want, ask commit: the student's functions, with numbers that the lesson does not have
# (tests/lessons/asked_arena.h). Sets alignments, limit and size; a size that is odd needs padding.
ask() {
    local small large
    draw small 3 7
    draw large 9 13
    draw limit 300000 900000
    draw size 5000 90000
    size=$((2 * size + 1)) alignments=($((1 << small)) $((1 << large)))
    ask_lesson asked_arena 'arena_want and arena_commit return for each arena, and take the struct
        arena and return the enum result of the starter.' \
        "$1" "${alignments[@]}" "$limit" "$size"
}

# request BYTES NEEDED [REQUESTS [COMMITTED]]: sets question, for the alignment of the caller
request() {
    printf -v question \
        'arena_want for %u bytes, with %d of %d needed by %d requests%s, alignment %d' \
        "$1" "$2" "$limit" "${3:-3}" "${4:-}" "$alignment"
}

# returned RESULT SENTENCE BYTES NEEDED [REQUESTS [COMMITTED]]
returned() {
    local question
    request "${@:3}"
    expect_answers "$2" "$question" "$1"
}

# kept BYTES NEEDED [REQUESTS [COMMITTED]]: the arena is as it was. What should have been refused,
# and was not, is missed elsewhere.
kept() {
    local question
    request "$@"
    [[ $'\n'$output != *$'\n'"$question = ARENA_OK"* ]] || after_the_rest
    expect_answers 'a refused request changes nothing in the arena: make every comparison before the
        first change.' "reading needed and count after $question" "$2 and ${3:-3}"
}

@test "every request begins at a multiple of the alignment" {
    local alignments limit size alignment needed offset bytes i answers
    ask want
    for alignment in "${alignments[@]}"; do
        needed=0 answers=()
        for ((i = 0; i < 16; i++)); do
            bytes=$((1 + i * size % (3 * alignment)))
            offset=$(((needed + alignment - 1) / alignment * alignment))
            needed=$((offset + bytes))
            answers+=("request $((i + 1)), for $bytes bytes, in an arena with an alignment of \
$alignment" "ARENA_OK at $offset, $needed needed by $((i + 1))")
        done
        expect_answers 'a request begins at the next multiple of arena->alignment: the offset is
            rounded up before the request is placed, and needed is its end. 256 is the alignment of
            the lesson'\''s own arenas; an arena may have another.' "${answers[@]}"
    done
}

@test "what does not fit is refused, whatever its size" {
    local alignments limit size alignment offset past
    past='a request that would begin past the limit does not fit. Compare the offset with the limit
        first: else limit - offset begins again at SIZE_MAX.'
    ask want
    for alignment in "${alignments[@]}"; do
        returned ARENA_FULL 'a request that would end past the limit does not fit. What is needed
            already counts toward the limit, too.' $((limit - 100)) "$size"
        returned ARENA_OK 'a request that ends exactly at the limit fits.' "$limit" 0 0
        returned ARENA_FULL "$past" "$size" $((limit - 1))
        returned ARENA_FULL "$past" 1 "$limit"
        returned ARENA_FULL 'a request of almost SIZE_MAX bytes does not fit. Compare without a sum:
            offset + bytes begins again at 0 past SIZE_MAX.' $((-1 - size)) "$size"
        returned ARENA_FULL 'an arena takes REQUESTS requests. One more is refused with ARENA_FULL,
            however few bytes it is for.' 1 "$size" 16
    done
    after_the_rest   # who aligns in another way has another padding
    for alignment in "${alignments[@]}"; do
        offset=$(((size + alignment - 1) / alignment * alignment))
        returned ARENA_OK 'a request that ends exactly at the limit fits, padding included.' \
            $((limit - offset)) "$size"
        returned ARENA_FULL 'the padding in front of a request counts toward the limit, too.' \
            $((limit - offset + 1)) "$size"
    done
}

@test "a request after the commit is refused" {
    local alignments limit size alignment
    ask want
    for alignment in "${alignments[@]}"; do
        returned ARENA_COMMITTED 'after the commit there is no room to place anything:
            ARENA_COMMITTED, until the reset.' 1 "$size" 3 ", committed"
    done
}

@test "a refused request leaves the arena as it was" {
    local alignments limit size alignment offset
    ask want
    for alignment in "${alignments[@]}"; do
        offset=$(((size + alignment - 1) / alignment * alignment))
        kept $((limit - 100)) "$size"
        kept "$size" $((limit - 1))
        kept 1 "$limit"
        kept $((limit - offset + 1)) "$size"
        kept $((-1 - size)) "$size"
        kept 1 "$size" 16
        kept 1 "$size" 3 ", committed"
    done
}

@test "each arena is one allocation of its kind, of what its requests need" {
    local alignments limit size needed
    ask commit
    needed=$((alignments[1] + size))
    expect_journal '(of_device | length) == 1 and (of_host | length) == 1' \
        'an arena of device memory is allocated with the call whose memory cudaFreeAsync frees, one
            of pinned memory with the call whose memory cudaFreeHost frees: one allocation for each
            commit (YOUR WORK, 2 of 2).' \
        'took' \
        -- "[(of_device + of_host)[].bytes] == [$needed, $needed]" \
        "the commit allocates the $needed bytes that the requests need, also where the limit is
            $limit (YOUR WORK, 2 of 2)." \
        'took' \
        -- '[.[] | select(.call == "cudaMemsetAsync" and .result == "cudaSuccess")
            | .inner_offset // 0] == [0, '"${alignments[1]}, 0, ${alignments[1]}"']' \
        'the commit sets the pointer of each request to base + offset, as in the starter.' \
        '"a pointer is another address."'
}

@test "it prints what a real device prints" {
    after_the_rest
    run_lesson
    expect_right 21_own_arena
}
