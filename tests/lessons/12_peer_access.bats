# Lesson 12: where a block lies, who may use it, how to fetch it without access. Judges $LESSON.
# The journal is that of the first process. Each use without access is tried in a process of its
# own, with a journal of its own.
load ../tools/helpers

setup_file() { lesson_setup 12_peer_access; }

QUESTIONS='def ok($call): [.[] | select(.call == $call and .result == "cudaSuccess")];
    def grants: [.[] | select(.call == "cudaMemPoolSetAccess")];
    def told: [grants[] | "pool of GPU \(.pool), " + (if .device == null then "refused"
        elif .value == 3 then "GPU \(.device) may"
        else "GPU \(.device) may not" end) + (if .result == "cudaSuccess" then ""
            else " (\(.result))" end)]
        | if . == [] then "cudaMemPoolSetAccess was not called."
            else "cudaMemPoolSetAccess was told: " + join("; ") + "." end;'

# What the processes came to that the first one started: their journals in one, each line with its
# "process".
run_uses() {
    local others
    run_lesson
    [ -s "$journal" ] || return 0
    others=("$journal".*)
    journal=$CHECK_RUN/uses.jsonl
    [ -e "$journal" ] || { [ ! -e "${others[0]}" ] ||
        jq -c '. + {process: input_filename}' "${others[@]}"; echo '{}'; } >"$journal"
}

USES='def uses: [.[] | select(.process)] | group_by(.process) | map(
        ([.[] | select(.call | IN("launch_add", "cudaMemsetAsync", "cudaMemcpyAsync"))]
            | first) as $use
        | (if $use.kind == "DeviceToHost" then "to the host" elif any(.[];
            .call == "cudaDeviceEnablePeerAccess") then "peers enabled" else $use.call end)
        + (if any(.[]; .result == "cudaErrorIllegalAddress") then " faulted"
            elif $use.result == "cudaErrorInvalidValue" then " was refused" else "" end));'

@test "each block lies on its GPU" {
    run_lesson
    expect_journal "$QUESTIONS"' [ok("cudaMallocAsync")[].pool] | sort == [0, 1]' \
        'cudaMallocAsync gives one block on GPU 1 and one on GPU 0: it takes the GPU of the stream.
            The current device has no say (YOUR WORK, 3 of 3).' \
        "$QUESTIONS"' "the blocks of cudaMallocAsync lie on GPUs "
            + ([ok("cudaMallocAsync")[].pool | tostring] | join(" and ")) + "."'
}

# shellcheck disable=SC2154  # run_lesson sets errors
@test "without access each use has a process of its own" {
    run_uses
    [[ $errors != *cudaErrorInitializationError* ]] ||
        missed "Expected: a program that is started anew for each use." \
        "Happened: cudaErrorInitializationError. After a CUDA call of its parent none works in a
            child of fork."
    expect_journal "$USES"' uses | sort == ["cudaMemcpyAsync was refused",
        "cudaMemsetAsync was refused", "launch_add faulted", "peers enabled faulted",
        "to the host was refused"]' \
        'GPU 1 tries five uses without access, each in a process of its own. A kernel leaves a
            fault, which its process does not outlive.' \
        "$USES"' "what its processes did: \(uses | if . == [] then "there are none" else join(", ")
            end)."'
}

@test "the pool of GPU 0 lets GPU 1 in" {
    run_lesson
    expect_journal "$QUESTIONS"' [ok("cudaDeviceEnablePeerAccess")[]] | length == 0' \
        'set_access asks the pool. cudaDeviceEnablePeerAccess opens the memory of cudaMalloc, and no
            pool: the line "kernel, peers enabled" shows it (YOUR WORK, 1 of 3).' \
        "$QUESTIONS"' "cudaDeviceEnablePeerAccess was called, and " + told' \
        -- "$QUESTIONS"' any(grants[]; .result == "cudaErrorNotSupported") | not' \
        'GPU 1 may read and write: cudaMemAccessFlagsProtReadWrite. A pool of device memory knows no
            right to read only.' \
        "$QUESTIONS told" \
        -- "$QUESTIONS"' [grants[] | select(.value == 3)] | length > 0 and all(.[]; .pool == 0)' \
        'access is granted by the pool in which the block lies, that of GPU 0, with
            cudaMemPoolSetAccess.' \
        "$QUESTIONS told" \
        -- "$QUESTIONS"' [grants[] | select(.value == 3)] | length > 0 and all(.[]; .device == 1)' \
        'the location in cudaMemAccessDesc is the GPU that gets access, GPU 1. GPU 0 has it anyway:
            its memory is there.' \
        "$QUESTIONS told"
}

@test "set_access(0) takes the access away again" {
    run_lesson
    expect_journal "$QUESTIONS"' ([grants[] | select(.pool == 0 and .device == 1)] | last
        | .value) == 0' \
        'set_access(0) revokes: cudaMemPoolSetAccess for GPU 1 with cudaMemAccessFlagsProtNone.' \
        "$QUESTIONS told"
}

@test "the block is fetched without access" {
    run_lesson
    expect_journal "$QUESTIONS"' any(.[]; .call == "cudaMemcpyPeerAsync"
        and .result != "cudaSuccess") | not' \
        'cudaMemcpyPeerAsync is told where each end lies: the destination and its GPU, 1, then the
            source and its GPU, 0. A GPU that has no access to the block that it is named for is
            refused.' \
        '"cudaMemcpyPeerAsync answered \([.[] | select(.call == "cudaMemcpyPeerAsync"
            and .result != "cudaSuccess") | .result] | first)."' \
        -- "$QUESTIONS"' [grants[] | select(.value == 3) | .n] as $grant | ok("cudaMemcpyPeerAsync")
        | length > 0 and all(.[]; .n < ($grant[0] // infinite))' \
        'the fetch copies while GPU 1 has no access: cudaMemcpyPeerAsync, before the first grant
            (YOUR WORK, 2 of 3). It needs none.' \
        "$QUESTIONS"' "\(ok("cudaMemcpyPeerAsync") | length) peer copies; " + told' \
        -- "$QUESTIONS"' [grants[] | select(.value == 3)] | length <= 1' \
        'access is granted once, by main. To fetch a block no access is needed.' \
        "$QUESTIONS told" \
        -- "$QUESTIONS"' [.[] | select(.did == "run" and .op == "copy" and .bytes == 1048576)]
            | length == 2' \
        'two copies of the whole MiB run: the peer copy and the one with access.' \
        '"\([.[] | select(.did == "run" and .op == "copy" and .bytes == 1048576)]
            | length) of that size ran."'
}

@test "it prints what two real GPUs print" {
    run_lesson
    expect_right 12_peer_access
}

@test "with one GPU it says why it is skipped, and ends with status 77" {
    # shellcheck disable=SC2034  # run_lesson reads it
    SIM_ENV=(SIM_DEVICES=1)
    run_lesson
    expect_status 77 'with one GPU the lesson is skipped: exit status 77.'
    [[ "$output" == skipped:* ]] ||
        miss "Expected: a line that begins with \"skipped:\"." "Happened: $(visible "$output")"
}
