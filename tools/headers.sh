#!/usr/bin/env bash
# Compiles against other CUDA headers every lesson and solution; and, where they are of CUDA 13, the
# simulated device and the programs of the tests too: headers.sh [INCLUDE...]
#
# INCLUDE is a folder with cuda_runtime_api.h, version 12.2 or later. Without one it is three: the
# headers of CUDA 12.2 and of 13.5, fetched once from PyPI (4 MB) into build/cuda-headers, and those
# that the simulated device is built with (13.0, unless a toolkit is there). The wheel of 12.2 lacks
# crt/host_defines.h, which is in another one of 20 MB. That file names attributes for compilers and
# no part of CUDA; if a folder lacks it, that of build/cuda is used. Any message of the compiler is
# a failure. Exit status 0: there was none.
set -u
# shellcheck source=tools/usage.sh
source "${BASH_SOURCE[0]%/*}/usage.sh"
takes '|[^-;][^;]*(;[^-;][^;]*)*' "$@"
cd "$(dirname "$0")/.." || exit 1
failed=0 fetched=build/cuda-headers
read -ra compiler <<<"${CC:-gcc}"

# compile ARGUMENT...: compiles against the headers in $include, and prints the compiler's output
compile() {
    "${compiler[@]}" -std=c11 -Wall -Wextra -Wpedantic -Wno-missing-braces -O1 -pthread -Ilessons \
        -Isimulator -Ibuild/simulator -isystem "$include" -idirafter "$fetched/crt" "$@" 2>&1
}

# count_messages PROGRAM...: adds to words how many programs have an error or a warning, and prints
# these on stderr. One compiler gets all programs; only when it has something to print, it gets them
# one by one.
count_messages() {
    local program said
    said=$(compile -fsyntax-only "$@") && [ -z "$said" ] && return
    for program; do
        said=$(compile -fsyntax-only "$program") && [ -z "$said" ] && continue
        words=$((words + 1))
        printf '%s\n' "${said:-$program: the compiler failed without a word}" >&2
    done
}

# against INCLUDE: counts the programs that compile without a message
against() {
    local include=$1 version words=0 programs=(lessons/[0-9]*.c solutions/[0-9]*.c) repairs=()
    version=$(sed -n 's/^#define CUDART_VERSION *\([0-9][0-9]*\).*/\1/p' \
        "$1/cuda_runtime_api.h" 2>/dev/null)
    [ "${version:-0}" -ge 12020 ] || {
        echo "$1: CUDART_VERSION is ${version:-missing};" \
            "give a folder with cuda_runtime_api.h of CUDA 12.2 or later." >&2
        return 1
    }
    if [ "$version" -ge 13000 ]; then
        mapfile -t repairs < <(basename -as _wrong.c docs/clinic/*_wrong.c)
        repairs=("${repairs[@]/%/.c}")
        env -u MAKEFLAGS make -s build/simulator/{,driver_}{calls,unmodeled}.inc \
            "${repairs[@]/#/build/repairs/}" || return
        programs+=(simulator/*/*.c simulator/tests/{unit,facts,facts/sanitizer}/*.c)
        programs+=(docs/programs/*.c docs/clinic/*.c "${repairs[@]/#/build/repairs/}")
        programs+=(simulator/tests/litmus/*.c)
    fi
    mkdir -p "$fetched/crt"
    ln -sfn "$(realpath build/cuda/include/crt)" "$fetched/crt/crt"
    count_messages "${programs[@]}"
    echo "CUDA $((version / 1000)).$((version % 1000 / 10)):" \
        "${#programs[@]} programs compiled, $words with an error or a warning."
    [ "$words" = 0 ]
}

bash tools/setup.sh write || exit 1
if [ $# = 0 ]; then
    bash tools/setup.sh headers-12.2 && bash tools/setup.sh headers-13.5 || exit 1
    set -- "$fetched/12.2/wheel/nvidia/cuda_runtime/include" build/cuda/include \
        "$fetched/13.5/wheel/nvidia/cu13/include"
fi
for folder in "$@"; do against "$folder" || failed=1; done
exit "$failed"
