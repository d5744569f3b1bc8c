# For tests of the simulated device: each runs in a folder of its own and without settings. Use
# "load own_folder" after "load ../suite".
# shellcheck shell=bash

setup_file() { make -s BACKEND=simulator simulator; }

setup() {
    unset "${!SIM_@}"
    export LD_LIBRARY_PATH=$ROOT/build/simulator
    cd "$BATS_TEST_TMPDIR" || return 1
}
