#!/usr/bin/env bats
# Kernels that nvcc built: programs that nvcc compiles here, where it is found, and one that calls
# by hand what nvcc's code calls.

load ../../../tests/suite
load programs
# shellcheck disable=SC2206  # a word, or none
SCHEDULES=(measured late ${TEST_LONG:+random:3})

setup_file() {
    make -s BACKEND=simulator build/simulator/simulator/tests/unit/{nvcc_by_hand,instructions}
}

# gave_up WHAT [SETTING]: the program that ran last has status 4 in place of 0, because of WHAT
gave_up() {
    assert_equal "$status" 4
    assert_line "simulated device: $1, and the program ends as if all had run, so \
the exit status is 4. To leave the status to the program: SIM_KERNELS=${2:-run}:allow"
}

@test "a launch whose kernel cannot run returns an error, and a sentence names the kernel once" {
    SIM_KERNELS=run:allow exits 0 "$PROGRAMS/nvcc_by_hand" refused
    run "$PROGRAMS/nvcc_by_hand" refused
    gave_up "a launch of the kernel image::blur was refused"
    assert_line "all as expected"
    assert_equal "$(grep -c '^simulated device: the kernel image::blur ' <<<"$output")" 1
    assert_output --partial "does not run here: its device code is of a form that is not known here"
    assert_output --partial "Its launches return cudaErrorNoKernelImageForDevice"
}

@test "a kernel runs from PTX that a program registers, also where there is no nvcc" {
    as_expected nvcc_by_hand sums "$ROOT/simulator/tests/unit/kernels/sums.ptx"
    # An unknown instruction is named.
    sed '0,/add.s32/s//frobnicate.s32/' "$ROOT/simulator/tests/unit/kernels/sums.ptx" >wrong.ptx
    run "$PROGRAMS/nvcc_by_hand" sums wrong.ptx
    assert_failure
    assert_output --partial "the kernel sums was built by nvcc and does not run here:"
    assert_output --partial 'an instruction that is not simulated ("frobnicate.s32 '
}

@test "on a processor without AVX2, and without the library for kernels: refused with the reason" {
    local copy=$BATS_TEST_TMPDIR/copy
    grep -qw avx2 /proc/cpuinfo || skip "this processor has no AVX2"
    (cd "$ROOT" && workbook_copy "$copy")
    # The copy believes that the processor lacks it. Only ptx_library.c is compiled again.
    cp -p "$copy/simulator/ptx/warp.h" warp.h
    sed -i 's/__builtin_cpu_supports(.*)/false/' "$copy/simulator/ptx/warp.h"
    touch -r warp.h "$copy/simulator/ptx/warp.h"
    touch "$copy/simulator/ptx/ptx_library.c"
    make -s -C "$copy" BACKEND=simulator simulator
    LD_LIBRARY_PATH=$copy/build/simulator run bounded "$PROGRAMS/nvcc_by_hand" sums \
        "$ROOT/simulator/tests/unit/kernels/sums.ptx"
    assert_failure
    assert_output --partial "the kernel sums was built by nvcc and does not run here: the \
simulated device was built on a machine whose processor has AVX2, which this one lacks (type make"
    # Without the library that runs kernels, in a folder with another name.
    rm "$copy/build/simulator/libptx.so"
    ln -s "$copy/build/simulator" elsewhere
    LD_LIBRARY_PATH=elsewhere run bounded "$PROGRAMS/nvcc_by_hand" sums \
        "$ROOT/simulator/tests/unit/kernels/sums.ptx"
    assert_failure
    assert_output --partial "the kernel sums was built by nvcc and does not run here: libptx.so, \
which runs kernels, is not next to the simulated device's library, or is of another build \
(type make simulator in the workbook). Its launches return cudaErrorNoKernelImageForDevice"
}

@test "variables, also __managed__ ones, and what a kernel may have of a multiprocessor" {
    all_as_expected nvcc_by_hand refused compressed sums
    run bounded "$PROGRAMS/nvcc_by_hand" managed nowhere
    assert_failure
    assert_output --partial "the __managed__ variable nowhere is not in the program's device code:"
}

@test "device code that is compressed, damaged, or in a list" {
    SIM_KERNELS=run:allow exits 0 "$PROGRAMS/nvcc_by_hand" compressed
    assert_line "all as expected"
    assert_output --partial "its compressed device code is damaged"
    assert_output --partial "it has no device code"
}

@test "an instruction of PTX gives what its ISA says, and a GPU; printf counts what it prints" {
    as_expected instructions halves
    # Many of the values race, on purpose.
    SIM_CHECK=no-race "$PROGRAMS/instructions" values >printed
    "$PROGRAMS/instructions" print >>printed
    diff "$ROOT/simulator/tests/facts/kernels-instructions.txt" printed
}

@test "SIM_KERNELS=refuse, or no PTX: a kernel that nvcc compiled gets an error, and no success" {
    cat >program.cu <<'C'
#include <cstdio>
template <class T> __global__ void set(T *a, T value) { a[threadIdx.x] = value; }
int main()
{
    int *a, here = 5;
    cudaMalloc(&a, sizeof *a);
    for (int i = 0; i < 2; i++) {
        set<<<1, 1>>>(a, 7);
        printf("%s\n", cudaGetErrorName(cudaGetLastError()));
    }
    cudaMemcpy(&here, a, sizeof here, cudaMemcpyDefault);
    printf("%d\n", here);
    cudaFree(a);
}
C
    local refused="cudaErrorNoKernelImageForDevice
cudaErrorNoKernelImageForDevice
0"
    compiled program.cu
    exits 0 ./program
    assert_output "cudaSuccess
cudaSuccess
7"
    SIM_KERNELS=refuse run bounded ./program
    gave_up "a launch of the kernel set was refused" refuse
    assert_line --partial "the kernel set was built by nvcc and does not run here: SIM_KERNELS is"
    assert_equal "$(grep -v '^simulated' <<<"$output")" "$refused"
    SIM_KERNELS=refuse:allow exits 0 ./program
    assert_equal "$(grep -v '^simulated' <<<"$output")" "$refused"
    compiled program.cu -gencode arch=compute_90,code=sm_90
    run bounded ./program
    gave_up "a launch of the kernel set was refused"
    assert_line --partial "it has machine code for GPUs and no PTX"
    assert_equal "$(grep -v '^simulated' <<<"$output")" "$refused"
}

