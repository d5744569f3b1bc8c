# Lesson 15: requests are aligned, refused when they must be, and a refused one changes nothing; one
# allocation of the right kind serves them all. Judges $LESSON.
load ../tools/helpers
load asked

setup_file() { lesson_setup 15_own_arena; }

QUESTIONS='def ok($call): [.[] | select(.call == $call and .result == "cudaSuccess")];
    def of_device: ok("cudaMallocAsync", "cudaMallocFromPoolAsync", "cudaMalloc");
    def of_host: ok("cudaMallocHost", "cudaHostAlloc");
    def took: "the program allocated " + ([(of_device[], of_host[])
        | "\(.bytes) bytes with \(.call)"] | join(", ") | if . == "" then "nothing" else . end)
        + ".";'

# arena_shows AWK SENTENCE: the lines of the output, with the variables wanted, result and needed
# for each request, and before: what was needed before it. The AWK program prints what is wrong with
# the first that is wrong. full() is what it prints of a request and its result.
arena_shows() {
    local wrong
    wrong=$(awk '
        function full() {
            return "with " before " bytes needed and a limit of " limit ", a request of " wanted \
                " bytes returned \"" result "\""
        }
        / memory.* limit [0-9]+$/ { before = 0; committed = 0; limit = $NF }
        /^    commit ok/ { committed = 1 }
        /^    want/ {
            wanted = $2
            needed = $NF
            result = $0
            sub(/.*bytes +/, "", result)
            sub(/ +needed.*/, "", result)
        }
        '"$1"'
        /^    want/ { before = needed }' <<<"$output" | head -n 1)
    [ -z "$wrong" ] || missed "Expected: $2" "Happened: $wrong."
}

# asked want begin, asked want fit, asked commit: the functions themselves, with numbers that the
# lesson does not have (tests/lessons/asked_arena.h).
asked() {
    local small large limit size ask=(ask_lesson)
    [ $# = 1 ] || ask=(ask_part "$2")
    draw small 3 7
    draw large 9 13
    draw limit 300 900
    draw size 5000 90000
    "${ask[@]}" asked_arena "arena_want and arena_commit return for each arena, and take the struct
        arena and return the enum result of the start." \
        "$1" "$((1 << small))" "$((1 << large))" "$((limit * 1000))" "$((size * 2 + 1))"
}

@test "every request begins at a multiple of the alignment" {
    run_lesson
    arena_shows '/^    begin at/ {
            for (i = 3; i <= 6; i++)
                if ($i % 256) { print "request " i - 2 " begins at " $i + 0; next }
        }' \
        'every request begins at a multiple of 256 bytes: the offset is rounded up to the alignment
            of the arena before the request is placed.'
    asked want begin
}

@test "what does not fit is refused, whatever its size" {
    run_lesson
    arena_shows '/^    want/ && wanted == "18446744073709551615" && result !~ /does not fit/ {
            print "a request of " wanted " bytes returned \"" result "\""
        }' \
        'a request of SIZE_MAX bytes does not fit. Compare without a sum: offset + bytes begins
            again at 0 past SIZE_MAX.'
    arena_shows '/^    want/ && wanted != "18446744073709551615" && wanted + before > limit &&
            !committed && result ~ /^ok/ { print full() }' \
        'a request that would end past the limit does not fit: ARENA_FULL.'
    arena_shows '/^    want/ && !committed && result !~ /^ok/ &&
            int((before + 255) / 256) * 256 + wanted <= limit { print full() }' \
        'a request that fits is placed, also the one that ends exactly at the limit.'
    asked want fit
}

@test "a request after the commit is refused" {
    run_lesson
    arena_shows '/^    want/ && committed && result !~ /committed/ {
            print "after the commit a request returned \"" result "\""
        }' \
        'after the commit there is no room to place anything: ARENA_COMMITTED, until the reset.'
    asked want fit
}

@test "a refused request leaves the arena as it was" {
    run_lesson
    arena_shows '/^    want/ && result ~ /refused/ && needed != before {
            print "a refused request of " wanted " bytes changed what is needed from " before \
                " to " needed
        }' \
        'a refused request changes nothing in the arena: make every comparison before the first
            change.'
    arena_shows '/^    begin at/ && /pointer set/ {
            print "the pointer of a refused request was set at the commit"
        }' \
        'the pointer of a refused request keeps its value.'
    asked want fit
}

@test "each arena is one allocation of its kind, of what its requests need" {
    local mib
    draw mib 2 9
    asked commit
    run_lesson "$mib"
    expect_journal "$QUESTIONS"' [of_device[].bytes] == ['$((2 * mib * 1048576 + 516))']
        and [of_host[].bytes] == ['$((2 * mib * 1048576 + 516))']' \
        "with $mib MiB, one allocation for each commit: of $((2 * mib * 1048576 + 516)) bytes in
            device memory, and of as many in pinned memory." \
        "$QUESTIONS took" \
        -- "$QUESTIONS"' (ok("launch_fill") | length) == 2
            and ([ok("cudaMemcpyAsync")[].bytes] == [4, 4])' \
        'use_arena fills the numbers of each arena and reads the last one back. That part was there
            at the start: put it back.'
    expect_clean
}

@test "it prints what a real device prints" {
    after_the_rest
    run_lesson
    expect_right 15_own_arena
}
