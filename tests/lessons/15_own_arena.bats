# Lesson 15: requests are aligned, refused when they must be, and a refused one changes nothing.
# Judges $LESSON.
load ../tools/helpers

setup_file() { lesson_setup 15_own_arena; }

QUESTIONS='def ok($call): [.[] | select(.call == $call and .result == "cudaSuccess")];
    def took: "it took " + ([ok("cudaMallocAsync", "cudaMallocHost")[]
        | "\(.bytes) bytes with \(.call)"] | join(", ") | if . == "" then "nothing" else . end)
        + ".";'

# arena_says AWK SENTENCE: the lines of the output, with the variables wanted, said and needed for
# each request, and before: what was needed before it. The AWK program prints what is wrong with the
# first that is wrong. full() is what it prints of a request and its result.
arena_says() {
    local wrong
    wrong=$(awk '
        function full() {
            return "with " before " bytes needed and a limit of " limit ", " wanted \
                " bytes more were answered with \"" said "\""
        }
        / memory.* limit [0-9]+$/ { before = 0; committed = 0; limit = $NF }
        /^    commit ok/ { committed = 1 }
        /^    want/ {
            wanted = $2
            needed = $NF
            said = $0
            sub(/.*bytes +/, "", said)
            sub(/ +needed.*/, "", said)
        }
        '"$1"'
        /^    want/ { before = needed }' <<<"$output" | head -n 1)
    [ -z "$wrong" ] || missed "Expected: $2" "Happened: $wrong."
}

# asked begin, asked fit: arena_want itself, with requests that the lesson does not make
# (tests/lessons/asked_arena.h).
asked() {
    ask_lesson asked_arena "arena_want, struct arena and enum answer as the rest of the lesson uses
        them, and an arena_want that returns for each request." "$1"
}

@test "every block begins at a multiple of the alignment" {
    run_lesson
    arena_says '/^    begin at/ {
            for (i = 3; i <= 6; i++)
                if ($i % 256) { print "block " i - 2 " begins at " $i + 0; next }
        }' \
        'every block begins at a multiple of 256 bytes: the offset is rounded up to the alignment of
            the arena before the block is placed.'
    asked begin
}

@test "what does not fit is refused, whatever its size" {
    run_lesson
    arena_says '/^    want/ && wanted == "18446744073709551615" && said !~ /does not fit/ {
            print "a request of " wanted " bytes was answered with \"" said "\""
        }' \
        'a request of SIZE_MAX bytes does not fit. Compare without a sum: offset + bytes begins
            again at 0 past SIZE_MAX.'
    arena_says '/^    want/ && wanted != "18446744073709551615" && wanted + before > limit &&
            !committed && said ~ /^ok/ { print full() }' \
        'a request that would end past the limit does not fit: ARENA_FULL.'
    arena_says '/^    want/ && !committed && said !~ /^ok/ &&
            int((before + 255) / 256) * 256 + wanted <= limit { print full() }' \
        'a request that fits is placed, also the one that ends exactly at the limit.'
    asked fit
}

@test "a request after the commit is refused" {
    run_lesson
    arena_says '/^    want/ && committed && said !~ /committed/ {
            print "after the commit a request was answered with \"" said "\""
        }' \
        'after the commit there is no room to place anything: ARENA_COMMITTED, until the reset.'
}

@test "a refused request leaves the arena as it was" {
    run_lesson
    arena_says '/^    want/ && said ~ /refused/ && needed != before {
            print "a refused request of " wanted " bytes changed what is needed from " before \
                " to " needed
        }' \
        'a refused request changes nothing in the arena: first all questions, then all changes.'
    arena_says '/^    begin at/ && /pointer set/ {
            print "the pointer of a refused request was set at the commit"
        }' \
        'the pointer of a refused request stays as it was.'
}

@test "each arena is one allocation, of what its requests need" {
    run_lesson
    expect_journal "$QUESTIONS"' [ok("cudaMallocAsync")[].bytes] == [2097668]
        and [ok("cudaMallocHost")[].bytes] == [2097668]' \
        'one allocation for each commit: of 2097668 bytes in device memory, and of as many in pinned
            memory.' \
        "$QUESTIONS took" \
        -- "$QUESTIONS"' (ok("launch_fill") | length) == 2
            and ([ok("cudaMemcpyAsync")[].bytes] == [4, 4])' \
        'use_arena fills the numbers of each arena and reads the last one back. That part was there
            at the start: put it back.'
}

@test "it prints what a real device prints, also for 3 MiB" {
    run_lesson
    expect_right 15_own_arena
    run_lesson 3
    expect_right 15_own_arena.3
}