# bats test_tags=more
@test "random kernels give on the simulated device what they give on the host" {
    local seed
    if [ -z "${TEST_LONG:-}" ]; then
        random_kernels 1 "${COUNT:-20}"
    else
        for seed in 2 3; do random_kernels "$seed" "${COUNT:-40}"; done
    fi
}

# bats test_tags=more
@test "the bytes that a kernel touches are accesses, exactly, whatever runs first" {
    kernels order
    PROGRAMS=.
    reported order two_writes "unordered writes" "set, stream 1 (s), at " \
        "/order.cu:$(sed -n '/ void set(/=' "$ROOT/simulator/tests/unit/kernels/order.cu"), by its"
    reported order write_and_read "read not ordered after a write" ", by its argument 2"
    reported order memset_behind "unordered writes"
    reported order fields "unordered writes"
    reported order atomics "unordered writes"
    reported order by_data "write not ordered after a read"
    reported order freed_behind "free before allocation" "free before the use ends."
    reported order before_allocation "use before allocation"
    reported order after_free "use after free"
    reported order outside "access outside the allocation" "touches bytes 262244 to 262247"
    reported order dependent "read not ordered after a write" \
        " may begin before set_and_trigger has ended (cudaLaunchAttribute" \
        "To do:     cudaGridDependencySynchronize() in copy_beside"
}

@test "the bytes that the threads of a warp touch are these alone, in whatever order they lie" {
    kernels shapes
    prints "504 shapes, 0 failed" ./shapes
    # Each launch touches one byte too many: the first is reported, and the others are counted.
    exits 3 ./shapes more
    assert_equal "$(grep -c '^hazard: ' <<<"$output")" 16
    assert_equal "$(grep -c 'found 55 more times: ' <<<"$output")" 16
}

@test "addresses that depend on the thread's number alone, and those that only seem to" {
    kernels sequences
    prints "210 launches, 0 failed" ./sequences
    exits 3 ./sequences far
    assert_line --partial "/sequences.cu:$(
        sed -n '/; \/\/ too far/=' "$ROOT/simulator/tests/unit/kernels/sequences.cu")"
}

# bats test_tags=long
@test "variables, kernel nodes, cooperative launches and attributes of nvcc's kernels" {
    cp "$ROOT/simulator/tests/unit/kernels/features.cu" .
    compiled features.cu
    always "$(<"$ROOT/simulator/tests/facts/kernels-features.txt")" ./program
}

# bats test_tags=long
@test "what is left after a reset: each line is what an H200 printed, and a crash is a report" {
    local number
    kernels reset
    for number in 0 1 2 5 6; do
        SIM_CHECK=off bounded ./reset "$number"
    done >printed
    diff <(grep -v ': signal' "$ROOT/simulator/tests/facts/kernels-reset.txt") printed
    for number in 3 4; do
        exits 3 ./reset "$number"
        assert_output --partial "was given an executable graph that cudaDeviceReset has ended."
    done
}

@test "halves, managed variables, calls by address and virtual functions, as on a GPU" {
    cp "$ROOT/simulator/tests/unit/kernels/variety.cu" .
    compiled variety.cu -gencode arch=compute_90,code=compute_90
    local SCHEDULES=(measured late random:3)
    always "$(<"$ROOT/simulator/tests/facts/kernels-variety.txt")" ./program
}

# bats test_tags=long
@test "x * y - z rounds once and, with nvcc -G, twice" {
    compiled program.cu -arch=compute_90 <<'C'
#include <cstdio>
__global__ void difference(float x)
{
    float rounded = __fmul_rn(x, x);
    printf("%g\n", x * x - rounded);
}
int main()
{
    difference<<<1, 1>>>(1 + 1.0f / (1 << 20));
    cudaDeviceSynchronize();
}
C
    prints "9.09495e-13" ./program
    compiled program.cu -arch=compute_90 -G
    prints "0" ./program
}

# bats test_tags=long
@test "nvcc -rdc=true: functions, variables and addresses of functions of another file" {
    cat >one.cu <<'C'
#include <cstdio>
typedef int (*function)(int);
extern __device__ int number;
extern __device__ function table[2];
__device__ int add_one(int x);
__global__ void first(int *a) { a[0] = add_one(41); a[1] = table[1](10); number = 5; }
__global__ void second(int *a);
int main()
{
    int *a, here[3];
    cudaMalloc(&a, sizeof here);
    first<<<1, 1>>>(a);
    second<<<1, 1>>>(a);
    cudaMemcpy(here, a, sizeof here, cudaMemcpyDefault);
    printf("%d %d %d\n", here[0], here[1], here[2]);
    cudaFree(a);
}
C
    cat >two.cu <<'C'
typedef int (*function)(int);
__device__ int number;
__device__ int add_one(int x) { return x + 1; }
__device__ int twice(int x) { return 2 * x; }
__device__ function table[2] = {add_one, twice};
__global__ void second(int *a) { a[2] = number; }
C
    exits 0 make -s -C "$ROOT" mine FILE="$PWD/one.cu $PWD/two.cu" FLAGS=-rdc=true
    assert_line "42 20 5"
}

# bats test_tags=long
@test "double sine and cosine, __int128 and cooperative_groups::thread_group run" {
    # The values are the C library's; a GPU's may differ in the last digit.
    cat >program.cu <<'C'
#include <cmath>
#include <cooperative_groups.h>
#include <cstdio>
namespace groups = cooperative_groups;
__global__ void values(double *out, double x, unsigned long long *wide, unsigned long long y)
{
    out[0] = sin(x);
    out[1] = cos(x);
    out[2] = tan(x);
    sincos(x, &out[3], &out[4]);
    out[5] = j0(x);
    __int128 product = (__int128)(long long)y * (long long)-y - 5;
    wide[0] = (unsigned long long)product;
    wide[1] = (unsigned long long)(product >> 64);
}
__global__ void count(int *out)
{
    groups::thread_group all = groups::this_thread_block();
    atomicAdd(out, (int)all.size() + (int)all.thread_rank());
    all.sync();
}
int main()
{
    double *out, h[6], at[] = {0.1, 3.0, -77.25, 1e5, 1e9, 1e300};
    unsigned long long *wide, w[2], y = 0xF123456789ABCDEFull;
    int *sum, wrong = 0;
    cudaMallocManaged(&sum, 4);
    cudaMalloc(&out, sizeof h);
    cudaMalloc(&wide, sizeof w);
    for (double x : at) {
        values<<<1, 1>>>(out, x, wide, y);
        cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost);
        cudaMemcpy(w, wide, sizeof w, cudaMemcpyDeviceToHost);
        double expected[] = {sin(x), cos(x), tan(x), sin(x), cos(x), j0(x)};
        for (int n = 0; n < 6; n++)
            wrong += !(fabs(h[n] - expected[n]) <= 1e-13 * (n == 2 ? fabs(expected[n]) : 1));
        __int128 product = (__int128)(long long)y * (long long)-y - 5;
        wrong += w[0] != (unsigned long long)product;
        wrong += w[1] != (unsigned long long)(product >> 64);
    }
    *sum = 0;
    count<<<1, 4>>>(sum);
    cudaDeviceSynchronize();
    printf("%d wrong, %d\n", wrong, *sum);
    cudaFree(out);
    cudaFree(wide);
    cudaFree(sum);
}
C
    local arch
    for arch in 75 90; do
        compiled program.cu -std=c++17 -arch=compute_$arch
        prints "0 wrong, 22" ./program
    done
}

