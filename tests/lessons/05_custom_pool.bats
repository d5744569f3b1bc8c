# Lesson 05: a pool of one's own, current, limited by maxSize, destroyed with live blocks. Judges
# $LESSON.
load ../tools/helpers

setup_file() { lesson_setup 05_custom_pool; }

MIB=1048576
QUESTIONS='def ok($call): [.[] | select(.call == $call and .result == "cudaSuccess")];
    def last_blocks: (ok("cudaMemPoolCreate") | last | .n) as $second
        | [ok("cudaMallocAsync")[] | select(.n > $second)];'

@test "cudaMallocAsync takes from the program's own pools" {
    run_lesson
    expect_journal "$QUESTIONS"' ok("cudaMemPoolCreate") | length == 2' \
        'the program creates two pools, one after the other. That part was there at the start: put
            it back.' \
        "$QUESTIONS"' "it created \(ok("cudaMemPoolCreate") | length)."' \
        -- "$QUESTIONS"' [ok("cudaMallocAsync")[] as $block
        | [ok("cudaMemPoolCreate")[] | select(.pool == $block.pool)] | length == 1] | length > 0
            and all' \
        'every block comes from a pool that the program created: cudaDeviceSetMemPool makes it the
            one that cudaMallocAsync takes from.' \
        "$QUESTIONS"' "cudaMallocAsync gave \(ok("cudaMallocAsync")
            | length) blocks, \([ok("cudaMallocAsync")[] | select(.pool == 0)]
            | length) of them from the default pool."'
}

@test "maxSize limits the second pool" {
    run_lesson
    expect_journal "$QUESTIONS"' [ok("cudaMemPoolCreate")[].max_size] as $max
        | ($max | length) == 2 and $max[0] == 0 and $max[1] == '$((40 * MIB))'' \
        'the first pool is created with maxSize 0, the second with maxSize 40 MiB, in bytes
            (41943040). A release threshold limits nothing.' \
        "$QUESTIONS"' "the pools were created with maxSize "
            + ([ok("cudaMemPoolCreate")[].max_size | tostring] | join(" and ")) + "."' \
        -- "$QUESTIONS"' (ok("cudaMemPoolCreate") | last | .n) as $second
        | [.[] | select(.call == ("cudaMallocAsync", "cudaMallocFromPoolAsync")
            and .result == "cudaErrorMemoryAllocation" and .n > $second)] | length == 1' \
        'the second pool refuses one block, with cudaErrorMemoryAllocation, when its maxSize in
            whole steps of 32 MiB is full.' \
        '"\([.[] | select(.call == ("cudaMallocAsync", "cudaMallocFromPoolAsync")
            and .result == "cudaErrorMemoryAllocation")] | length) blocks were refused."'
}

@test "the second pool is destroyed with live blocks, which are used and freed afterwards" {
    run_lesson
    expect_journal "$QUESTIONS"' ok("cudaMemPoolDestroy") | length == 2' \
        'each of the two pools is destroyed once, with cudaMemPoolDestroy.' \
        "$QUESTIONS"' "\(ok("cudaMemPoolDestroy") | length) were destroyed."' \
        -- "$QUESTIONS"' last_blocks as $blocks | (ok("cudaMemPoolDestroy") | last | .n) as $close
        | [ok("cudaFreeAsync")[], ok("cudaFree")[] | select(.allocation == $blocks[].allocation
            and .n < $close)] | length == 0' \
        'the second pool is destroyed while its blocks are live: none of them is freed before
            cudaMemPoolDestroy.' \
        '"blocks were freed before that."' \
        -- "$QUESTIONS"' [ok("cudaMallocAsync")[] as $block
        | ([ok("cudaFreeAsync")[] | select(.allocation == $block.allocation)] | length == 1)]
            | all' \
        'every block is freed with cudaFreeAsync, also after its pool was destroyed: a pool does not
            take its live blocks with it.' \
        "$QUESTIONS"' "\(ok("cudaMallocAsync") | length) blocks were taken and \(ok("cudaFreeAsync")
            | length) were freed with cudaFreeAsync."' \
        -- "$QUESTIONS"' (ok("cudaMemPoolDestroy") | last | .n) as $close | [last_blocks[] as $block
        | [ok("launch_add")[] | select(.allocation == $block.allocation and .n > $close)]
            | length > 0] | all' \
        'every block of the second pool is used (launch_add) after the pool was destroyed. That part
            was there at the start: put it back.'
}

@test "it prints what a real device prints, also for 100 MiB" {
    run_lesson
    expect_right 05_custom_pool
    run_lesson 100
    expect_right 05_custom_pool.100
}
