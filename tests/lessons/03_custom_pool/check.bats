# Lesson 03: a pool of the program's own, allocated from, limited by maxSize, destroyed with live
# allocations. Judges $LESSON.
load ../grading/check

setup_file() { lesson_setup 03_custom_pool; }

MIB=1048576
# allocations: from the current pool, or from one that is given
definitions 'def ok($call): [.[] | select(.call == $call and .result == "cudaSuccess")];
    def made: .[] | select(.call == ("cudaMallocAsync", "cudaMallocFromPoolAsync"));
    def allocations: [made | select(.result == "cudaSuccess")];
    def frees: [ok("cudaFreeAsync")[], ok("cudaFree")[]];
    def second: ok("cudaMemPoolCreate")[1].n;
    def destroyed: ok("cudaMemPoolDestroy")[1].n;
    def refused: second as $second
        | [made | select(.result == "cudaErrorMemoryAllocation" and .n > $second)];
    def last_allocations: second as $second | [allocations[] | select(.n > $second)];
    def read_back: destroyed as $destroyed | . as $all | [ok("launch_add")[]
        | select(.n > $destroyed) as $add | $all[]
        | select((.call == "cudaMemcpyAsync" or .call == "cudaMemcpy") and .n > $add.n
            and .kind != "HostToDevice" and .allocation == $add.allocation) | .allocation]
        | unique;
    def max_sizes: [ok("cudaMemPoolCreate")[].max_size];'

@test "every allocation comes from the program's own pools" {
    run_lesson
    expect_journal 'ok("cudaMemPoolCreate") | length == 2' \
        'the program creates two pools, one after the other, as at the start.' \
        '"it created \(ok("cudaMemPoolCreate") | length)."' \
        -- '[ok("cudaMemPoolCreate")[].pool] as $own | allocations
            | length > 0 and all(.[]; .pool as $pool | $own | index($pool) != null)' \
        'every allocation comes from a pool that the program created. cudaMallocAsync allocates from
            the current pool, which is the default pool until the program makes another one
            current.' \
        '"of \(allocations | length) allocations \([allocations[] | select(.pool == 0)]
            | length) came from the default pool."' \
        -- 'all(made; .call == "cudaMallocAsync")' \
        'the program allocates with cudaMallocAsync alone, as at the start. That call allocates from
            the current pool: the program makes each of its pools the current one.' \
        '"\([made | select(.call != "cudaMallocAsync")] | length) allocations were"
            + " made with cudaMallocFromPoolAsync, and cudaDeviceSetMemPool was called"
            + " \(ok("cudaDeviceSetMemPool") | length) times."'
}

# limited MIB: the second pool has that maxSize, or what it is rounded up to
limited() {
    local least=$(($1 * MIB)) most=$((($1 + 31) / 32 * 32 * MIB))
    expect_journal "max_sizes as \$max | (\$max | length) == 2 and \$max[0] == 0
            and \$max[1] >= $least and \$max[1] <= $most" \
        "the first pool is created with maxSize 0, the second with maxSize $1 MiB, in bytes
            ($least). A release threshold limits nothing." \
        '"the pools were created with maxSize "
            + (max_sizes | map(tostring) | join(" and ")) + "."' \
        -- "(refused | length == 1) or all(last_allocations[]; .pool == 0)" \
        'the second pool refuses one allocation, with cudaErrorMemoryAllocation, when it has no room
            left.' \
        '"\(refused | length) allocations were refused."'
}

@test "maxSize limits the second pool, to any size" {
    local size
    run_lesson
    limited 40
    draw size 41 900
    run_lesson "$size"
    limited "$size"
}

@test "the second pool is destroyed with live allocations, which are used and freed afterwards" {
    run_lesson
    expect_journal 'ok("cudaMemPoolDestroy") | length == 2' \
        'each of the two pools is destroyed once, with cudaMemPoolDestroy.' \
        '"\(ok("cudaMemPoolDestroy") | length) were destroyed."' \
        -- 'destroyed as $destroyed | frees as $frees
            | all(last_allocations[]; .allocation as $it
                | all($frees[]; .allocation != $it or .n > $destroyed))' \
        'the second pool is destroyed while its allocations are live: none of them is freed before
            cudaMemPoolDestroy.' \
        'destroyed as $destroyed | [last_allocations[].allocation] as $last
            | "\([frees[] | select(.n < $destroyed and (.allocation as $it | $last
                | index($it) != null))] | length) of \($last | length) were freed before it."' \
        -- '[frees[].allocation] as $freed
            | all(allocations[]; .allocation as $it | $freed | index($it) != null)' \
        'every allocation is freed, also after its pool was destroyed: a pool that is destroyed does
            not free its live allocations.' \
        '"of \(allocations | length) allocations \(frees | length) were freed."' \
        -- 'destroyed as $destroyed
            | [ok("launch_add")[] | select(.n > $destroyed) | .allocation] as $used
            | all(last_allocations[]; .allocation as $it | $used | index($it) != null)' \
        'every allocation of the second pool is used (launch_add) after the pool was destroyed, as
            at the start.' \
        'destroyed as $destroyed | "of \(last_allocations | length) allocations"
            + " \([ok("launch_add")[] | select(.n > $destroyed)] | length) were used then."' \
        -- "read_back as \$read | all(last_allocations[];
            .allocation as \$it | \$read | index(\$it) != null)" \
        'every allocation of the second pool is copied to the host after launch_add, as at the
            start: only a value that came back shows that the allocation is usable.' \
        '"of \(last_allocations | length) allocations \(read_back | length) were"
            + " copied to the host."'
}

@test "it prints what a real device prints" {
    after_the_rest
    run_lesson
    expect_right 03_custom_pool
}
