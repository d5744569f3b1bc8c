#!/usr/bin/env bats
# Memory in rows and slices, and queries about managed ranges.

load ../../../tests/suite
load programs

setup_file() {
    make -s BACKEND=simulator build/simulator/simulator/tests/unit/{rows,uniform_pages}
}

@test "copies and memsets in rows: the bytes arrive, and what lies between the rows stays" {
    as_expected rows bytes
}
@test "fills, adds, memsets and copies of random parts: every byte is as in a plain array" {
    for seed in 1 2 3; do as_expected uniform_pages $seed 150 || return; done
}
@test "a copy of one row too many between host and host pool: the bytes beyond are reported" {
    SIM_CHECK=off as_expected rows one_row_more
    run bounded "$PROGRAMS/rows" one_row_more
    assert_equal "$status" 3
    assert_line --partial "hazard: use of memory that is not allocated"
}
@test "copies and memsets of slices: what lies between rows and slices stays" {
    as_expected rows slices
}
@test "a copy of slices between two devices: in order in its stream, its devices checked" {
    as_expected rows slices_between_devices
}
@test "copies and memsets of slices: what is refused, at once" {
    # A slice that begins after the end of its memory is reported, too.
    SIM_CHECK=off as_expected rows slices_refused
    run bounded "$PROGRAMS/rows" slices_refused
    assert_line --partial "hazard: use of memory that is not allocated. cudaMemcpy3DAsync"
}
@test "captured copies and memsets, and memset nodes, keep their rows" { as_expected rows nodes; }
@test "cudaMemRangeGetAttribute: advice of a range, page by page, ends with its allocation" {
    as_expected rows ranges
}
@test "rows: the twins of per-thread streams, SIM_FAIL and the journal know the calls" {
    local name line
    for name in cudaMemcpy2D{_ptds,Async_ptsz} cudaMemset2D{_ptds,Async_ptsz}; do
        nm -D --defined-only "$ROOT/build/simulator/libcudart.so.13" | grep -q " T $name@" ||
            complain "There is no $name."
    done
    for name in cudaMemcpy2D cudaMemcpy2DAsync cudaMemset2D; do
        SIM_FAIL=$name:1 run "$PROGRAMS/rows" bytes
        [ "$status" = 1 ] && [[ $output == *"$name("*": cudaErrorMemoryAllocation"* ]] ||
            complain "SIM_FAIL=$name:1, exit status $status:" "$output"
    done
    SIM_JOURNAL=journal "$PROGRAMS/rows" bytes >/dev/null
    line=$(jq -c 'select(.call == "cudaMemcpy2DAsync") | [.bytes, .rows, .kind]' journal |
        head -n 1)
    [ "$line" = '[5000,50,"DeviceToDevice"]' ] || complain "The journal has of a copy: $line"
    line=$(jq -c 'select(.did == "run" and .op == "memset") | .bytes' journal | sort -u)
    [[ $line == *5000* ]] || complain "The journal has of memsets that ran: $line"
    finish
}
