#!/usr/bin/env bats
# The set-up script on machines that lack something. Each machine is a PATH of links and stubs, and
# a SETUP_ROOT with nothing in it.

# bats file_tags=long
load ../tools/helpers

TOOLS=(awk basename bash cat cut dirname env grep head ln mkdir mv realpath rm sed sort touch true)

setup() {
    machine=$BATS_TEST_TMPDIR/machine
    bin=$machine/bin
    calls=$machine/calls
    mkdir -p "$bin" "$machine/root" "$machine/copy/tests/tools"
    : >"$calls"
    cp tests/tools/setup.sh tests/tools/cuda-headers.txt "$machine/copy/tests/tools"
    for tool in "${TOOLS[@]}"; do ln -s "$(type -P "$tool")" "$bin/$tool"; done
    stub id 'echo "${STUB_USER:-1000}"'
}

# stub NAME BODY: a command of the machine, which writes each call of it down
stub() {
    rm -f "$bin/$1"
    printf '%s\n' '#!/bin/bash' "echo \"$1 \$*\" >>'$calls'" "$2" >"$bin/$1"
    chmod +x "$bin/$1"
}

toolkit() { # toolkit FOLDER VERSION: headers, as far as the script looks at them
    mkdir -p "$1/include/crt"
    echo "#define CUDART_VERSION  $2" >"$1/include/cuda_runtime_api.h"
    touch "$1/include/crt/host_defines.h"
}

compiler() { ln -sf "$(type -P gcc)" "$bin/gcc"; }

# A pip that gives headers, or not: python NAME
python() {
    # shellcheck disable=SC2016
    stub python3 '
case "$*" in
*"pip --version"*) exit 0 ;;
*"pip install"*)
    [ -z "$NO_NETWORK" ] || {
        echo "ERROR: Could not find a version that satisfies the requirement"
        exit 1
    }
    include=build/cuda/arriving/nvidia/cu13/include
    mkdir -p $include/crt
    echo "#define CUDART_VERSION  13000" >$include/cuda_runtime_api.h
    : >$include/crt/host_defines.h ;;
esac'
}

set_up() { # set_up [NAME=VALUE...] COMMAND
    run env -i PATH="$bin" HOME="$machine" SETUP_ROOT="$machine/root" "${@:1:$#-1}" \
        "$machine/copy/tests/tools/setup.sh" "${!#}" 3>&- 4>&-
}

@test "nothing there, no rights: one line to type has it all" {
    stub apt-get ''
    set_up build
    assert_failure
    assert_line "    sudo apt-get install -y --no-install-recommends gcc libc6-dev python3-venv"
    set_up test
    assert_line "    sudo apt-get install -y --no-install-recommends gcc libc6-dev bats \
bats-support bats-assert bats-file jq parallel python3 patch python3-venv"
}

@test "no compiler, no rights: the line to type, and nothing is tried" {
    stub apt-get ''
    toolkit "$machine/root/usr/local/cuda" 13000
    set_up build
    assert_failure
    assert_line "Missing: gcc libc6-dev. Type this, then run make again:"
    assert_line "    sudo apt-get install -y --no-install-recommends gcc libc6-dev"
    run grep -v '^id' "$calls"
    assert_output ""
}

@test "no test tools, no rights: the line names them all, and make run does not require them" {
    stub apt-get ''
    compiler
    toolkit "$machine/root/usr/local/cuda" 13000
    set_up test
    assert_failure
    assert_line "    sudo apt-get install -y --no-install-recommends bats bats-support bats-assert\
 bats-file jq parallel python3 patch"
    set_up build
    assert_success
    assert_output ""
}

@test "make live without emcc, no rights: the line to type; with it, its place is noted" {
    compiler
    stub apt-get ''
    set_up live
    assert_failure
    assert_line "    sudo apt-get install -y --no-install-recommends emscripten"
    stub emcc ''
    set_up live
    assert_success
    assert_output ""
    assert_equal "$(<"$machine/copy/build/live/emcc")" "$bin/emcc"
}

