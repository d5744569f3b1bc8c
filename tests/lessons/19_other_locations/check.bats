# Lesson 19: an allocation of a host pool on which host and device work. Judges $LESSON.
load ../grading/check

setup_file() { lesson_setup 19_other_locations; }

# pool: the host pool that the program creates; data: its allocation; kernel: the launch that works
# on it. touched($how): the host touched memory too early. called($from; $to): where the host
# learned something there, or asked.
definitions 'def ok($call): [.[] | select(.call == $call and .result == "cudaSuccess")];
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
    def touched($how): any(.[]; .did == "hazard" and .kind == "host access " + $how);
    def called($from; $to): [.[] | select(.n > $from and ($to == null or .n < $to)
            and (.acquired or (.call // "" | test("Synchronize|Query"))))
            | .call + (if .stream != null then " for stream \(.stream)"
                elif .event != null then " for event \(.event)" else "" end)]
        | if . == [] then "the host waited for nothing" else "the host called "
            + (group_by(.) | map(.[0]) | join(", ")) end;
    def later: data as $data | [.[] | select(.n > $data.n)];
    def copies: [later[] | select((.call // "" | startswith("cudaMemcpy"))
        or (.call == ("cudaMalloc", "cudaMallocHost", "cudaHostAlloc"))) | .call];'

# What follows from a missing kernel, and what comes after work_together while the device has no
# access or the host does not wait, is not judged: the miss above has the reason.
worked=
look() {
    run_lesson
    local file=$CHECK_FOLDER/worked
    [ -e "$file" ] || in_journal '"\(refused != [] or kernel != null)"
        + " \(given and (touched("before allocation") or touched("not ordered after a write")
            | not))"' >"$file" 2>/dev/null || true
    worked=$(<"$file")
}
after_kernel() { [[ $worked == true* ]] || after_the_rest; }
after_work_together() { [[ $worked == *true ]] || skip "first repair what is missed above"; }

@test "three default pools, and a pool of the program's own in the host's memory" {
    run_lesson
    expect_journal '[ok("cudaMemGetDefaultMemPool")[]
        | "\(.location) \(.type)"][:3] == ["device pinned", "host pinned", "device managed"]' \
        'show requests the default pools of device, host and managed memory, as in the starter.' \
        '"it requested: " + ([ok("cudaMemGetDefaultMemPool")[]
            | "\(.location) \(.type)"] | join(", ")) + "."' \
        -- 'data != null' \
        'main creates a pool with the location cudaMemLocationTypeHost and allocates from it, as in
            the starter.' \
        '"pools were created on: " + ([.[] | select(.call == "cudaMemPoolCreate")
            | if .device == -1 then "the host" else "device \(.device)" end] | join(", ")) + "."'
}

@test "the device adds, in the memory of the host pool" {
    run_lesson
    expect_journal 'copies == []' \
        'nothing is copied. Memory of a host pool has one address, good for the host and, with
            access, for the device.' \
        '"after the allocation the program called: " + (copies | join(", ")) + "."' \
        -- 'refused != [] or (kernel != null and data.bytes == kernel.bytes)' \
        'the device adds 2 to each int of the allocation: launch_add(data, 2, count, stream).' \
        'if kernel then "launch_add worked on \(kernel.bytes) of \(data.bytes) bytes."
            else "launch_add was not called for this allocation." end' \
        -- 'refused != [] or kernel.value == 2' \
        'the host writes 40, and the device adds 2 to it: both work on the same memory.' \
        '"launch_add added \(kernel.value): the host had written what was to come
            out." | gsub("\n *"; " ")'
}

@test "the device is given access to the pool, before its kernel" {
    look
    after_kernel
    expect_journal 'refused == []' \
        'cudaMemPoolSetAccess gets a location of type cudaMemLocationTypeDevice with the number 0,
            and cudaMemAccessFlagsProtReadWrite: the kernel reads and writes.' \
        '"it returned " + (refused | map(.result) | unique | join(", ")) + "."' \
        -- 'grants != []' \
        'the pool gives access: cudaMemPoolSetAccess. A host pool begins with access for the host
            and for no device, and a kernel without access faults.' \
        'if [.[] | select(.call == "cudaDeviceEnablePeerAccess")] != []
            then "cudaDeviceEnablePeerAccess was called; it gives access to no pool."
            elif set != [] then "cudaMemPoolSetAccess was called for another pool."
            else "cudaMemPoolSetAccess was not called." end' \
        -- 'any(grants[]; .device == 0 and .value == 3)' \
        'the location in cudaMemAccessDesc is the device that gets access, with
            cudaMemAccessFlagsProtReadWrite. The host has access to its pool already.' \
        '"access was set for "
            + ([grants[] | if .device == null then "the host"
            else "device \(.device) to \(.value)" end] | join(", ")) + "."' \
        -- 'given' \
        'access comes before the kernel that needs it. Given later, it may come in time or not.' \
        '"cudaMemPoolSetAccess was called after launch_add."'
}

@test "the host waits before it touches the memory" {
    look
    after_kernel
    expect_journal 'touched("before allocation") | not' \
        'the host waits for the allocation before it writes: the pointer is known at once, the
            memory may be touched when the stream has reached the allocation.' \
        '"the allocation is in stream \(data.stream); between it and launch_add "
            + called(data.n; kernel.n) + "."' \
        -- 'touched("not ordered after a write") | not' \
        'the host waits for the device before it reads. A load is no call: no stream orders it, only
            the host can.' \
        '"launch_add is in stream \(kernel.stream); between it and the end of "
            + "work_together " + called(kernel.n; current) + "."'
    after_work_together
    expect_clean
}

# work_together itself, with other pools and another size (tests/lessons/asked_together.h)
@test "work_together works with other host pools and sizes" {
    local count half
    look
    after_work_together
    after_the_rest
    draw count 100000 900000
    half=$((count / 2 + 1))
    definitions 'def filled: [ok("launch_fill")[] | select(.bytes == 4).value];'
    ask_lesson asked_together 'work_together takes a pool, an allocation of it, its number of ints
        and the stream of the allocation, and returns, for every host pool.' "$count"
    expect_journal '[ok("launch_add")[] | [.value, .bytes]]
            == [[2, '$((4 * count))'], [2, '$((4 * half))']]' \
        'work_together uses the count that it is given: the device adds 2 to so many ints.' \
        '"with '"$count and $half"' ints the device added "
            + ([ok("launch_add")[] | "\(.value) to \(.bytes / 4)"] | join(" and ")
                | if . == "" then "nothing" else . end) + "."' \
        -- 'filled == ['"$count, $half"']' \
        'work_together uses the pool, the stream and the count that it is given: every int is 42
            afterwards.' \
        '"with '"$count and $half"' ints, so many were 42: "
            + (filled | map(tostring) | join(" and ")) + "."'
    expect_answers 'work_together returns how many of the ints that it is given are 42.' \
        "work_together with $count ints of the host" "$count" \
        "work_together with $half ints of a NUMA node of the host" "$half"
}

@test "cudaMallocAsync does not use the host pool" {
    look
    after_work_together
    expect_journal 'pool as $pool | [ok("cudaMemSetMemPool")[]
            | select(.pool == $pool and .location == "host")] | length == 1' \
        'main makes the host pool current for host memory with cudaMemSetMemPool, as in the
            starter.' \
        '"it made none current, or another."' \
        -- 'current as $set
            | [ok("cudaMallocAsync")[] | select(.n > $set and .pool == 0)] | length == 1' \
        'and then main calls cudaMallocAsync, as in the starter.' \
        '"it did not, or that took memory of another pool."'
}

@test "it prints what a real device prints" {
    look
    after_work_together
    after_the_rest
    expect_right 19_other_locations
}