# bats test_tags=long
@test "PTX of a later architecture than the device's is refused; an earlier one beside it runs" {
    compiled program.cu -arch=compute_100 <<'C'
#include <cstdio>
__global__ void later(int *a) { *a = 1; }
int main()
{
    int *a;
    cudaMalloc(&a, 4);
    later<<<1, 1>>>(a);
    printf("%s\n", cudaGetErrorName(cudaGetLastError()));
    cudaFree(a);
}
C
    run bounded ./program
    gave_up "a launch of the kernel later was refused"
    assert_line cudaErrorNoKernelImageForDevice
    assert_output --partial "its PTX is for a later architecture than that of the \
simulated device, a GPU of compute capability 9.0"
    compiled program.cu -gencode arch=compute_100,code=compute_100 \
        -gencode arch=compute_80,code=compute_80
    prints cudaSuccess ./program
}

# bats test_tags=more
@test "lessons with the kernels of kernels.cu print what they print with the library's" {
    [ -n "$NVCC" ] || skip "nvcc is not installed: lessons/kernels.cu is not compiled here"
    local lesson solutions=(02_default_pool 03_custom_pool 04_release_threshold)
    # Not 14_peer_access: a kernel of nvcc is not asked for its rights to the memory of a peer.
    [ -z "${TEST_LONG:-}" ] || solutions+=(07_statistics 20_graph_memory)
    "$NVCC" -c -I"$ROOT/lessons" "$ROOT/lessons/kernels.cu" -o kernels.o
    for lesson in "${solutions[@]}"; do
        gcc -std=c11 -I"$ROOT/lessons" -isystem "$ROOT/build/cuda/include" \
            "$ROOT/solutions/$lesson.c" kernels.o "$ROOT/build/simulator/libcudart.so.13" \
            -lstdc++ -lm -o program
        prints "$(<"$ROOT/tests/lessons/$lesson/expected/output.txt")" ./program
    done
}

