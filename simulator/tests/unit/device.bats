#!/usr/bin/env bats
# What a device says about itself, how much work it accepts, its memory in rows and slices and in
# other locations, and who may touch the memory of another device.

load ../../../tests/suite
load programs

setup_file() {
    make -s BACKEND=simulator \
        build/simulator/simulator/tests/unit/{behaviour,device,uniform_pages} \
        build/simulator/simulator/tests/facts/{p2p,peer-numbers,probe-more-peers,probe-pools} \
        build/simulator/simulator/tests/litmus/{accesses,pinned_wrong}
}

@test "device.c: properties, streams, ranges, and what destructors do after a reset" {
    all_as_expected device too_many_launches too_full memory_after_reset stream_after_reset \
        refused_and_unseen one_row_more slices_refused
}

@test "a call that waits for room behind a gate that nobody opens: a sentence and status 3" {
    exits 3 "$PROGRAMS/device" too_many_launches
    assert_line --partial "hazard: waiting forever. cudaGraphLaunch waits for room in the full"
    exits 3 "$PROGRAMS/device" too_full
    assert_line --partial "hazard: waiting forever. launch_fill waits for room in the full queue of"
    assert_line "  To do:     open the gate (*open = 1) before this call, or queue less after it."
}

@test "a reset ends memory and streams: their use is reported" {
    exits 3 "$PROGRAMS/device" memory_after_reset
    assert_output --partial \
        "use after free. cudaMemset (the legacy stream) writes allocation 1, which"
    assert_output --partial "freed      cudaDeviceReset, the host"
    exits 3 "$PROGRAMS/device" stream_after_reset
    assert_output --partial "launch_fill was given a stream that cudaDeviceReset has ended."
}

# On other processors than x86-64, each result counts as looked at.
@test "a refused call that nobody looks at is reported, also in a program without kernels" {
    [ "$(uname -m)" = x86_64 ] || skip "its results count as looked at here"
    exits 3 "$PROGRAMS/device" refused_and_unseen
    assert_output --partial "failed call. cudaGraphLaunch returned cudaErrorInvalidValue"
    assert_output --partial "its memory of the launch before is not freed"
}

@test "a result that a program looks at never counts as ignored, however it is compiled" {
    [ "$(uname -m)" = x86_64 ] || skip "each result counts as looked at here"
    local level
    for level in 0 1 2 3; do
        "${CC:-gcc}" -Wall -Wextra -O"$level" -I"$ROOT/simulator" -o result \
            "$ROOT"/simulator/{tests/unit/inside_result,os/result}.c
        ./result >out 2>err || miss "-O$level: $(<err)"
        [[ ${CC:-gcc} != gcc || $(<err) == "missed 0, "* ]] || miss "-O$level: $(<err)"
    done
}

# ---- rows and slices, and queries about managed ranges ----

@test "fills, adds, memsets and copies of random parts: every byte is as in a plain array" {
    for seed in 1 2 3; do as_expected uniform_pages $seed 150 || return; done
}
@test "a copy of one row too many between host and host pool: the bytes beyond are reported" {
    SIM_CHECK=off as_expected device one_row_more
    exits 3 "$PROGRAMS/device" one_row_more
    assert_line --partial "hazard: use of memory that is not allocated"
}
@test "copies and memsets of slices: what is refused, at once" {
    # A slice that begins after the end of its memory is reported, too.
    SIM_CHECK=off as_expected device slices_refused
    run bounded "$PROGRAMS/device" slices_refused
    assert_line --partial "hazard: use of memory that is not allocated. cudaMemcpy3DAsync"
}
@test "the journal has the bytes and the rows of a copy, and the bytes of a memset" {
    SIM_JOURNAL=journal "$PROGRAMS/../litmus/accesses" rows_copied
    run jq -c 'select(.call == "cudaMemcpy2DAsync") | [.bytes, .rows, .kind]' journal
    assert_output '[1000,10,"DeviceToHost"]'
    run jq -c 'select(.did == "run" and .op == "memset") | .bytes' journal
    assert_output 1000
}

# ---- pools in the host's memory, managed pools and memory, pools by location ----

# as_without LIBRARY: with the library loaded before, pools in each location answer as without it
as_without() {
    SIM_CHECK=off LD_PRELOAD=$1 bounded "$FACTS/probe-pools" >with 2>/dev/null
    SIM_CHECK=off bounded "$FACTS/probe-pools" 2>/dev/null | diff - with ||
        miss "With $1 it prints something else (< without)."
}

@test "pools and memory answer the same where mremap gives no second view, as under valgrind" {
    "${CC:-gcc}" -shared -fPIC -o without.so -xc - <<'END'
#include <errno.h>
#include <stddef.h>
void *mremap(void *from, size_t old, size_t new, int flags, ...)
{
    (void)from, (void)old, (void)new, (void)flags;
    errno = EINVAL;
    return (void *)-1;
}
END
    as_without ./without.so
    LD_PRELOAD=./without.so run bounded "$PROGRAMS/../litmus/pinned_wrong" managed_small
    assert_output --partial \
        "hazard: host access not ordered after a write. The host touches allocation 1"
}