@test "as root, what is missing is installed, once" {
    stub apt-get "case \$1 in install) ln -s $(type -P gcc) $bin/gcc ;; esac"
    toolkit "$machine/root/usr/local/cuda" 13000
    set_up STUB_USER=0 build
    assert_success
    assert_output --partial "Installing: apt-get install -y --no-install-recommends gcc libc6-dev"
    assert_equal "$(grep -c '^apt-get install' "$calls")" 1
    : >"$calls"
    set_up STUB_USER=0 build
    assert_success
    assert_output ""
    assert_equal "$(cat "$calls")" ""
}

@test "with sudo that requires no password, it is used" {
    stub apt-get "case \$1 in install) ln -s $(type -P gcc) $bin/gcc ;; esac"
    # shellcheck disable=SC2016
    stub sudo '[ "$1" != -n ] || shift; exec "$@"'
    toolkit "$machine/root/opt/cuda" 13010
    set_up build
    assert_success
    assert_equal "$(grep -c '^sudo apt-get install' "$calls")" 1
}

@test "an apt-get that fails, or does not help, or is not there: a sentence" {
    toolkit "$machine/root/usr/local/cuda" 13000
    stub apt-get 'echo "E: Failed to fetch http://example.org"; exit 100'
    set_up STUB_USER=0 build
    assert_failure
    assert_output --partial "E: Failed to fetch"
    assert_output --partial "could not be installed"
    stub apt-get ''
    set_up STUB_USER=0 build
    assert_failure
    assert_output --partial "still missing: gcc"
    rm "$bin/apt-get"
    set_up STUB_USER=0 build
    assert_failure
    assert_output --partial "Missing: gcc libc6-dev (these are Debian's names)"
}

@test "moreutils' parallel is not GNU parallel" {
    compiler
    toolkit "$machine/root/usr/local/cuda" 13000
    stub apt-get ''
    stub parallel ''
    set_up test
    assert_failure
    assert_output --partial " parallel"
}

@test "headers are taken from CUDA_HOME, from the folder of nvcc, from the usual folders" {
    compiler
    toolkit "$machine/mine" 13020
    set_up CUDA_HOME="$machine/mine" build
    assert_success
    assert_equal "$(cat "$machine/copy/build/cuda/found")" "$machine/mine/include"

    toolkit "$machine/other" 13000
    mkdir "$machine/other/bin"
    printf '#!/bin/bash\n' >"$machine/other/bin/nvcc"
    chmod +x "$machine/other/bin/nvcc"
    ln -s "$machine/other/bin/nvcc" "$bin/nvcc"
    set_up build
    assert_success
    assert_equal "$(cat "$machine/copy/build/cuda/found")" "$machine/other/include"

    rm "$bin/nvcc"
    rm -r "$machine/copy/build"
    toolkit "$machine/root/usr/local/cuda-13.1" 13010
    set_up build
    assert_success
    assert_equal "$(cat "$machine/copy/build/cuda/found")" \
        "$machine/root/usr/local/cuda-13.1/include"
}

@test "a CUDA_HOME without headers is an error that names it, also when all was found before" {
    compiler
    toolkit "$machine/root/usr/local/cuda" 13000
    set_up build
    assert_success
    set_up CUDA_HOME=/not/there build
    assert_failure
    assert_output --partial "CUDA_HOME is /not/there"
    assert_output --partial "unset it"
}

@test "no headers: they are fetched, once" {
    compiler
    python
    set_up build
    assert_success
    assert_output --partial "Fetching the CUDA 13.0 headers"
    assert_equal "$(cat "$machine/copy/build/cuda/found")" \
        "$(realpath "$machine/copy")/build/cuda/wheel/nvidia/cu13/include"
    grep -q -- '--require-hashes' "$calls"
    : >"$calls"
    set_up build
    assert_success
    assert_output ""
    assert_equal "$(cat "$calls")" ""
}

@test "an older toolkit, or one without crt/, is named and passed over" {
    compiler
    python
    toolkit "$machine/root/usr" 11080
    set_up build
    assert_success
    assert_output --partial \
        "The CUDA headers in $machine/root/usr/include (CUDART_VERSION 11080) cannot be"
    assert_output --partial "Fetching"
    rm -r "$machine/copy/build" "$machine/root/usr/include"
    toolkit "$machine/root/opt/cuda" 13000
    rm -r "$machine/root/opt/cuda/include/crt"
    set_up build
    assert_success
    assert_output --partial "$machine/root/opt/cuda/include (CUDART_VERSION 13000) cannot be"
    assert_output --partial "Fetching"
}

