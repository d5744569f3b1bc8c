# Lesson 14: which GPU has an allocation, who may use it, how to copy it without access. Judges
# $LESSON. The journal is that of the first process. The two kernels without access run in processes
# of their own, each with a journal of its own.
load ../grading/check

setup_file() { lesson_setup 14_peer_access; }

definitions 'def ok($call): [.[] | select(.call == $call and .result == "cudaSuccess")];
    def changes: [.[] | select(.call == "cudaMemPoolSetAccess")];
    def grants: [changes[] | select(.value == 3)];
    def listed: [changes[] | "pool of GPU \(.pool), " + (if .device == null then "no change"
        elif .value == 3 then "GPU \(.device) gets access"
        else "GPU \(.device) loses it" end) + (if .result == "cudaSuccess" then ""
            else " (\(.result // "the program ended there"))" end)]
        | if . == [] then "cudaMemPoolSetAccess was not called."
            else "cudaMemPoolSetAccess was called for: " + join("; ") + "." end;
    def peer_copies: [.[] | select(.call | IN("cudaMemcpyPeerAsync", "cudaMemcpyPeer"))];
    def refused: [peer_copies[] | select(.result != "cudaSuccess")];
    def made_on($gpu): [ok("cudaMallocAsync")[] | select(.pool == $gpu).allocation] | first;
    def copies: made_on(0) as $from | made_on(1) as $to | [.[] | select(.result == "cudaSuccess"
        and .bytes == 1048576 and (.call // "" | startswith("cudaMemcpy")))
        | . + {step: (if .source_allocation == $from and .allocation == $to then "direct"
            elif .kind == "DeviceToHost" and .allocation == $from then "to the host"
            elif .kind == "HostToDevice" and .allocation == $to then "from the host"
            else null end)}];
    # Copies of all of gpu0_data to gpu1_data, directly or in two steps.
    def fetches: copies as $copies | [$copies[] | select(.step == "direct")]
        + [$copies[] | select(.step == "from the host") | .n as $n
            | select(any($copies[]; .step == "to the host" and .n < $n))];
    def asked_reach: [.[] | select(.call == "cudaDeviceCanAccessPeer")];'

# Runs the lesson. The two kernels without access fault, and each fault is a line on stderr. These
# two are expected, so no miss shows them.
# shellcheck disable=SC2154  # run_lesson sets errors
run_program() {
    run_lesson
    [[ $errors == *"simulated device: illegal address: a kernel (add, "* ]] || return 0
    sed -i '/^simulated device: illegal address: a kernel (add, /d' "$CHECK_RUN/stderr"
    text_of errors "$CHECK_RUN/stderr"
}

# What follows from a set_access that gives no access is missed in the test of that.
after_set_access() {
    grep -q '"cudaMemPoolSetAccess","pool":0,"device":1,"value":3,.*"cudaSuccess"' "$journal" ||
        after_the_rest
}

# The journals of the processes that the first one started, in one, each line with its "process".
run_kernels() {
    local others
    run_program
    [ -s "$journal" ] || return 0
    others=("$journal".*)
    journal=$CHECK_RUN/kernels.jsonl
    [ -e "$journal" ] || { [ ! -e "${others[0]}" ] ||
        jq -c '. + {process: input_filename}' "${others[@]}"; echo '{}'; } >"$journal"
}

KERNELS='def kernels: [.[] | select(.process)] | group_by(.process) | map(
        (if any(.[]; .call == "cudaDeviceEnablePeerAccess") then "with peers enabled "
            else "" end) + "the kernel "
        + (if any(.[]; .result == "cudaErrorIllegalAddress") then "faulted" else "ran" end));'

@test "each allocation is on its GPU" {
    run_program
    expect_journal '[ok("cudaMallocAsync")[].pool] | sort == [0, 1]' \
        'one cudaMallocAsync allocates on GPU 0 and one on GPU 1. It takes the GPU of the stream,
            whichever GPU is current (YOUR WORK, 3 of 3).' \
        '"the allocations of cudaMallocAsync are on GPUs "
            + ([ok("cudaMallocAsync")[].pool | tostring] | join(" and ")) + "."'
}

# shellcheck disable=SC2154
@test "each kernel without access has a process of its own" {
    run_kernels
    [[ $errors != *cudaErrorInitializationError* ]] ||
        missed "Expected: a program that is started again for each of the two kernels." \
        "Happened: cudaErrorInitializationError. In a child of fork no CUDA call works once its
            parent has made one."
    expect_journal "$KERNELS"' kernels | sort == ["the kernel faulted",
        "with peers enabled the kernel faulted"]' \
        'GPU 1 runs two kernels without access, each in a process of its own: after a fault no call
            of its process works.' \
        "$KERNELS"' "in processes of their own: \(kernels | if . == [] then "none" else join(", ")
            end)."'
}

