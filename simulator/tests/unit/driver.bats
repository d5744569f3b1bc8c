#!/usr/bin/env bats
# libcuda.so.1: the driver API of the simulated device, which is the same library under another
# name.

load ../../../tests/suite
load programs

setup_file() {
    make -s BACKEND=simulator build/simulator/simulator/tests/unit/driver{,_arrays,_virtual} \
        build/simulator/simulator/tests/facts/probe-{driver,owner}
}

SUMS=$ROOT/simulator/tests/unit/kernels/sums.ptx

# ended STATUS CASE [ARGUMENT...]: a case of driver.c
ended() {
    run bounded "$PROGRAMS/driver" "${@:2}"
    assert_equal "$status" "$1"
}

@test "driver API: devices, contexts, attributes, arrays, textures, and functions by name" {
    all_as_expected driver errors failing refused modules race unloaded machine_code \
        static_runtime fft_library
    all_as_expected driver_arrays refused destroyed
}

# virtual STATUS CASE: a case of driver_virtual.c, under every schedule
virtual() {
    local schedule
    for schedule in "${SCHEDULES[@]}"; do
        SIM_SCHEDULE=$schedule run bounded "$PROGRAMS/driver_virtual" "$2"
        [ "$status" = "$1" ] ||
            miss "driver_virtual $2, $schedule: exit status $status, not $1." "$output" || return
    done
}

@test "driver API: virtual memory is mapped, used, seen at two places, unmapped, and mapped anew" {
    virtual 0 used
    assert_output 7
}

@test "driver API: uses of virtual memory that is not mapped or not open: reported" {
    virtual 3 after_unmapping
    assert_output --regexp "hazard: use after free\. launch_fill .* which cuMemUnmap .* has freed"
    assert_line --partial "is a reserved address where nothing is mapped (cuMemMap)"
    virtual 3 unmapped_in_use
    assert_output --regexp "hazard: free before the use ends\. cuMemUnmap .* launch_fill"
    assert_line --partial "cuMemUnmap waits for no work, which fails then, and the device with it."
    virtual 3 given_back_in_use
    assert_output --partial "illegal address: cuMemsetD8Async (stream 1) touched"
    assert_line 700
    virtual 3 without_access
    assert_output --partial \
        "is mapped memory that this device has no access to (cuMemSetAccess)"
    SIM_CHECK=leaks virtual 3 not_unmapped
    assert_output --partial "To do:     call cuMemUnmap."
}

@test "driver API: mappings side by side are used as one, of two devices, too, and for reading" {
    SIM_DEVICES=2 virtual 0 two_devices
    assert_output "1010101 1010102, devices 0 1
1"
    virtual 3 unordered_beyond
    assert_output --partial "cuMemMap"
    assert_output --partial "hazard: unordered writes. cudaMemsetAsync"
}

@test "driver API: uses of the same memory at two addresses that nothing orders: reported" {
    virtual 0 two_addresses
    assert_output ""
    virtual 0 two_handles
    local case
    for case in two_addresses_unordered two_handles_unordered; do
        virtual 3 $case
        assert_output --partial "hazard: unordered writes. launch_add (stream 2) and launch_fill ("
        assert_line --partial "cuMemMap has mapped the same memory at two addresses"
    done
}

@test "driver API: what of virtual memory is not simulated is refused in a sentence" {
    virtual 0 refused
    assert_equal "$(grep -c '^801$' <<<"$output")" 2
    assert_line --partial "cuMemCreate: memory of the host is not simulated: it returns"
    assert_line --partial "an alignment of more than 32 MiB is not simulated: it returns"
}

@test "driver API: of arrays and textures, each thing that is not simulated has a sentence" {
    local device="simulated device:" what
    local says=" not simulated: it returns CUDA_ERROR_NOT_SUPPORTED."
    exits 0 "$PROGRAMS/driver_arrays" refused
    assert_line "$device cuArray3DCreate: arrays of compressed and normalized formats and of those \
of videos (here 0x91) are$says"
    assert_line "$device cuArray3DCreate: sparse arrays and arrays whose memory is mapped later \
are$says"
    for what in "a texture with views of resources is" "a texture with sRGB conversion is" \
        "textures of mipmapped arrays are"; do
        assert_line "$device cuTexObjectCreate: $what$says"
    done
    for what in cuMipmappedArrayCreate cuModuleGetTexRef; do
        assert_line --partial "$what is not simulated: it returns CUDA_ERROR_NOT_SUPPORTED."
    done
    exits 3 "$PROGRAMS/driver_arrays" destroyed
    assert_line --partial "cuTexObjectDestroy was given a texture object that is destroyed."
    assert_line --partial "To do:     call cuTexObjectDestroy after its last use."
}