# bats test_tags=long
@test "lesson 09 as a .cu file: right, reported with the calls replaced, and right again" {
    local programs=$ROOT/docs/programs
    compiled "$programs/migration_before.cu" -std=c++20 -g -lineinfo -I"$ROOT/lessons"
    prints "6 of 6 frames are correct" ./program
    sed -E 's/cudaMalloc\(&result, bytes/cudaMallocAsync(\&result, bytes, work/
        s/cudaMalloc\(&staging, bytes/cudaMallocAsync(\&staging, bytes, load/
        s/cudaFree\(result/cudaFreeAsync(result, work/
        s/cudaFree\(staging/cudaFreeAsync(staging, load/' "$programs/migration_before.cu" >mine.cu
    compiled mine.cu -std=c++20 -g -lineinfo -I"$ROOT/lessons"
    exits 3 ./program
    # The page "Run your own program" shows it.
    assert_output "$(<"$ROOT/docs/recorded/migration_replaced.txt")"
    compiled "$programs/migration.cu" -std=c++20 -I"$ROOT/lessons"
    always "6 of 6 frames are correct" ./program
}

# faulty: compiles the program of the next two tests, ./program, whose argument chooses the kernel
faulty() {
    compiled program.cu -lineinfo -Xlinker "$ROOT/build/simulator/libcuda.so.1" <<'C'
#include <cassert>
#include <cstdio>
#include <cstring>
#include <cuda.h>
__global__ void hold(volatile int *open) { while (!*open) ; }
__global__ void computes(int *a)
{
    unsigned x = 1;
    for (unsigned n = 0; n < 200000000; n++) x = (x ^ x >> 15) * 5 + 1;
    *a = x;
}
__global__ void wrong_address(int *a) { a[threadIdx.x] = *(int *)(size_t)64; }
__global__ void null(int *a) { a[blockIdx.x * 256 + threadIdx.x] = 1; }
__global__ void behind(char *a) { a[4] = 1; }
__global__ void before(int *a) { a[-7] = 1; }
__global__ void nowhere(int *a) { *a = 1; }
__global__ void of_other(int *a) { *a = 1; }
__global__ void of_pool(int *a) { *a = 1; }
__global__ void misaligned(char *a) { *(int *)(a + 1) = 1; }
__global__ void shared(int *a, int n) { __shared__ int s[4]; s[n] = 1; a[0] = s[n - 1]; }
__global__ void grown(int *a) { a[1 << 19] = a[(1 << 19) - 1] = 1; }
__global__ void adds(int *a) { a[threadIdx.x] += 1; }
__global__ void trap(int *a) { if (a) __trap(); }
__global__ void asserts(int n) { assert(n == 3 && "three"); }
__global__ void half(int *a)
{
    if (threadIdx.x < 64) __syncthreads();
    else asm volatile("bar.sync 1;");
    a[0] = 1;
}
// Memory of device 1.
static int *other(bool pooled)
{
    int *p;
    cudaSetDevice(1);
    pooled ? cudaMallocAsync(&p, 4, 0) : cudaMalloc(&p, 4);
    cudaDeviceSynchronize();
    return cudaSetDevice(0) ? nullptr : p;
}
// Two mappings, one after the other.
static int *mapped(CUmemAccess_flags access)
{
    CUmemGenericAllocationHandle m;
    CUmemAllocationProp p = {CU_MEM_ALLOCATION_TYPE_PINNED};
    CUmemAccessDesc d = {{CU_MEM_LOCATION_TYPE_DEVICE}, access};
    CUdeviceptr at;
    p.location = d.location;
    if (cuMemAddressReserve(&at, 4 << 20, 0, 0, 0)) return nullptr;
    for (int n = 0; n < 2; n++)
        if (cuMemCreate(&m, 2 << 20, &p, 0) || cuMemMap(at + n * (2 << 20), 2 << 20, 0, m, 0))
            return nullptr;
    return cuMemSetAccess(at, 4 << 20, &d, 1) ? nullptr : (int *)at;
}
int main(int argc, char **argv)
{
    int *a, *open;
    cudaMalloc(&a, 400);
    cudaMallocHost(&open, sizeof *open);
    *open = 0;
    const char *name = argv[1];
    if (!strcmp(name, "hold")) hold<<<1, 1>>>(open);
    if (!strcmp(name, "computes")) computes<<<1, 1>>>(a);
    if (!strcmp(name, "wrong_address")) wrong_address<<<1, 8>>>(a);
    if (!strcmp(name, "null")) null<<<256, 256>>>(nullptr);
    if (!strcmp(name, "behind")) behind<<<1, 1>>>((char *)open);
    if (!strcmp(name, "before")) before<<<1, 1>>>(a);
    if (!strcmp(name, "nowhere")) nowhere<<<1, 1>>>((int *)0x500000000000);
    if (!strcmp(name, "of_other")) of_other<<<1, 1>>>(other(false));
    if (!strcmp(name, "of_pool")) of_pool<<<1, 1>>>(other(true));
    if (!strcmp(name, "misaligned")) misaligned<<<1, 1>>>((char *)a);
    if (!strcmp(name, "shared")) shared<<<1, 1>>>(a, 100);
    if (!strcmp(name, "adds")) adds<<<1, 8>>>(mapped(CU_MEM_ACCESS_FLAGS_PROT_READ));
    if (!strcmp(name, "grown")) grown<<<1, 1>>>(mapped(CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
    if (!strcmp(name, "trap")) trap<<<1, 1>>>(a);
    if (!strcmp(name, "asserts")) asserts<<<2, 1>>>(4);
    if (!strcmp(name, "half")) half<<<1, 128>>>(a);
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    fflush(stdout);
}
C
}

# faulted CASE ERROR WORDS...: what ./program prints
faulted() {
    local words
    run bounded ./program "$1"
    assert_line "$2"
    for words in "${@:3}"; do assert_output --partial "$words"; done
}

# stopped CASE ERROR WORDS...: ./program prints these; the program stopped its kernel itself
stopped() {
    faulted "$@"
    assert_output --partial "of the kernel $1 (stream 0)"
    gave_up "a fault ended the kernel $1"
    SIM_KERNELS=run:allow exits 0 ./program "$1"
}

# wrong CASE KIND ERROR WORDS...: ./program is reported so, also in the file of reports
wrong() {
    SIM_REPORT=report faulted "$1" "$3" "hazard: $2. $1 (the legacy stream) " "${@:4}"
    assert_equal "$status" 3
    assert_equal "$(head -n 1 report)" "$(grep ^hazard <<<"$output")"
    assert_line --regexp "^             thread \(.*\) of block \(0,0,0\) at program.cu:[0-9]+"
    assert_line --regexp "^  To do:     [a-z]"
    refute_line "  To do:     correct what the first sentence says."
    SIM_CHECK=off run bounded ./program "$1"
    gave_up "a fault ended the kernel $1"
    refute_output --partial hazard
}

@test "what a kernel may not do ends it: a report, or where the program stopped it, a sentence" {
    faulty
    wrong wrong_address "illegal address" cudaErrorIllegalAddress \
        "read 4 bytes at 0x40, which is 64 bytes after a null pointer"
    wrong null "illegal address" cudaErrorIllegalAddress \
        "wrote 4 bytes at 0, which is a null pointer"
    wrong behind "illegal address" cudaErrorIllegalAddress "wrote 1 byte at " \
        "which is behind the 4 bytes of allocation 2, which ends before the access does." \
        "  To do:     allocate as many bytes as are used, or use fewer."
    wrong before "illegal address" cudaErrorIllegalAddress \
        "which is 28 bytes before allocation 1."
    wrong nowhere "illegal address" cudaErrorIllegalAddress "which is no memory of this program."
    wrong of_other "illegal address" cudaErrorIllegalAddress \
        "of a device that this one has no access to (cudaDeviceEnablePeerAccess)."
    wrong of_pool "illegal address" cudaErrorIllegalAddress \
        "is in a pool of a device that this one has no access to (cudaMemPoolSetAccess)."
    wrong misaligned "misaligned address" cudaErrorMisalignedAddress \
        "which is no multiple of the access's size"
    wrong shared "illegal address" cudaErrorIllegalAddress \
        "which is beyond the shared memory of its block"
    wrong adds "illegal address" cudaErrorIllegalAddress \
        "which is mapped memory that this device may only read (cuMemSetAccess)"
    # An array may have several mappings.
    run bounded ./program grown
    refute_output --partial "access outside the allocation"
    wrong half "launch failure" cudaErrorLaunchTimeout "waits at a barrier"
    stopped trap cudaErrorLaunchFailure "came to a trap"
    stopped asserts cudaErrorAssert "n == 3 && \"three\"" "failed an assertion"
}

@test "memory that is gone when a kernel runs: its allocation and its free, under all schedules" {
    compiled program.cu -g -lineinfo <<'C'
#include <cstring>
__global__ void write(int *p) { p[threadIdx.x] = 1; }
int main(int argc, char **argv)
{
    int *p;
    cudaStream_t use, other;
    cudaStreamCreateWithFlags(&use, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
    if (argc > 1 && !strcmp(argv[1], "malloc")) cudaMalloc(&p, 64 << 20);
    else if (argc > 1 && !strcmp(argv[1], "pinned")) cudaMallocHost(&p, 4096);
    else cudaMallocAsync(&p, 4096, use);
    cudaStreamSynchronize(use);
    if (argc > 1) {
        if (!strcmp(argv[1], "malloc")) cudaFree(p);
        else if (!strcmp(argv[1], "pinned")) cudaFreeHost(p);
        else { cudaFreeAsync(p, use); cudaStreamSynchronize(use); }
        write<<<1, 64, 0, use>>>(p); // after
    } else {
        for (int i = 0; i < 3; i++)
            write<<<1, 64, 0, use>>>(p); // before
        cudaFreeAsync(p, other);
        cudaStreamSynchronize(other);
    }
    cudaDeviceSynchronize();
    return 0;
}
C
    local how schedule kind line
    for how in "" async malloc pinned; do
        kind="use after free" line='// after'
        [ -n "$how" ] || kind="free before the use ends" line='// before'
        line=$(grep -nF "$line" program.cu | cut -d: -f1)
        for schedule in measured instant late random:1 random:2; do
            SIM_SCHEDULE=$schedule exits 3 ./program $how
            assert_equal "$(grep -c ^hazard <<<"$output")" 1
            assert_line --regexp "^hazard: $kind\. "
            assert_line --regexp "^  allocated  cuda.* at program.cu:[0-9]+ \(allocation "
            assert_line --regexp "^  freed      cudaFree.* at program.cu:[0-9]+$"
            assert_line --regexp "^  (used|written) +write, stream 1.* at program.cu:$line$"
            assert_line --partial "thread ("
        done
    done
}

@test "a kernel that did not run changes a status of 0 alone, also where a graph has it" {
    compiled program.cu -arch=compute_90 <<'C'
#include <cstdio>
#include <cstdlib>
__global__ void __cluster_dims__(2, 1, 1) clusters(int *a) { *a = 1; }
__global__ void __cluster_dims__(2, 1, 1) grids(int *a) { *a = 1; }
__global__ void good(int *a) { *a = 1; }
int main(int argc, char **argv)
{
    int *a, how = atoi(argv[1]), status = argc > 2 ? atoi(argv[2]) : 0;
    cudaGraph_t graph;
    cudaGraphNode_t node;
    cudaStream_t s;
    cudaMalloc(&a, 4);
    cudaStreamCreate(&s);
    cudaGraphCreate(&graph, 0);
    void *arguments[] = {&a};
    cudaKernelNodeParams p = {};
    p.func = (void *)(how == 2 ? good : grids);
    p.gridDim = p.blockDim = dim3(1);
    p.kernelParams = how == 2 ? nullptr : arguments;
    void *extra[] = {nullptr};
    if (how == 2) p.extra = extra;
    switch (how) {
    case 0: clusters<<<1, 1>>>(a); break;
    case 1:
    case 2: cudaGraphAddKernelNode(&node, graph, nullptr, 0, &p); break;
    case 3:
        cudaGraphDestroy(graph);
        cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed);
        grids<<<1, 1, 0, s>>>(a);
        cudaStreamEndCapture(s, &graph);
        break;
    case 4: cudaLaunchCooperativeKernel((void *)grids, 1, 1, arguments, 0, s); break;
    case 5: cudaMemsetAsync(a, 1, 4, s); good<<<1, 1>>>(a); break;
    case 6: good<<<1, 2000>>>(a); break;
    case 7: {
        cudaLaunchAttribute pairs = {};
        pairs.id = cudaLaunchAttributeClusterDimension;
        pairs.val.clusterDim = {2, 1, 1};
        cudaLaunchConfig_t config = {};
        config.gridDim = 2, config.blockDim = 1, config.attrs = &pairs, config.numAttrs = 1;
        cudaLaunchKernelEx(&config, good, a);
        break;
    }
    }
    if (how != 3 || graph) cudaGraphDestroy(graph);
    cudaStreamDestroy(s);
    cudaFree(a);
    return status;
}
C
    local how kernel=clusters
    for how in 0 1 3 4; do
        run bounded ./program $how
        gave_up "a launch of the kernel $kernel was refused"
        kernel=grids
        exits 7 ./program $how 7
        refute_output --partial "exit status"
    done
    run bounded ./program 2
    gave_up "a kernel node was refused"
    run bounded ./program 7
    gave_up "a launch of the kernel good was refused"
    assert_output --partial "does not run here: clusters of several blocks"
    # A kernel that ran leaves the status alone; a launch that a GPU rejects, too, is a hazard.
    prints "" ./program 5
    exits 3 ./program 6
}

# 400 million instructions pass before it is given up.
# bats test_tags=long
@test "a kernel that waits for the host ends with a sentence; a long computation goes on" {
    faulty
    stopped hold cudaErrorLaunchTimeout "reads memory again and again that nothing on the device"
    faulted computes cudaSuccess
}

@test "a report names the caller of a header, launches' streams, and short names" {
    mkdir -p include
    cat >include/held.h <<'C'
struct Held { int *p; explicit Held(size_t n) { cudaMalloc(&p, n); } ~Held() { cudaFree(p); } };
C
    compiled program.cu -g -lineinfo -Iinclude <<'C'
#include "held.h"
#include <cstdio>
struct Own {
    int *p;
    explicit Own(size_t n)
    {
        cudaMalloc(&p, n); // constructor
    }
};
struct Streams { cudaStream_t second; };
namespace cub { inline namespace CUB_300001_SM_900 { namespace detail { namespace sort {
template <typename T> __global__ void Kernel(T *p, T v) { p[threadIdx.x] = v; }
} } } }
static void launch(int *p, cudaStream_t s) { cub::detail::sort::Kernel<<<1, 32, 0, s>>>(p, 3); }
int main()
{
    Streams streams;
    cudaStream_t first, third;
    cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&streams.second, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&third, cudaStreamNonBlocking);
    Held held(1024); // held
    Own own(1024); // own
    cub::detail::sort::Kernel<<<1, 32, 0, first>>>(held.p, 1);
    cub::detail::sort::Kernel<<<1, 32, 0, streams.second>>>(held.p, 2);
    cudaMemsetAsync(own.p, 0, 128, first);
    launch(own.p, third);
    cudaDeviceSynchronize();
    return 0;
}
C
    exits 3 ./program
    assert_line --partial "  allocated  cudaMalloc, the host, at include/held.h:1, called from \
program.cu:22 (allocation 1"
    assert_line --regexp "^  allocated  cudaMalloc, the host, at program.cu:.*.allocation 2"
    assert_line --partial "  written    cub::sort::Kernel, stream 1 (first), at program.cu:24"
    assert_line --partial "cub::sort::Kernel, stream 2 (streams.second), at program.cu:25"
    assert_line --partial "cudaStreamWaitEvent(streams.second, event, 0)"
    assert_line --partial "  written    cub::sort::Kernel, stream 3 (third), at program.cu:14"
    # A source elsewhere has its path, also within the kernel.
    cd /
    run bounded "$OLDPWD/program"
    assert_line --partial ", stream 1 (first), at $OLDPWD/program.cu:24"
    assert_line --partial "thread (0,0,0) of block (0,0,0) at $OLDPWD/program.cu:12"
}

# joined: makes lines that were broken at 100 columns one again, in $output and $lines
joined() {
    output=$(sed -z 's/\n  */ /g' <<<"$output")
    mapfile -t lines <<<"$output"
}

@test "SIM_SUMMARY=on: what was checked, what was reported, what was not checked and why" {
    compiled program.cu -arch=compute_90 <<'C'
#include <cstdlib>
__global__ void good(int *a) { *a = 1; }
__global__ void __cluster_dims__(2, 1, 1) grids(int *a) { *a = 1; }
int main(int argc, char **)
{
    int *a;
    cudaStream_t s;
    cudaStreamCreate(&s);
    cudaMalloc(&a, 4);
    cudaMemset(a, 0, 4);
    good<<<1, 1>>>(a);
    if (argc > 1) grids<<<1, 1>>>(a);
    if (argc > 1) cudaFreeMipmappedArray(nullptr);
    cudaStreamDestroy(s);
    if (argc == 1) cudaFree(a);
    return 0;
}
C
    export SIM_SUMMARY=on SIM_CHECK=on SIM_REPORT=report
    exits 0 ./program
    joined
    assert_equal "${#lines[@]}" 3
    assert_line --index 0 --regexp "^simulated device: checked: [0-9]+ calls, 1 kernel, 1 copy or \
memset, 1 allocation, 1 stream, in the schedule measured\.$"
    assert_line --index 1 "simulated device: reported: no hazard."
    assert_line --index 2 --regexp "^simulated device: not checked: waits .*=strict.*other \
schedules .SIM_SCHEDULE=late or random:1., "
    assert [ ! -s report ]
    SIM_SCHEDULE=late exits 4 ./program more
    joined
    assert_line --regexp "^simulated device: checked: .* in the schedule late\.$"
    assert_line "simulated device: reported: no hazard; 1 allocation was not freed at the end."
    assert_line --regexp "^simulated device: not checked: 1 launch of a kernel that did not run to \
its end, 1 call of a function that is not simulated \(cudaFreeMipmappedArray\), 1 call that"
    assert_line --regexp "SIM_SCHEDULE=measured or random:1"
    unset SIM_SUMMARY
    run bounded ./program
    assert_output ""
}

@test "SIM_SUMMARY=on: what a fault keeps from running, and a call that fails, are not checked" {
    compiled program.cu <<'C'
#include <cstdlib>
__global__ void fill(int *a) { a[threadIdx.x] = 1; }
int main(int, char **arguments)
{
    int *a, how = atoi(arguments[1]);
    cudaMalloc(&a, 4096);
    if (how == 1) fill<<<1, 32>>>(nullptr);
    if (how == 2) fill<<<1, 2000>>>(a);
    if (how == 3) cudaMalloc(&a, size_t(1) << 50);
    fill<<<1, 32>>>(a);
    cudaMemset(a, 0, 4);
    fill<<<1, 32>>>(a);
    cudaDeviceSynchronize();
    cudaGetLastError();
    return cudaFree(a), 0;
}
C
    # With SIM_IDLE=off no fault comes early, even if the process is interrupted between two calls.
    export SIM_SUMMARY=on SIM_REPORT=report SIM_IDLE=off
    local how checked unchecked
    # shellcheck disable=SC2162 # A backslash joins two lines.
    while IFS='|' read how checked unchecked; do
        run bounded ./program "$how"
        joined
        mapfile -t lines < <(sed -E 's/ at program\+0x[0-9a-f]+//' <<<"$output")
        assert_line --partial "simulated device: checked: $checked, 1 allocation, in the"
        assert_line --partial "simulated device: not checked: $unchecked"
    done <<'CASES'
0|7 calls, 2 kernels, 1 copy or memset|waits that only
1|5 calls, 1 kernel|2 kernels, copies, and memsets that a fault kept from running, 3 calls that \
failed (cudaLaunchKernel: cudaErrorIllegalAddress, ...), waits that only
2|7 calls, 2 kernels, 1 copy or memset|1 call that failed (cudaLaunchKernel: \
cudaErrorInvalidValue), waits that only
3|4 calls, 1 kernel|1 kernel, copy, or memset that a fault kept from running, 4 calls that failed \
(cudaMalloc: cudaErrorMemoryAllocation, ...), waits that only
CASES
}

@test "what a kernel does to memory of the host is closed to the host until it has waited" {
    kernels host_side
    PROGRAMS=.
    local case
    for case in small_mapped in_two_streams; do
        reported host_side "$case" "host access not ordered after a write" \
            "  written    " "  touched    a load or store, the host, at "
    done
    reported host_side variable_read "host access not ordered after a write" \
        "  allocated  variable, of device code (allocation "
    reported host_side managed_write "host write not ordered after a read" "  read       "
    for case in by_volatile by_fence by_atomic one_flag in_managed counted other_half; do
        run bounded ./host_side "$case"
        [ "$status $output" = "0 " ] || complain "$case: status $status." "$output"
    done
    finish
}

@test "a launch that could not run is a hazard, unless the program has asked for its error" {
    kernels refused
    PROGRAMS=.
    local case
    while read -r case words; do
        reported refused "$case" "failed call" "$words"
        [ "$case" = function ] ||
            assert_line --partial "To do:     look at cudaGetLastError() after each launch."
    done <<'CASES'
threads returned cudaErrorInvalidValue and did nothing: a block has 2000 threads, and may have 1024
blocks returned cudaErrorInvalidValue and did nothing: a grid of (0,1,1) blocks of (32,1,1)
shared a block of store has 102400 bytes of shared memory, and may have 49152
function returned cudaErrorNotPermitted and did nothing: a host function must not make CUDA calls.
CASES
    # On other processors than x86-64, each result counts as looked at.
    while read -r case words; do
        prints "" ./refused ${case}_looked
        [ "$(uname -m)" = x86_64 ] || continue
        exits 3 ./refused ${case}_unseen
        assert_output --partial " did nothing: $words"
        assert_output --partial "Note:      the program has not looked at the result."
    done <<'CASES'
memset it writes bytes 0 to 4099
twice its direction
free 0x
free_host 0x
node invalid argument
malloc_to_null there is no place for the address
copy_from_null its source is a null pointer
CASES
    SIM_CHECK=on run bounded ./refused unwritten incorrect
    assert_line --partial "hazard: uninitialized read. cudaMemcpy (the legacy stream) reads"
    assert_line --partial "  failed     cudaLaunchKernel, the host, at refused"
    # A result may have been looked at, unless the program ends because of it.
    prints "" ./refused copy correct
    exits 3 ./refused copy incorrect
    assert_output --partial \
        "did nothing: it writes bytes 0 to 4099 of allocation 1, which has 4096."
}

# waiting: compiles the program of the next two tests, ./program
waiting() {
    compiled program.cu -lineinfo <<'C'
#include <cstdio>
#include <cstring>
#define BLOCKS 1024 // more than the device has multiprocessors
__device__ unsigned arrived;
__device__ int lock, other;
__device__ volatile int *flags;
__global__ void lanes(int *a)
{
    while (atomicCAS(&lock, 0, 1)) ;
    *(volatile int *)a += 1;
    __threadfence();
    atomicExch(&lock, 0);
}
__global__ void two_locks(int *a)
{
    int *mine = threadIdx.x % 2 ? &lock : &other;
    while (atomicCAS(mine, 0, 1)) ;
    atomicAdd(a, 1);
    __threadfence();
    atomicExch(mine, 0);
}
__global__ void barrier(int *a)
{
    if (!threadIdx.x) {
        atomicAdd(&arrived, 1u);
        while (*(volatile unsigned *)&arrived < gridDim.x) ;
    }
    __syncthreads();
    atomicAdd(a, 1);
}
__global__ void backward(int *a, volatile int *flag)
{
    if (blockIdx.x + 1 < gridDim.x) while (!flag[blockIdx.x + 1]) ;
    atomicAdd(a, 1);
    __threadfence();
    flag[blockIdx.x] = 1;
}
__global__ void for_ever(int *a)
{
    for (;;) atomicAdd(a, 1);
}
int main(int argc, char **argv)
{
    int *a, *flag, h;
    cudaMalloc(&a, 4);
    cudaMalloc(&flag, 4 * 128);
    cudaMemset(a, 0, 4);
    cudaMemset(flag, 0, 4 * 128);
    if (!strcmp(argv[1], "lanes")) lanes<<<BLOCKS / 64, 64>>>(a);
    if (!strcmp(argv[1], "two_locks")) two_locks<<<BLOCKS / 64, 64>>>(a);
    if (!strcmp(argv[1], "barrier")) barrier<<<BLOCKS, 1>>>(a);
    if (!strcmp(argv[1], "backward")) backward<<<128, 8>>>(a, flag);
    if (!strcmp(argv[1], "for_ever")) for_ever<<<1, 1>>>(a);
    cudaMemcpy(&h, a, 4, cudaMemcpyDeviceToHost);
    printf("%d\n", h);
    cudaFree(a);
    cudaFree(flag);
}
C
}

@test "threads of a warp that wait for each other go on, and so do blocks of a launch, soon" {
    waiting
    local kernel schedule
    for kernel in lanes two_locks barrier backward; do
        for schedule in measured random:3; do
            # A block that waits for 127 others took some 0.3 s for each.
            SIM_SCHEDULE=$schedule run bash -c 'ulimit -t 5; exec ./program "$1"' - $kernel
            assert_success
            assert_output 1024
        done
    done
}

# bats test_tags=long
@test "a kernel that never ends is named after ten seconds, with a line in it" {
    waiting
    run timeout 20 ./program for_ever
    assert_equal "$status" 124
    assert_equal "${#lines[@]}" 1
    assert_output --regexp "the kernel for_ever \(stream 0\) still runs after ten seconds. Thread \
\(0,0,0\) of block \(0,0,0\) is at program.cu:$(grep -n 'for (;;)' program.cu | cut -d: -f1)\."
}

@test "a warp's products of matrices (wmma): f16, bf16, tf32, f64, s8, each shape and layout" {
    kernels matrices
    prints "112 products, 0 wrong" ./matrices
    # Half a warp cannot load a matrix.
    compiled half.cu -arch=compute_90 <<'END'
#include <cuda_fp16.h>
#include <mma.h>
#include <cstdio>
using namespace nvcuda;
__global__ void part(const half *a, float *d)
{
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> f;
    if (threadIdx.x < 16)
        wmma::load_matrix_sync(f, a, 16);
    d[threadIdx.x] = f.x[0];
}
int main()
{
    half *a;
    cudaMalloc(&a, 4096);
    cudaMemset(a, 0, 4096);
    part<<<1, 32>>>(a, (float *)a + 512);
    puts(cudaGetErrorName(cudaDeviceSynchronize()));
}
END
    exits 3 ./program
    assert_line "cudaErrorLaunchTimeout"
}

# bats test_tags=more
@test "arrays, textures, and surfaces: each line is what a GPU printed" {
    local schedule name
    kernels textures texture_words
    for name in textures texture_words; do
        for schedule in "${SCHEDULES[@]}"; do
            # The last case of textures.cu loses the device.
            SIM_SCHEDULE=$schedule SIM_CHECK=off bounded "./$name" errors 2>/dev/null >printed ||
                true
            diff "$ROOT/simulator/tests/facts/kernels-$name.txt" printed ||
                complain "Under the schedule $schedule these lines of $name.cu differ (< recorded)."
        done
    done
    finish
}

# mistaken CASE WORDS: ./program is reported in these words
mistaken() {
    exits 3 ./program "$1"
    assert_output --partial "$2"
}

# bats test_tags=more
@test "order, values, and lifetime of an array are checked where a kernel reads it as a texture" {
    local schedule name
    cp "$ROOT/simulator/tests/unit/kernels/misused_textures.cu" .
    compiled misused_textures.cu -std=c++17 -arch=compute_90 -g -lineinfo
    for schedule in "${SCHEDULES[@]}"; do
        export SIM_CHECK=leaks SIM_SCHEDULE=$schedule
        for name in right pending apart; do
            prints "cudaSuccess" ./program $name
        done
        mistaken order "hazard: read not ordered after a write. fetch (stream 2) and \
cudaMemcpy2DToArrayAsync (stream 1) touch the same bytes of allocation 3"
        # The line is the program's, and not that of the toolkit's header. With a seed, the warps'
        # order depends on how long the host was away, too.
        assert_output --regexp "first by thread \((0|32),0,0\) of block \(0,0,0\) at \
misused_textures.cu:$(grep -n 'tex2D<' misused_textures.cu | cut -d: -f1)"
        mistaken second "hazard: read not ordered after a write. fetch (stream 2) and \
cudaMemcpy2DToArrayAsync (stream 1) touch the same bytes of allocation 3"
        mistaken unwritten "hazard: uninitialized read. fetch (stream 2) reads bytes 0 to 3 of"
        mistaken freed "hazard: use after free. fetch (stream 2) reads allocation 3, which \
cudaFreeArray (the host) has freed."
        mistaken surface "hazard: read not ordered after a write. cudaMemcpy2DFromArrayAsync \
(stream 1) and put (stream 2) touch the same bytes"
        mistaken outside "hazard: illegal address. put (stream 2) is outside of its surface"
        mistaken destroyed "hazard: illegal address. fetch (stream 2) uses what is no texture"
        mistaken leak "hazard: leak. allocation 3 is still alive at the end of the program."
        assert_output --partial "call cudaFreeArray."
    done
}

# bats test_tags=more
@test "malloc, free, new, and delete in kernels: memory outlives its kernel, and has a limit" {
    local name
    kernels heap
    mv heap program
    always "0 wrong" ./program
    export SIM_CHECK=on
    mistaken beyond "reads 4 bytes at an address of the device where nothing is allocated."
    mistaken freed "which a thread of the kernel has given to free."
    for name in twice inside foreign; do
        mistaken "$name" "gave free an address that malloc of a kernel has not returned, or that is"
    done
    mistaken unwritten "hazard: uninitialized read."
}

@test "kernels launch kernels, in the order of their streams, and the checker sees into these" {
    local schedule name
    kernels launches
    for schedule in "${SCHEDULES[@]}" random:4; do
        SIM_CHECK=on SIM_SCHEDULE=$schedule exits 0 ./launches
        assert_line "0 wrong"
        for name in out_of_bounds race unwritten streams reads_after writes_after of_two_blocks \
            in_two_streams; do
            SIM_CHECK=on SIM_SCHEDULE=$schedule prints "0 wrong" ./launches $name
            SIM_CHECK=on SIM_SCHEDULE=$schedule exits 3 ./launches $name incorrect
            assert_line --regexp " of block \([01],0,0\) of [a-z]+ at .*launches.cu:[0-9]+"
        done
    done
    assert_output --partial "hazard: race between blocks. Two grids that a kernel of two_streams ("
    SIM_CHECK=on run bounded ./launches streams incorrect
    assert_output --partial "hazard: unordered writes. launch_touching (stream 2) and launch_"
    SIM_CHECK=on run bounded ./launches writes_after incorrect
    assert_line --partial "hazard: race between blocks. A kernel of write_after (the legacy \
stream) touches bytes of allocation 2 after it has launched touching, which touches them, too"
    SIM_CHECK=no-race exits 0 ./launches writes_after incorrect
    for name in reads_behind writes_behind; do
        SIM_CHECK=on run bounded ./launches $name
        assert_output "0 wrong"
        SIM_CHECK=on run bounded ./launches $name incorrect
        assert_line --regexp \
            "hazard: race between blocks\. Two blocks of (shared|written)_behind \("
    done
    SIM_CHECK=on exits 0 ./launches unasked
    SIM_CHECK=on exits 3 ./launches unasked incorrect
    assert_line "hazard: failed call. A kernel of launch_much launches touching, by thread 0 of \
block 0 of launch_much, which fails with cudaErrorInvalidConfiguration and does nothing: a block \
has 1025 threads, and may have 1024."
}

@test "what the device runtime answers kernels: each line is what an H200 printed" {
    local number
    kernels launch_answers
    # How many of 65,536 launches find room depends on time (15).
    for number in {0..14} {16..20}; do
        SIM_CHECK=off bounded ./launch_answers "$number"
    done >printed 2>/dev/null
    diff <(grep -v '^15:' "$ROOT/simulator/tests/facts/kernels-launch_answers.txt") printed
}

@test "with SIM_FILL shared memory and malloc in a kernel have that byte" {
    compiled filled.cu -arch=compute_80 <<'END'
#include <cstdio>
__global__ void look(unsigned *found)
{
    __shared__ unsigned s[32];
    volatile unsigned *v = s, *p = (unsigned *)malloc(64);
    found[2 * blockIdx.x] = v[threadIdx.x];
    found[2 * blockIdx.x + 1] = p[threadIdx.x];
    free((void *)p);
}
int main()
{
    unsigned *found, host[4];
    cudaMalloc(&found, sizeof host);
    look<<<2, 1>>>(found);
    cudaMemcpy(host, found, sizeof host, cudaMemcpyDeviceToHost);
    printf("%x %x %x %x\n", host[0], host[1], host[2], host[3]);
    return cudaFree(found);
}
END
    SIM_CHECK=no-init SIM_FILL=205 prints "cdcdcdcd cdcdcdcd cdcdcdcd cdcdcdcd" ./program
}

# bats test_tags=more
@test "conditional nodes run what kernels choose, and the checker sees into their bodies" {
    local schedule name
    kernels conditional
    for schedule in "${SCHEDULES[@]}"; do
        SIM_SCHEDULE=$schedule exits 0 ./conditional
        assert_output "$(cat "$ROOT/simulator/tests/facts/kernels-conditional.txt")"
        for name in body beside after of_condition; do
            SIM_CHECK=on SIM_SCHEDULE=$schedule prints "0 wrong" ./conditional $name
            SIM_CHECK=on SIM_SCHEDULE=$schedule exits 3 ./conditional $name incorrect
            case $name in
            of_condition)
                assert_output --partial "hazard: read not ordered after a write. cudaGraphAddNode ("
                assert_line --partial "allocated  cudaGraphConditionalHandleCreate, the host, at"
                ;;
            *) assert_output --partial "hazard: unordered writes. add (" ;;
            esac
        done
    done
    grep -q 'CONDITIONAL.nIF, handle 0x[0-9a-f]*, bodies graph_' conditional.dot
}

# bats test_tags=more
@test "a WHILE node that never ends, a condition without a value, and a wrong handle are named" {
    local name
    kernels conditional
    for name in endless ${TEST_LONG:+endless_kernel}; do
        exits 3 ./conditional $name
        assert_output --partial "hazard: waiting forever. The body of a WHILE node has run"
    done
    exits 0 ./conditional no_value
    assert_output --partial "no kernel of this launch has set the condition of a conditional node"
    SIM_CHECK=on exits 3 ./conditional no_handle
    assert_output --partial "gave cudaGraphSetConditional what is no handle of a condition"
}

# bats test_tags=long
@test "barriers in shared memory (mbarrier, cuda::barrier) order what a block does" {
    kernels barriers
    always "cudaSuccess, 0 wrong" ./barriers
    # Without one of its barriers, two threads of a kernel race.
    SIM_CHECK=on exits 3 ./barriers left-out
    assert_output --partial "hazard: race in a block. Two threads of rotate"
}