@test "no headers and no network: a sentence, and the next call tries again" {
    compiler
    python
    set_up NO_NETWORK=1 build
    assert_failure
    assert_output --partial "There are no CUDA 13 headers on this machine"
    assert_output --partial "set CUDA_HOME"
    assert_file_not_exists "$machine/copy/build/cuda/wheel"
    assert_file_not_exists "$machine/copy/build/cuda/found"
    set_up build
    assert_success
}

@test "no headers, no pip, no venv, no rights: the line to type" {
    compiler
    stub apt-get ''
    stub python3 'exit 1'
    set_up build
    assert_failure
    assert_line "    sudo apt-get install -y --no-install-recommends python3-venv"
}

@test "the fetched wheels are pinned, each with the hashes of two machines" {
    assert_equal "$(grep -c '^nvidia[a-z-]*==13\.0\.[0-9]* ' tests/tools/cuda-headers.txt)" 2
    assert_equal "$(grep -c -- '--hash=sha256:[0-9a-f]\{64\}' tests/tools/cuda-headers.txt)" 4
}

@test "the compiler takes every CUDA header from the one folder that was found" {
    local header rules=$BATS_TEST_TMPDIR/rules sources
    sources=(lessons/*.h solutions/*.c simulator/*/*.c)
    gcc -std=c11 -D_GNU_SOURCE= -Ilessons -Isimulator -Ibuild/simulator \
        -isystem build/cuda/include -M "${sources[@]}" >"$rules"
    assert_equal "$(grep -c '^[^ ]*\.o:' "$rules")" "${#sources[@]}"
    # The first program that includes a header.
    includer() {
        awk -v header="$1" '/^[^ ]/ { program = $2 }
            index($0 " ", " " header " ") { print program; exit }' "$rules"
    }
    while read -r header; do
        # A name that this folder has too must come from it: another copy on the machine would hide
        # that it lacks something.
        if [ -e "build/cuda/include/${header##*/}" ] || [[ "$header" == */crt/* ]]; then
            [[ "$header" == build/cuda/include/* ]] ||
                complain "$header is included by $(includer "$header")."
        fi
    done < <(tr -s ' \\' '\n' <"$rules" | grep '\.h$' |
        grep -v "^/usr/lib/gcc\|^lessons\|^simulator\|^build/simulator" | sort -u)
    finish
}

@test "the backend: what is there decides, BACKEND overrides, and the reason is printed" {
    set_up backend
    assert_success
    assert_output --partial "simulator (no nvcc was found"
    stub nvcc ''
    set_up backend
    assert_output --partial "simulator (neither nvidia-smi"
    stub nvidia-smi 'echo "No devices were found"; exit 6'
    set_up backend
    assert_output --partial "simulator (neither nvidia-smi"
    stub nvidia-smi 'echo "GPU 0: NVIDIA H200"'
    set_up backend
    assert_output "gpu (a GPU and nvcc were found)"
    rm "$bin/nvidia-smi"
    mkdir "$machine/root/dev"
    touch "$machine/root/dev/nvidia0"
    set_up backend
    assert_output "gpu (a GPU and nvcc were found)"
}

@test "the toolkit of the GPU: 12.2 or later, whole, and found again at once" {
    compiler
    toolkit "$machine/kit" 12040
    mkdir -p "$machine/kit/bin" "$machine/kit/lib64"
    printf '#!/bin/bash\n' >"$machine/kit/bin/nvcc"
    chmod +x "$machine/kit/bin/nvcc"
    set_up CUDA_HOME="$machine/kit" gpu
    assert_failure
    assert_output --partial "libcudart.so was not found"
    touch "$machine/kit/lib64/libcudart.so"
    set_up CUDA_HOME="$machine/kit" gpu
    assert_success
    assert_equal "$(cat "$machine/copy/build/gpu/nvcc")" "$machine/kit/bin/nvcc"
    assert_equal "$(realpath "$machine/copy/build/gpu/lib")" "$machine/kit/lib64"
    toolkit "$machine/old" 12010
    mkdir "$machine/old/bin"
    cp "$machine/kit/bin/nvcc" "$machine/old/bin"
    set_up CUDA_HOME="$machine/old" gpu
    assert_failure
    assert_output --partial "the lessons need 12.2 or later"
}