@test "driver API: its errors, and a function that is not simulated says so" {
    ended 0 errors
    assert_line --partial \
        "cuMipmappedArrayDestroy is not simulated: it returns CUDA_ERROR_NOT_SUPPORTED."
    assert_line "all as expected"
    SIM_FAIL=cuMemAlloc:2 ended 0 failing
    assert_output "all as expected"
    ended 1 failing
}

@test "driver API: a refused call whose result nobody looks at is reported by the driver's name" {
    ended 3 refused
    assert_line --partial "cuMemAlloc returned CUDA_ERROR_INVALID_VALUE and did nothing"
    assert_line --partial "called     cuMemAlloc, the host, at"
    SIM_SUMMARY=on ended 0 errors
    assert_output --regexp "cuMemAlloc at [^ ]+driver.c:[0-9]+:\s+CUDA_ERROR_INVALID_VALUE\)"
}

@test "driver API: kernels of a PTX module run, launched with pointers or one buffer" {
    ended 0 modules "$SUMS"
    assert_line --partial "it is no PTX, for it lacks .version or .target"
    assert_line --partial "its PTX is for a later architecture than that of the simulated device"
    assert_line "all as expected"
}

@test "driver API: accesses that nothing orders are reported by the driver's names" {
    cd "$ROOT" || return 1 # The source has the names of the streams.
    ended 3 race "$SUMS"
    assert_line --partial "sums (stream 2) and cuMemcpyHtoDAsync (stream 1) touch the same bytes"
    assert_line --partial "allocated  cuMemAlloc, the host, at"
    assert_line --partial "To do:     cuEventRecord(event, load) after cuMemcpyHtoDAsync ("
    assert_line --partial "            cuStreamWaitEvent(work, event, 0) before sums ("
    refute_output --partial cuda
    as_expected driver race "$SUMS" ordered
}

@test "driver API: a module's variable ends with the module" {
    for SIM_SCHEDULE in "${SCHEDULES[@]}"; do
        export SIM_SCHEDULE
        ended 3 unloaded
        assert_line --partial "hazard: use after free. cuMemcpyDtoH (the legacy stream) reads"
        assert_line --regexp "freed +cuModuleUnload, the host, at .*driver.c:[0-9]+"
    done
    as_expected driver unloaded "" ordered
}

# bats test_tags=long
@test "driver API: the address sanitizer finds no lost memory of modules" {
    make_sanitized address,undefined libptx.so simulator/tests/unit/driver
    PROGRAMS=$ROOT/build/simulator-address-undefined/simulator/tests/unit
    as_expected driver race "$SUMS" ordered
    as_expected driver unloaded "" ordered
}

@test "driver API: machine code, NVIDIA's static runtime, and cuFFT: a sentence and status 4" {
    ended 4 machine_code
    assert_line --partial "it is machine code for a GPU (a cubin), and only PTX runs here"
    ended 4 static_runtime
    assert_line --partial "which is nvcc's default, build with nvcc -cudart shared."
    assert_equal "$(grep -c 'nvcc -cudart shared' <<<"$output")" 1
    ended 4 fft_library
    assert_line --partial "If a library of NVIDIA asks (cuBLAS, cuFFT, ...), that"
}

@test "a program linked with the driver's library alone finds the simulated device by that name" {
    # A library without code stands in for the toolkit's stub.
    echo 'int cuInit(unsigned flags) { return (int)flags; }' >stub.c
    gcc -shared -Wl,-soname,libcuda.so.1 stub.c -o libcuda.so
    cat >program.c <<'END'
#include <stdio.h>
int cuInit(unsigned flags);
int main(void) { return printf("%d %d\n", cuInit(0), cuInit(7)) < 0; }
END
    gcc program.c -L. -lcuda -o program
    run ldd program
    assert_line --partial "libcuda.so.1 => $ROOT/build/simulator/libcuda.so.1"
    prints "0 1" ./program
    run make -s -C "$ROOT" mine FILE="$PWD/program"
    assert_success
    assert_line "0 1"
}

