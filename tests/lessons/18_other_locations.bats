# Lesson 18: an allocation of a host pool on which host and device work. Judges $LESSON.
load ../tools/helpers

setup_file() { lesson_setup 18_other_locations; }

# pool: the host pool that the program creates; data: its allocation; kernel: the launch that works
# on it. waits($work; $to): what makes the host wait for $work before line $to; the legacy stream
# waits for the lesson's blocking one, and a query that succeeds is the end of a loop that waits.
QUESTIONS='def ok($call): [.[] | select(.call == $call and .result == "cudaSuccess")];
    def pool: [ok("cudaMemPoolCreate")[] | select(.device == -1) | .pool] | first;
    def data: pool as $pool | [ok("cudaMallocFromPoolAsync")[] | select(.pool == $pool)] | first;
    def kernel: data as $data | [ok("launch_add")[] | select(.allocation == $data.allocation)]
        | first;
    def set: [.[] | select(.call == "cudaMemPoolSetAccess")];
    def grants: pool as $pool | [set[] | select(.pool == $pool and .result == "cudaSuccess")];
    def refused: [set[] | select((.result // "cudaSuccess") != "cudaSuccess")];
    def given: kernel as $kernel | $kernel != null
        and any(grants[]; .device == 0 and .value == 3 and .n < $kernel.n);
    def current: [ok("cudaMemSetMemPool")[].n] | first;
    def made($from; $to): [.[] | select(.n > $from and ($to == null or .n < $to)
        and (.call == ("cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize")
            or (.call == ("cudaStreamQuery", "cudaEventQuery") and .result == "cudaSuccess")))];
    def waits($work; $to): . as $all | [made($work.n; $to)[] | select(
            def of: .stream == $work.stream or .stream == "legacy";
            .call == "cudaDeviceSynchronize" or of
            or (.event != null and (. as $wait | [$all[] | select(.call == "cudaEventRecord"
                and .event == $wait.event and .n < $wait.n)] | last
                | . != null and of and .n > $work.n)))];
    def waited($from; $to): made($from; $to) | if . == [] then "the host waited for nothing"
        else "the host waited for " + (map(if .stream != null then "stream \(.stream)"
            elif .event != null then "event \(.event)" else "the device" end) | join(", ")) end;
    def later: data as $data | [.[] | select(.n > $data.n)];
    def copies: [later[] | select((.call // "" | startswith("cudaMemcpy"))
        or (.call == ("cudaMalloc", "cudaMallocHost", "cudaHostAlloc"))) | .call];'

# What comes after work_together is not judged before the device has access and the host waits: the
# program ends early then, and the miss above has the reason.
after_work_together() {
    local worked=$CHECK_FOLDER/worked
    [ -e "$worked" ] || in_journal "$QUESTIONS"' given and waits(data; kernel.n) != []
        and waits(kernel; current) != []' >"$worked" 2>/dev/null || true
    [ "$(<"$worked")" = true ] ||
        skip "first repair what is missed above"
}

@test "three default pools, and a pool of the program's own in the host's memory" {
    run_lesson
    expect_journal "$QUESTIONS"' [ok("cudaMemGetDefaultMemPool")[]
        | "\(.location) \(.type)"] == ["device pinned", "host pinned", "device managed"]' \
        'show requests the default pools of device, host and managed memory. That part was there at
            the start: put it back.' \
        "$QUESTIONS"' "it requested: " + ([ok("cudaMemGetDefaultMemPool")[]
            | "\(.location) \(.type)"] | join(", ")) + "."' \
        -- "$QUESTIONS"' data != null' \
        'main creates a pool with the location cudaMemLocationTypeHost and allocates from it. That
            part was there at the start: put it back.' \
        '"pools were created on: " + ([.[] | select(.call == "cudaMemPoolCreate")
            | if .device == -1 then "the host" else "device \(.device)" end] | join(", ")) + "."'
}

@test "the device adds, in the memory of the host pool" {
    run_lesson
    expect_journal "$QUESTIONS"' copies == []' \
        'nothing is copied. Memory of a host pool has one address, good for the host and, with
            access, for the device.' \
        "$QUESTIONS"' "after the allocation the program called: " + (copies | join(", ")) + "."' \
        -- "$QUESTIONS"' refused != [] or (kernel != null and data.bytes == kernel.bytes)' \
        'the device adds 2 to each int of the allocation: launch_add(data, 2, count, stream).' \
        "$QUESTIONS"' if kernel then "launch_add worked on \(kernel.bytes) of \(data.bytes) bytes."
            else "launch_add was not called for this allocation." end'
}

@test "the device is given access to the pool, before its kernel" {
    run_lesson
    expect_journal "$QUESTIONS"' refused == []' \
        'cudaMemPoolSetAccess gets a location of type cudaMemLocationTypeDevice with the number 0,
            and cudaMemAccessFlagsProtReadWrite: the kernel reads and writes.' \
        "$QUESTIONS"' "it returned " + (refused | map(.result) | unique | join(", ")) + "."' \
        -- "$QUESTIONS"' grants != []' \
        'the pool gives access: cudaMemPoolSetAccess. A host pool begins with access for the host
            and for no device, and a kernel without access faults.' \
        "$QUESTIONS"' if [.[] | select(.call == "cudaDeviceEnablePeerAccess")] != []
            then "cudaDeviceEnablePeerAccess was called; it gives access to no pool."
            elif set != [] then "cudaMemPoolSetAccess was called for another pool."
            else "cudaMemPoolSetAccess was not called." end' \
        -- "$QUESTIONS"' any(grants[]; .device == 0 and .value == 3)' \
        'the location in cudaMemAccessDesc is the device that gets access, with
            cudaMemAccessFlagsProtReadWrite. The host has access to its pool already.' \
        "$QUESTIONS"' "access was set for "
            + ([grants[] | if .device == null then "the host"
            else "device \(.device) to \(.value)" end] | join(", ")) + "."' \
        -- "$QUESTIONS"' given' \
        'access comes before the kernel that needs it. Given later, it may come in time or not.' \
        '"cudaMemPoolSetAccess was called after launch_add."'
}

@test "the host waits before it touches the memory" {
    run_lesson
    expect_journal "$QUESTIONS"' kernel == null or waits(data; kernel.n) != []' \
        'the host waits for the allocation before it writes: the pointer is known at once, the
            memory may be touched when the stream has reached the allocation.' \
        "$QUESTIONS"' "the allocation is in stream \(data.stream); between it and launch_add "
            + waited(data.n; kernel.n) + "."' \
        -- "$QUESTIONS"' kernel == null or waits(kernel; current) != []' \
        'the host waits for the device before it reads. A load is no call: no stream orders it, only
            the host can.' \
        "$QUESTIONS"' "launch_add is in stream \(kernel.stream); between it and the end of "
            + "work_together " + waited(kernel.n; current) + "."'
    after_work_together
    expect_clean
}

# work_together itself, with other pools and another size (tests/lessons/asked_together.h)
@test "work_together works with other host pools and sizes" {
    local count
    run_lesson
    after_work_together
    draw count 100000 900000
    ask_lesson asked_together 'work_together takes a pool, an allocation of it, its number of ints
        and the stream of the allocation, and returns, for every host pool.' "$count"
}

@test "cudaMallocAsync does not use the host pool" {
    run_lesson
    after_work_together
    expect_journal "$QUESTIONS"' pool as $pool | [ok("cudaMemSetMemPool")[]
            | select(.pool == $pool and .location == "host")] | length == 1' \
        'main makes the host pool current for host memory with cudaMemSetMemPool. That part was
            there at the start: put it back.' \
        -- "$QUESTIONS"' current as $set
            | [ok("cudaMallocAsync")[] | select(.n > $set and .pool == 0)] | length == 1' \
        'and then cudaMallocAsync is called. That part was there at the start: put it back.'
}

@test "it prints what a real device prints" {
    run_lesson
    after_work_together
    expect_right 18_other_locations
}
