#!/usr/bin/env bash
# Long random tests of the simulated device; what `make test` runs for a second, for as long as one
# likes.
#
#   simulator/tests/unit/fuzz.sh random STEPS [SEED]
#       random programs: STEPS with the address and undefined-behaviour sanitizers,
#       STEPS / 10 in 4 threads with the thread sanitizer
#   simulator/tests/unit/fuzz.sh guided SECONDS
#       programs that libFuzzer (clang) makes up, towards code not yet reached
#
# A program that fails is named by its seed, or left in build/fuzz/ as a file:
# build/simulator/simulator/tests/unit/inside_fuzz - <FILE runs it again.
set -euo pipefail
# Random programs are about order: what they read has often been written by nobody.
export SIM_CHECK=no-init
cd "$(dirname "$0")/../../.."

usage() {
    sed -n 's/^#   /    /p' "$0" >&2
    exit 2
}

[[ ${2:-} =~ ^[1-9][0-9]*$ && ${3:-1} =~ ^[0-9]+$ ]] || usage
case $1 in
random)
    make -s BACKEND=simulator SANITIZE=address,undefined \
        build/simulator-address-undefined/simulator/tests/unit/inside_fuzz
    make -s BACKEND=simulator SANITIZE=thread \
        build/simulator-thread/simulator/tests/unit/inside_fuzz
    build/simulator-address-undefined/simulator/tests/unit/inside_fuzz "$2" "${3:-1}" 50
    TSAN_OPTIONS=atexit_sleep_ms=0 build/simulator-thread/simulator/tests/unit/inside_fuzz \
        "$(($2 / 40 + 1))" "${3:-1}" 500 4
    ;;
guided)
    command -v clang >/dev/null || {
        echo "fuzz.sh guided needs clang with libFuzzer: sudo apt-get install clang" >&2
        exit 1
    }
    make -s BACKEND=simulator simulator
    mkdir -p build/fuzz/found
    clang -std=c11 -g -O1 -w -DLIBFUZZER \
        -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
        -Ilessons -Isimulator -isystem build/cuda/include \
        simulator/*/*.c simulator/tests/unit/inside_fuzz.c -pthread -ldl -o build/fuzz/inside_fuzz
    build/fuzz/inside_fuzz -max_total_time="$2" -max_len=2048 -len_control=10 -timeout=20 \
        -print_final_stats=1 -artifact_prefix=build/fuzz/ build/fuzz/found
    ;;
*) usage ;;
esac