@test "a program that leaves the folder of a relative LD_LIBRARY_PATH can load a module" {
    cat >program.c <<'END'
#include <cuda.h>
#include <unistd.h>
int main(void)
{
    CUcontext context;
    CUmodule module;
    CUfunction function;
    return cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context)
        || chdir("/") || cuModuleLoadData(&module, ".version 7.0\n.target sm_70\n"
                ".address_size 64\n.visible .entry empty() { ret; }")
        || cuModuleGetFunction(&function, module, "empty")
        || cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL) || cuCtxSynchronize();
}
END
    gcc program.c -isystem "$ROOT/build/cuda/include" "$ROOT/build/simulator/libcuda.so.1" \
        -o program
    ln -s "$ROOT/build/simulator" libraries
    LD_LIBRARY_PATH=libraries exits 0 ./program
}

@test "a program linked with NVRTC gets PTX where it asks for machine code, which cannot run" {
    # A library of two sizes and two texts stands in for NVRTC.
    cat >nvrtc.c <<'END'
#include <stddef.h>
#include <string.h>
int nvrtcVersion(void) { return 13; }
int nvrtcGetPTXSize(void *p, size_t *n) { return *n = 4, p != NULL; }
int nvrtcGetPTX(void *p, char *text) { return strcpy(text, "PTX"), p != NULL; }
int nvrtcGetCUBINSize(void *p, size_t *n) { return *n = 100, p != NULL; }
int nvrtcGetCUBIN(void *p, char *image) { return memset(image, 7, 100), p != NULL; }
END
    echo 'libnvrtc.so.13 { *; };' >nvrtc.map
    gcc -shared -fPIC -Wl,-soname,libnvrtc.so.13,--version-script=nvrtc.map nvrtc.c \
        -o libnvrtc.so.13
    ln -s libnvrtc.so.13 libnvrtc.so
    cat >program.c <<'END'
#include <stdio.h>
int nvrtcGetCUBINSize(void *, size_t *), nvrtcGetCUBIN(void *, char *), nvrtcVersion(void);
int main(void)
{
    char image[100];
    size_t n;
    int first = nvrtcGetCUBINSize(NULL, &n), second = nvrtcGetCUBIN(image, image);
    printf("%d: %d %zu, %d %s\n", nvrtcVersion(), first, n, second, image);
}
END
    gcc program.c "$ROOT/build/simulator/libcudart.so.13" -L. -lnvrtc -lm -Wl,-rpath,"$PWD" \
        -o program
    LD_LIBRARY_PATH=$ROOT/build/simulator prints "13: 0 4, 1 PTX" ./program
}

@test "nvcc's default, the static runtime: the sentence says how to build instead" {
    [ -n "$NVCC" ] || skip "nvcc is not installed"
    cat >program.cu <<'END'
#include <cstdio>
int main()
{
    void *p;
    puts(cudaMalloc(&p, 4) ? "failed" : "allocated");
}
END
    "$NVCC" program.cu -o program
    exits 4 ./program
    assert_line "failed"
    assert_line --partial "build with nvcc -cudart shared"
}

@test "probe: what the driver API tells of an address is what a GPU's told" {
    local one
    SIM_CHECK=off "$FACTS/probe-owner" >owner
    diff "$ROOT/simulator/tests/facts/probe-owner.txt" owner
    # DMA-BUF descriptors are not simulated. For managed memory of a pool a driver dies there.
    one='/DMA-BUF descriptor/d; /^== of_managed_pool/,/^rc/{/cuIpcGetMemHandle/d; /^end/d; /^rc/d}'
    SIM_CHECK=off "$FACTS/probe-driver" 2>stderr | sed "$one" >asked
    sed "$one" "$ROOT/simulator/tests/facts/probe-driver.txt" | diff - asked
    run cat stderr
    assert_line --partial "cuMemGetHandleForAddressRange is not simulated"
}

@test "cuGetProcAddress has the versions of the toolkit's cudaTypedefs.h" {
    local typedefs=$ROOT/build/cuda/include/cudaTypedefs.h
    [ -e "$typedefs" ] || skip "the headers here have no cudaTypedefs.h"
    # Each NAME VERSION of the table is a type of the header.
    sed -nE 's/^(TWIN|OWN|OTHER)\((cu\w+), \w*, ([0-9]+)[,)].*/\2 \3/p' \
        "$ROOT/simulator/api/driver_calls.def" | sort -u >table
    grep -oE 'PFN_cu\w+_v[0-9]+' "$typedefs" | sed -E 's/PFN_(.*)_v([0-9]+)/\1 \2/' | sort -u >types
    run comm -23 table types
    assert_output "$(printf '%s\n' 'cuProfilerStart 4000' 'cuProfilerStop 4000')"
}
