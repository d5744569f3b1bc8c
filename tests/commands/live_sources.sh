#!/usr/bin/env bash
# One number for what docs/live/live.wasm is compiled from (simulator/web.mk), without comments and
# blanks: live_sources.sh. `make live` keeps it in docs/live/sources.txt.
set -eu
cd "$(dirname "$0")/../.."
mapfile -t manifests < <(grep -ls '^live = yes' tests/lessons/*/manifest.ini)
programs=("${manifests[@]#tests/lessons/}")
programs=("${programs[@]%/manifest.ini}")
{
    find simulator \( -path simulator/ptx -o -path 'simulator/os/*.c' \) -prune -o \
        -name '*.[ch]' -print -o -name '*.def' -print
    echo simulator/os/common.c
    find simulator/os/web -name '*.[ch]'
    printf '%s\n' lessons/*.h docs/live/*.c
    printf 'lessons/%s.c\n' "${programs[@]}"
    printf 'solutions/%s.c\n' "${programs[@]}"
} | sort -u | while read -r file; do
    echo "$file"
    "${CC:-gcc}" -fpreprocessed -dD -E -P -x c "$file" 2>&1 | tr -d ' \n'
done | sha256sum | cut -d ' ' -f 1
