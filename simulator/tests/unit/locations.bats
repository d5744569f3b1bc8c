#!/usr/bin/env bats
# Pools in the host's memory, managed pools and memory, pools by location, on the simulated device.

load ../../../tests/suite
load programs

setup_file() {
    make -s BACKEND=simulator build/simulator/simulator/tests/unit/behaviour \
        build/simulator/simulator/tests/{facts/probe-pools,litmus/managed_wrong}
}

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
    LD_PRELOAD=./without.so run bounded "$PROGRAMS/../litmus/managed_wrong" managed_small
    assert_output --partial \
        "hazard: host access not ordered after a write. The host touches allocation 1"
}

@test "pools and memory answer the same where a page has 64 KiB, as on some arm64 systems" {
    "${CC:-gcc}" -shared -fPIC "$ROOT/simulator/tests/unit/page64.c" -ldl -o page64.so
    as_without ./page64.so
    # A pinned buffer shares no page with others, however large pages are.
    cat >early.c <<'END'
#include <cuda_runtime_api.h>
int main(void)
{
    int *gap, *buffer, *data;
    cudaMallocHost((void **)&gap, 4), cudaMallocHost((void **)&buffer, 4);
    cudaMalloc((void **)&data, 4);
    cudaMemcpyAsync(data, buffer, 4, cudaMemcpyHostToDevice, 0);
    *buffer = 2;
    cudaFree(data), cudaFreeHost(buffer), cudaFreeHost(gap);
    return 0;
}
END
    "${CC:-gcc}" -isystem "$ROOT/build/cuda/include" early.c -o early \
        "$ROOT/build/simulator/libcudart.so.13" -Wl,-rpath,"$ROOT/build/simulator"
    LD_PRELOAD=./page64.so run bounded ./early
    [ "$status" = 3 ]
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
    cat >current.c <<'END'
#include <cuda_runtime_api.h>
int main(void)
{
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .location = {cudaMemLocationTypeDevice, 0}};
    struct cudaMemLocation numa = {cudaMemLocationTypeHostNumaCurrent, 0};
    cudaMemPool_t pool;
    cudaMemPoolCreate(&pool, &props);
    if (cudaMemSetMemPool(&numa, props.allocType, pool) != cudaErrorNotSupported)
        return 1;
    cudaMemPoolDestroy(pool);
    return cudaMemSetMemPool(&props.location, props.allocType, pool);
}
END
    "${CC:-gcc}" -isystem "$ROOT/build/cuda/include" current.c -o current \
        "$LD_LIBRARY_PATH/libcudart.so.13"
    run ./current
    [ "$status" = 3 ]
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
                complain "$build, $name: status $status" "$output"
        done
    done
    finish
}

# Headers since CUDA 13.4 have it where older ones have the first of `reserved`.
@test "cudaPointerGetAttributes: no memory is in a locality domain, which is -1 and not domain 0" {
    cat >domain.c <<'C'
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct attributes {
    int type, device;
    void *device_pointer, *host_pointer;
    union { int domain; long unused; };
    long reserved[7];
};
int cudaMalloc(void **, size_t);
int cudaMallocAsync(void **, size_t, void *);
int cudaMallocHost(void **, size_t);
int cudaMallocManaged(void **, size_t, unsigned);
int cudaFree(void *);
int cudaFreeHost(void *);
int cudaPointerGetAttributes(struct attributes *, const void *);
static void ask(const void *p)
{
    struct attributes a;
    memset(&a, 0x55, sizeof a);
    int e = cudaPointerGetAttributes(&a, p);
    printf("%d: type %d, domain %d, reserved %ld %ld, %zu bytes\n", e, a.type, a.domain,
           a.reserved[0], a.reserved[6], sizeof a);
}
int main(void)
{
    void *device, *pool, *host, *managed;
    cudaMalloc(&device, 64);
    cudaMallocAsync(&pool, 64, NULL);
    cudaMallocHost(&host, 64);
    cudaMallocManaged(&managed, 64, 1);
    ask(device), ask(pool), ask(host), ask(managed), ask(&device);
    cudaFree(device), cudaFree(pool), cudaFree(managed), cudaFreeHost(host);
}
C
    gcc -Wall domain.c "$ROOT/build/simulator/libcudart.so.13" -o domain
    LD_LIBRARY_PATH=$ROOT/build/simulator run bounded ./domain
    assert_success
    assert_output "0: type 2, domain -1, reserved 0 0, 88 bytes
0: type 2, domain -1, reserved 0 0, 88 bytes
0: type 1, domain -1, reserved 0 0, 88 bytes
0: type 3, domain -1, reserved 0 0, 88 bytes
0: type 0, domain -1, reserved 0 0, 88 bytes"
}