@test "the fetch copies without access" {
    run_program
    expect_journal 'refused | all(.[]; .result == null)' \
        'cudaMemcpyPeerAsync takes the destination and its GPU, 1, then the source and its GPU, 0.
            The GPU that is named for an allocation must have access to it.' \
        'refused[0] | "\(.call) returned \(.result)."' \
        -- 'refused == []' \
        'the peer copy is ordered with the work before it and after it: all that the program does
            with gpu1_data is in stream[1].' \
        '"the simulated device reported a hazard: \(refused[0].call) is in stream "
            + "\(refused[0].stream // 0)."' \
        -- '([grants[].n] | first // infinite) as $grant
            | any(fetches[]; .n < $grant)' \
        'fetch copies all of gpu0_data to gpu1_data while GPU 1 has no access: with
            cudaMemcpyPeerAsync, which needs none, or through the host (YOUR WORK, 2 of 3). The
            first access is given after that.' \
        '([grants[].n] | first // infinite) as $grant | [fetches[] | .n < $grant]
            | "\(map(select(.)) | length) such copies before the first access,
            \(map(select(not)) | length) after it. " | gsub("\n *"; " ")' \
        -- '[grants[].n] | length <= 1' \
        'access is given once, by try_all. The fetch needs none.' \
        'listed'
}

@test "set_access gives GPU 1 access to the pool of GPU 0" {
    run_program
    expect_journal '[ok("cudaDeviceEnablePeerAccess")[]] | length == 0' \
        'set_access changes the access of the pool. cudaDeviceEnablePeerAccess is for memory of
            cudaMalloc, and for no pool: see the row "kernel, peers enabled" (YOUR WORK, 1 of 3).' \
        '"cudaDeviceEnablePeerAccess was called. " + listed' \
        -- 'any(changes[]; .result == "cudaErrorNotSupported") | not' \
        'GPU 1 may read and write: cudaMemAccessFlagsProtReadWrite. A pool has no access for
            reading alone.' \
        'listed' \
        -- 'grants | length > 0 and all(.[]; .pool == 0)' \
        'the pool whose access changes is the one that has the allocation, the pool of GPU 0
            (cudaMemPoolSetAccess).' \
        'listed' \
        -- 'grants | length > 0 and all(.[]; .device == 1)' \
        'the location in cudaMemAccessDesc is the GPU that gets access, GPU 1. GPU 0 has access to
            its own memory without a call.' \
        'listed' \
        -- '([grants[].n] | first // infinite) as $grant
            | any(fetches[]; .n > $grant)' \
        'with access, GPU 1 copies the data once more, with cudaMemcpyAsync: try_all of the starter
            does so.' \
        '"there was no such copy after cudaMemPoolSetAccess."'
}

@test "set_access(..., 0) takes the access away" {
    run_program
    after_set_access
    expect_journal '([changes[] | select(.pool == 0 and .device == 1)] | last
        | .value) == 0' \
        'with allowed 0 set_access takes the access away: cudaMemPoolSetAccess for GPU 1 with
            cudaMemAccessFlagsProtNone.' \
        'listed'
}

@test "where GPU 1 cannot reach GPU 0 (SIM_PEERS=off) set_access returns 0" {
    # shellcheck disable=SC2034
    SIM_ENV=(SIM_PEERS=off)
    run_program
    expect_journal \
        'asked_reach != []' \
        'set_access calls cudaDeviceCanAccessPeer: only the device reports what it can reach.' \
        '"cudaDeviceCanAccessPeer was not called."' \
        -- 'any(asked_reach[]; .device == 1 and .peer == 0)' \
        'cudaDeviceCanAccessPeer takes the GPU that is to have access first, here GPU 1, and then
            the one whose memory it is: the answer is about one direction.' \
        'asked_reach[0] | "it was called for GPU \(.device) and the memory of GPU
            \(.peer)." | gsub("\n *"; " ")' \
        -- 'grants == [] and (changes | all(.[]; .result == "cudaSuccess"))' \
        'set_access calls cudaDeviceCanAccessPeer first, and gives no access where it reports 0.' \
        'listed + (if asked_reach[0].n < changes[0].n
            then " cudaDeviceCanAccessPeer had reported 0 before that."
            else " cudaDeviceCanAccessPeer was called after that." end)'
    expect_status 77 'without access the lesson ends as skipped: exit status 77.'
}

@test "set_access serves other GPUs, too" {
    local others=(0 2 3) OWNER GPU   # main has GPU 1
    run_program
    after_set_access
    draw GPU 0 2
    draw OWNER 1 2
    OWNER=${others[(GPU + OWNER) % 3]} GPU=${others[GPU]}
    # shellcheck disable=SC2034
    SIM_ENV=(SIM_DEVICES=4)
    ask_lesson asked_access 'set_access(pool, owner, gpu, allowed) works for the GPUs that it is
        given.' "$OWNER" "$GPU"
    expect_answers 'set_access returns 1 where the GPU can reach the memory of the owner.' \
        "set_access(pool of GPU $OWNER, $OWNER, $GPU, 1)" 1 \
        "set_access(pool of GPU $OWNER, $OWNER, $GPU, 0)" 1
    expect_journal "[changes[] | select(.result == \"cudaSuccess\")
            | [.pool, .device, .value]] == [[$OWNER, $GPU, 3], [$OWNER, $GPU, 0]]" \
        "set_access(pool of GPU $OWNER, $OWNER, $GPU, 1) gives that GPU access to that pool, and the
            same with 0 takes it away." \
        'listed'
}

@test "it prints what two real GPUs print" {
    after_the_rest
    run_program
    expect_right 14_peer_access
}

@test "with one GPU it says why it is skipped, and ends with status 77" {
    # shellcheck disable=SC2034
    SIM_ENV=(SIM_DEVICES=1)
    run_program
    expect_status 77 'with one GPU the lesson is skipped: exit status 77.'
    [[ "$output" == skipped:* ]] ||
        miss "Expected: a line that begins with \"skipped:\"." "Happened: $(visible "$output")"
}
