#!/usr/bin/env bats
# Two simulated devices: who may touch the other's pool, as a machine with two GPUs has it.

load ../../../tests/suite

setup_file() {
    make -s BACKEND=simulator \
        build/simulator/simulator/tests/facts/{p2p,peer-numbers,probe-more-peers}
}

setup() {
    unset "${!SIM_@}"
    export SIM_CHECK=leaks,no-init LD_LIBRARY_PATH=$ROOT/build/simulator
    peers=$ROOT/build/simulator/simulator/tests/facts/p2p
}

@test "two GPUs: the eight recorded runs, each in a process of its own" {
    SIM_CHECK=off bounded "$peers" >"$BATS_TEST_TMPDIR/returned" 2>/dev/null
    run diff -w simulator/tests/facts/p2p.txt "$BATS_TEST_TMPDIR/returned"
    assert_output ""
}

@test "the recorded runs leak, and fault where the GPUs did: no order is reported" {
    local n
    for n in 0 1 2 3 4 5 6 7; do
        run bounded "$peers" "$n"
        assert_line end
        ! grep '^hazard: ' <<<"$output" | grep -qvE '^hazard: (leak|illegal address)' ||
            complain "p2p $n: more than leaks and faults is reported:" "$output"
    done
    finish
}

@test "a peer copy is given where its ends lie: the numbers that two GPUs took" {
    bounded "${peers%/*}/peer-numbers" >"$BATS_TEST_TMPDIR/returned" 2>"$BATS_TEST_TMPDIR/words"
    run diff -w simulator/tests/facts/peer-numbers.txt "$BATS_TEST_TMPDIR/returned"
    assert_output ""
    run cat "$BATS_TEST_TMPDIR/words"
    assert_output ""
}

@test "SIM_PEERS=off: no device can reach another, and access is not granted" {
    SIM_PEERS=off run bounded "$peers" 6
    assert_line "  can 1->0 0"
    assert_line --regexp \
        '^acc\(d0, 1, cudaMemAccessFlagsProtReadWrite\) +-> cudaErrorInvalidDevice$'
    assert_line --regexp '^cudaStreamSynchronize\(s1\) +-> cudaErrorIllegalAddress$'
    SIM_PEERS=off run bounded "$peers" off
    assert_line --regexp '^cudaDeviceEnablePeerAccess\(1, 0\) +-> cudaErrorPeerAccessUnsupported$'
    assert_line --regexp '^cudaDeviceDisablePeerAccess\(1\) +-> cudaErrorPeerAccessNotEnabled$'
}

@test "SIM_PEERS=lower: GPU 1 reaches GPU 0, and GPU 0 does not reach GPU 1" {
    SIM_PEERS=lower run bounded "$peers" 6
    assert_line "  can 1->0 1"
    assert_line --regexp '^acc\(d0, 1, cudaMemAccessFlagsProtReadWrite\) +-> cudaSuccess$'
    SIM_PEERS=lower run bounded "$peers" off
    assert_line --regexp '^cudaDeviceEnablePeerAccess\(1, 0\) +-> cudaErrorPeerAccessUnsupported$'
}

# link_of SETTING: what attributes 2, access, and 4, arrays, say from 0 to 1 and then from 1 to 0
link_of() {
    SIM_PEERS=$1 SIM_DEVICES=2 bounded "$more" attributes_of_the_link |
        grep -m 4 'attribute [24]: cudaSuccess' | sed 's/.*Success, \(.\);.*/\1/' | tr '\n' ' '
}

@test "cudaDeviceGetP2PAttribute says what SIM_PEERS says, in both APIs; documented errors" {
    local more=${peers%/*}/probe-more-peers
    assert_equal "$(link_of on)" "1 1 1 1 "
    assert_equal "$(link_of off)" "0 0 0 0 "
    assert_equal "$(link_of lower)" "0 0 1 1 "
    SIM_DEVICES=2 run bounded "$more" attributes_of_the_link
    assert_line "  attribute 2: cudaSuccess, 1; result 0, 1"
    assert_line "  attribute 6: cudaErrorInvalidValue, 99; result 1, 99"
    run grep -c 'InvalidDevice, 99; result 101' <<<"$(grep -A 8 'from 0 to 0' <<<"$output")"
    assert_output 8
}
