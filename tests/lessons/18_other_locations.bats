# Lesson 18: a block of a host pool that host and device share. Judges $LESSON.
load ../tools/helpers

setup_file() { lesson_setup 18_other_locations; }

# pool: the host pool that the program makes itself; block: its block; kernel: the launch that works
# on that block.
QUESTIONS='def ok($call): [.[] | select(.call == $call and .result == "cudaSuccess")];
    def pool: [ok("cudaMemPoolCreate")[] | select(.device == -1) | .pool] | first;
    def block: pool as $pool | [ok("cudaMallocFromPoolAsync")[] | select(.pool == $pool)] | first;
    def kernel: block as $block | [ok("launch_add")[] | select(.allocation == $block.allocation)]
        | first;
    def grants: pool as $pool | [.[] | select(.call == "cudaMemPoolSetAccess" and .pool == $pool
        and .result == "cudaSuccess")];
    def refused: [.[] | select(.call == "cudaMemPoolSetAccess"
        and (.result // "cudaSuccess") != "cudaSuccess")];
    def waits($from; $to): [.[] | select(.call == "cudaStreamSynchronize"
        or .call == "cudaDeviceSynchronize" or .call == "cudaEventSynchronize"
        or (.call == "cudaStreamQuery" and .result == "cudaSuccess"))
        | select(.n > $from and ($to == null or .n < $to))];
    def later: block as $block | [.[] | select(.n > $block.n)];'

@test "three default pools, and a pool of the program's own in the host's memory" {
    run_lesson
    expect_journal "$QUESTIONS"' [ok("cudaMemGetDefaultMemPool")[]
        | "\(.location) \(.type)"] == ["device pinned", "host pinned", "device managed"]' \
        'show asks for the default pools of device, host and managed memory. That part was there at
            the start: put it back.' \
        "$QUESTIONS"' "asked for: " + ([ok("cudaMemGetDefaultMemPool")[] | "\(.location) \(.type)"]
            | join(", ")) + "."' \
        -- "$QUESTIONS"' block != null' \
        'main makes a pool with the location cudaMemLocationTypeHost and takes a block from it. That
            part was there at the start: put it back.' \
        '"pools were made on: " + ([.[] | select(.call == "cudaMemPoolCreate") | if .device == -1
            then "the host" else "device \(.device)" end] | join(", ")) + "."'
}

@test "the device adds, in the block itself" {
    run_lesson
    expect_journal "$QUESTIONS"' [later[] | select((.call // "" | startswith("cudaMemcpy"))
        or .call == "cudaMalloc" or .call == "cudaMallocHost")] == []' \
        'nothing is copied. A block of a host pool has one address, good for the host and, with
            access, for the device.' \
        "$QUESTIONS"' "after the block was allocated: "
            + ([later[] | select((.call // "" | startswith("cudaMemcpy")) or .call == "cudaMalloc"
            or .call == "cudaMallocHost") | .call] | join(", ")) + "."' \
        -- "$QUESTIONS"' kernel != null and (block | .bytes) == kernel.bytes' \
        'the device adds 2 to each int of the block: launch_add(block, 2, count, stream).' \
        "$QUESTIONS"' "launch_add: " + (if kernel then "\(kernel.bytes) of \(block.bytes) bytes."
            elif refused != [] then "the program ended before, for cudaMemPoolSetAccess answered "
                + "\(refused[0].result)." else "not on this block." end)'
}

@test "the device is given access to the pool, before its kernel" {
    run_lesson
    expect_journal "$QUESTIONS"' refused == []' \
        'cudaMemPoolSetAccess is given a location of type cudaMemLocationTypeDevice with the number
            0, and cudaMemAccessFlagsProtReadWrite: the kernel reads and writes.' \
        "$QUESTIONS"' "it answered " + (refused | map(.result) | unique | join(", ")) + "."' \
        -- "$QUESTIONS"' grants != []' \
        'the pool gives access: cudaMemPoolSetAccess. A host pool begins with access for the host
            and for no device, and a kernel without access faults.' \
        "$QUESTIONS"' "cudaMemPoolSetAccess was not called for this pool"
            + (if [.[] | select(.call == "cudaDeviceEnablePeerAccess")] != []
            then "; cudaDeviceEnablePeerAccess opens no pool." else "." end)' \
        -- "$QUESTIONS"' any(grants[]; .device == 0 and .value == 3)' \
        'the location in cudaMemAccessDesc is the device that gets access, with
            cudaMemAccessFlagsProtReadWrite. The host has its own pool anyway.' \
        "$QUESTIONS"' "access was set for "
            + ([grants[] | if .device == null then "the host"
            else "device \(.device) to \(.value)" end] | join(", ")) + "."' \
        -- "$QUESTIONS"' kernel as $kernel | any(grants[]; .device == 0 and .value == 3
            and .n < $kernel.n)' \
        'access comes before the kernel that needs it. Given later, it may come in time or not.' \
        '"cudaMemPoolSetAccess came after launch_add."'
}

@test "the host waits before it touches the block" {
    run_lesson
    expect_journal "$QUESTIONS"' waits(block.n; kernel.n) != []' \
        'the host waits for the allocation before it writes: the pointer is known at once, the block
            is there when the stream has got to it.' \
        '"no synchronise between the allocation and launch_add."' \
        -- "$QUESTIONS"' ([ok("cudaMemSetMemPool")[].n] | first) as $done | waits(kernel.n;
            $done) != []' \
        'the host waits for the device before it reads. A load is no call: no stream orders it, only
            the host can.' \
        '"no synchronise between launch_add and the end of work_together."'
    expect_clean
}

@test "cudaMallocAsync does not look at the host pool" {
    run_lesson
    expect_journal "$QUESTIONS"' ([.[] | select(.call == "cudaMemSetMemPool"
        and .result != "cudaSuccess")] == []) and (any(.[]; .call == "cudaMemSetMemPool")
        or last.did == "exit" and last.live == 0)' \
        'the program comes to the lines that make the host pool current.' \
        '"it ended before them, because a call failed. First repair what is missed above."' \
        -- "$QUESTIONS"' pool as $pool | [ok("cudaMemSetMemPool")[]
            | select(.pool == $pool and .location == "host")] | length == 1' \
        'main makes the host pool current for host memory with cudaMemSetMemPool. That part was
            there at the start: put it back.' \
        -- "$QUESTIONS"' ([ok("cudaMemSetMemPool")[].n] | first) as $set
            | [ok("cudaMallocAsync")[] | select(.n > $set and .pool == 0)] | length == 1' \
        'and then cudaMallocAsync is called. That part was there at the start: put it back.'
}

@test "it prints what a real device prints, also for 96 MiB" {
    run_lesson
    expect_right 18_other_locations
    run_lesson 96
    expect_right 18_other_locations.96
}