# The bit of cudaHostAllocWriteCombined means something else for registered memory.
@test "the host writes to pinned memory of any flag while a copy reads it: reported" {
    main_of again.c <<'END'
    char *staging, *data;
    cudaHostAlloc((void **)&staging, 8192, (unsigned)atoi(argv[argc - 1]));
    cudaMalloc((void **)&data, 8192);
    cudaMemcpyAsync(data, staging, 8192, cudaMemcpyHostToDevice, 0);
    *staging = 2;
    cudaFree(data), cudaFreeHost(staging);
END
    local flags
    for flags in 0 1 2 4 7; do
        exits 3 ./program $flags
        assert_line --partial "hazard: host write not ordered after a read."
    done
}

@test "pools and memory answer the same where a page has 64 KiB, as on some arm64 systems" {
    "${CC:-gcc}" -shared -fPIC "$ROOT/simulator/tests/unit/page64.c" -ldl -o page64.so
    as_without ./page64.so
    # A pinned buffer shares no page with others, however large pages are.
    main_of early.c <<'END'
    int *gap, *buffer, *data;
    cudaMallocHost((void **)&gap, 4), cudaMallocHost((void **)&buffer, 4);
    cudaMalloc((void **)&data, 4);
    cudaMemcpyAsync(data, buffer, 4, cudaMemcpyHostToDevice, 0);
    *buffer = 2;
    cudaFree(data), cudaFreeHost(buffer), cudaFreeHost(gap);
END
    LD_PRELOAD=./page64.so exits 3 ./program
    assert_output --partial "hazard: host write not ordered after a read."
    refute_output --partial "as many mappings as Linux allows"
}

@test "the host dies of a host pool's allocation that has gone back; a sentence names the line" {
    run bounded "$FACTS/probe-pools" touch_freed
    assert_output --regexp "device: the host touched .*, which cudaFreeAsync at .* has freed"
    assert_output --partial "at simulator/tests/facts/probe-pools.c:"
    [ "$status" = 139 ]
}

@test "a kernel faults on a host pool that its device has no access to" {
    run bounded "$FACTS/probe-pools" touch_host_not_granted
    assert_output --partial "is in a pool of the host that this device has no access to"
    assert_output --partial "Every further call returns cudaErrorIllegalAddress."
}

@test "cudaMemSetMemPool: nothing for the current NUMA node, and no destroyed pool of a device" {
    main_of current.c <<'END'
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .location = {cudaMemLocationTypeDevice, 0}};
    struct cudaMemLocation numa = {cudaMemLocationTypeHostNumaCurrent, 0};
    cudaMemPool_t pool;
    cudaMemPoolCreate(&pool, &props);
    if (cudaMemSetMemPool(&numa, props.allocType, pool) != cudaErrorNotSupported)
        return 1;
    cudaMemPoolDestroy(pool);
    return cudaMemSetMemPool(&props.location, props.allocType, pool);
END
    exits 3 ./program
    assert_output --partial "hazard: bad handle. cudaMemSetMemPool was given a pool that is \
destroyed"
}

# bats test_tags=long
@test "more protected pages than Linux allows mappings: a sentence; after a wait they are back" {
    [ "$(cat /proc/sys/vm/max_map_count)" -lt 100000 ] || skip "Linux allows more mappings here"
    export SIM_SCHEDULE=late    # the copies end at the wait
    run bounded "$PROGRAMS/behaviour" many_copies 30000
    [ "$status" = 3 ] || miss "Exit status $status, not 3." "$output"
    assert_output --partial "30000 copies, twice"
    [ "$(grep -c "limited number of mappings (vm.max_map_count)" <<<"$output")" = 1 ]
    [ "$(grep -c "^hazard: host access not ordered after a write" <<<"$output")" = 1 ]
    # That sentence, the report, and the last sentence.
    [ "$(grep -c "simulated device\|^hazard" <<<"$output")" = 3 ] || miss "It said:" "$output"
}

# bats test_tags=long
@test "what the host touches by itself: the sanitizers find nothing in correct programs" {
    local build name program=simulator/tests/litmus/host_access
    make_sanitized address,undefined "$program"
    make_sanitized thread "$program"
    export SIM_MEMORY=4G SIM_SCHEDULE=late    # the thread sanitizer leaves few addresses
    for build in simulator-address-undefined simulator-thread; do
        for name in $(sed -n 's/^LITMUS(\([a-z_]*\).*/\1/p' "$ROOT/$program.c"); do
            LD_LIBRARY_PATH=$ROOT/build/$build run bounded "$ROOT/build/$build/$program" "$name"
            [ "$status" = 0 ] && [ "${output//[0-9]/}" = "" ] ||
                miss "$build, $name: status $status" "$output"
        done
    done
}

