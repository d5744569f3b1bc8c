# For tests of the simulated device: each runs in a folder of its own, and the only setting is that
# leaks are reported. Use "load own_folder" after "load ../suite".
# shellcheck shell=bash

setup_file() { make -s BACKEND=simulator simulator; }

setup() {
    unset "${!SIM_@}"
    export SIM_CHECK=leaks,no-init LD_LIBRARY_PATH=$ROOT/build/simulator
    cd "$BATS_TEST_TMPDIR" || return 1
}
