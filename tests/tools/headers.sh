#!/usr/bin/env bash
# Compiles every lesson, solution and mutant against other CUDA headers: headers.sh [INCLUDE...]
#
# INCLUDE is a folder with cuda_runtime_api.h, version 12.2 or later. Without one, the headers of
# CUDA 12.2 are fetched once from PyPI (1 MB) into build/cuda12. Only the runtime's own headers are
# in that wheel: crt/host_defines.h, which they include, is in another wheel of 20 MB. It names
# attributes for compilers and no part of CUDA; if a folder lacks it, that of build/cuda is used.
# Any message of the compiler is a failure. Exit status 0: there was none.
set -u
cd "$(dirname "$0")/../.." || exit 1
wheel=build/cuda12/wheel/nvidia/cuda_runtime/include
compiler=${CC:-gcc} failed=0
compiler=${CC:-gcc} failed=0
fetch() {
    local python=python3
    [ ! -e "$wheel/cuda_runtime_api.h" ] || return 0
    python3 -m pip --version >/dev/null 2>&1 || python=build/venv/bin/python3
    mkdir -p build/cuda12
    echo "Fetching the CUDA 12.2 headers from PyPI (1 MB) into build/cuda12."
    "$python" -m pip install --retries 1 --timeout 20 --no-deps --only-binary :all: \
        --platform manylinux1_x86_64 --require-hashes --target build/cuda12/arriving \
        --requirement tests/tools/cuda-headers-12.txt >build/cuda12/pip.log 2>&1 || {
        rm -rf build/cuda12/arriving
        echo "They could not be fetched from PyPI (the whole log: build/cuda12/pip.log)." \
            "Name a folder instead: make headers CUDA_HEADERS=/usr/local/cuda-12/include" >&2
        exit 1
    }
    rm -rf build/cuda12/wheel
    mv build/cuda12/arriving build/cuda12/wheel
}

# against INCLUDE: how many programs compile without a message
against() {
    local version program said words=0 programs=(lessons/[0-9]*.c solutions/[0-9]*.c)
    version=$(sed -n 's/^#define CUDART_VERSION *\([0-9][0-9]*\).*/\1/p' \
        "$1/cuda_runtime_api.h" 2>/dev/null)
    [ "${version:-0}" -ge 12020 ] || {
        echo "$1: CUDART_VERSION is ${version:-missing};" \
            "give a folder with cuda_runtime_api.h of CUDA 12.2 or later." >&2
        return 1
    }
    make -s mutant-sources || return
    programs+=(build/mutants/*/*.c)
    mkdir -p build/cuda12/crt
    ln -sfn "$(realpath build/cuda/include/crt)" build/cuda12/crt/crt
    for program in "${programs[@]}"; do
        said=$("$compiler" -std=c11 -Wall -Wextra -Wpedantic -O1 -fsyntax-only -Ilessons \
            -isystem "$1" -idirafter build/cuda12/crt "$program" 2>&1)
        [ -z "$said" ] || { words=$((words + 1)); printf '%s\n' "$said" >&2; }
    done
    echo "CUDA $((version / 1000)).$((version % 1000 / 10)): ${#programs[@]} programs compiled," \
        "$words with an error or a warning."
    [ "$words" = 0 ]
}

[ -e build/cuda/include/crt/host_defines.h ] || tests/tools/setup.sh build || exit 1
if [ $# = 0 ]; then
    fetch
    set -- "$wheel"
fi
for folder in "$@"; do against "$folder" || failed=1; done
exit "$failed"
