#!/usr/bin/env bash
# Prints one number for all sources of docs/live/live.wasm (simulator/web.mk), without their
# comments and blanks. `make live` stores it in docs/live/sources.txt.
set -eu
# shellcheck source=tools/usage.sh
source "${BASH_SOURCE[0]%/*}/usage.sh"
takes '' "$@"
cd "$(dirname "$0")/.."
tools/live_programs.sh | sed -n 's|^build/mutants/.*|&.c|p' | MAKEFLAGS='' xargs make -s
{
    find simulator \( -path simulator/ptx -o -path simulator/tests -o -path 'simulator/os/*.c' -o \
        -path simulator/module -o -name nvcc_kernel.c -o -name device_runtime.c -o \
        -name kernel_library.c \) \
        -prune -o -name '*.[ch]' -print -o -name '*.def' -print
    echo simulator/os/common.c
    find simulator/os/web -name '*.[ch]'
    printf '%s\n' lessons/*.h docs/live/*.c
    tools/live_programs.sh | sed 's|$|.c|'
} | sort -u | while read -r file; do
    echo "$file"
    "${CC:-gcc}" -w -fpreprocessed -dD -E -P -x c "$file" 2>&1 | tr -d ' \n'
done | sha256sum | cut -d ' ' -f 1