# Headers since CUDA 13.4 have it where older ones have the first of `reserved`.
@test "cudaPointerGetAttributes: no memory is in a locality domain, which is -1 and not domain 0" {
    main_of domain.c <<'C'
    void *p[5] = {NULL};
    cudaMalloc(&p[0], 64), cudaMallocAsync(&p[1], 64, NULL), cudaMallocHost(&p[2], 64);
    cudaMallocManaged(&p[3], 64, cudaMemAttachGlobal);
    p[4] = p;
    for (int i = 0; i < 5; i++) {
        struct cudaPointerAttributes a;
        int domain;
        long reserved[7];
        memset(&a, 0x55, sizeof a);
        int e = cudaPointerGetAttributes(&a, p[i]);
        memcpy(&domain, (char *)&a + 24, sizeof domain);
        memcpy(reserved, (char *)&a + 32, sizeof reserved);
        printf("%d: type %d, domain %d, reserved %ld %ld, %zu bytes\n", e, a.type, domain,
               reserved[0], reserved[6], sizeof a);
    }
    return cudaFree(p[0]) || cudaFree(p[1]) || cudaFree(p[3]) || cudaFreeHost(p[2]);
C
    exits 0 ./program
    assert_output "0: type 2, domain -1, reserved 0 0, 88 bytes
0: type 2, domain -1, reserved 0 0, 88 bytes
0: type 1, domain -1, reserved 0 0, 88 bytes
0: type 3, domain -1, reserved 0 0, 88 bytes
0: type 0, domain -1, reserved 0 0, 88 bytes"
}

# ---- two devices, as a machine with two GPUs has them ----

@test "two GPUs: the eight recorded runs, each in a process of its own" {
    SIM_CHECK=off bounded "$FACTS/p2p" >"returned" 2>/dev/null
    run diff -w "$ROOT"/simulator/tests/facts/p2p.txt "returned"
    assert_output ""
}

@test "the recorded runs leak, and fault where the GPUs did: no order is reported" {
    local n
    for n in 0 1 2 3 4 5 6 7; do
        run bounded "$FACTS/p2p" "$n"
        assert_line end
        ! grep '^hazard: ' <<<"$output" | grep -qvE '^hazard: (leak|illegal address)' ||
            miss "p2p $n: more than leaks and faults is reported:" "$output"
    done
}

@test "a peer copy is given where its ends lie: the numbers that two GPUs took" {
    bounded "$FACTS/peer-numbers" >"returned" 2>"words"
    run diff -w "$ROOT"/simulator/tests/facts/peer-numbers.txt "returned"
    assert_output ""
    run cat "words"
    assert_output ""
}

@test "SIM_PEERS=off: no device can reach another, and access is not granted" {
    SIM_PEERS=off run bounded "$FACTS/p2p" 6
    assert_line "  can 1->0 0"
    assert_line --regexp \
        '^acc\(d0, 1, cudaMemAccessFlagsProtReadWrite\) +-> cudaErrorInvalidDevice$'
    assert_line --regexp '^cudaStreamSynchronize\(s1\) +-> cudaErrorIllegalAddress$'
    SIM_PEERS=off run bounded "$FACTS/p2p" off
    assert_line --regexp '^cudaDeviceEnablePeerAccess\(1, 0\) +-> cudaErrorPeerAccessUnsupported$'
    assert_line --regexp '^cudaDeviceDisablePeerAccess\(1\) +-> cudaErrorPeerAccessNotEnabled$'
}

@test "SIM_PEERS=lower: GPU 1 reaches GPU 0, and GPU 0 does not reach GPU 1" {
    SIM_PEERS=lower run bounded "$FACTS/p2p" 6
    assert_line "  can 1->0 1"
    assert_line --regexp '^acc\(d0, 1, cudaMemAccessFlagsProtReadWrite\) +-> cudaSuccess$'
    SIM_PEERS=lower run bounded "$FACTS/p2p" off
    assert_line --regexp '^cudaDeviceEnablePeerAccess\(1, 0\) +-> cudaErrorPeerAccessUnsupported$'
}

# link_of SETTING: what attributes 2, access, and 4, arrays, say from 0 to 1 and then from 1 to 0
link_of() {
    SIM_PEERS=$1 SIM_DEVICES=2 bounded "$more" attributes_of_the_link |
        grep -m 4 'attribute [24]: cudaSuccess' | sed 's/.*Success, \(.\);.*/\1/' | tr '\n' ' '
}

@test "cudaDeviceGetP2PAttribute says what SIM_PEERS says, in both APIs; documented errors" {
    local more=$FACTS/probe-more-peers
    assert_equal "$(link_of on)" "1 1 1 1 "
    assert_equal "$(link_of off)" "0 0 0 0 "
    assert_equal "$(link_of lower)" "0 0 1 1 "
    SIM_DEVICES=2 run bounded "$more" attributes_of_the_link
    assert_line "  attribute 2: cudaSuccess, 1; result 0, 1"
    assert_line "  attribute 6: cudaErrorInvalidValue, 99; result 1, 99"
    run grep -c 'InvalidDevice, 99; result 101' <<<"$(grep -A 8 'from 0 to 0' <<<"$output")"
    assert_output 8
}
