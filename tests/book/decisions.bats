#!/usr/bin/env bats
# Every lesson leaves decisions to the student, and its check sees each: no call of the student's
# part of a solution can be left out. (What is no decision it leaves alone: grading/mutants.bats.)

load ../suite

setup_file() { know_compiler; }

# NAME|CALL|REASON: what a check does not see, and why it need not. None of them is a decision: the
# student found these calls there.
PAGEABLE='The copy before it goes to pageable memory, and has ended when it returns.'
NOT_NEEDED="03_custom_pool|cudaStreamSynchronize(stream)|$PAGEABLE
03_custom_pool|pool_set(pool, cudaMemPoolAttrReleaseThreshold, mib * MiB)|It limits nothing.
08_stream_order|pool_set(pool, cudaMemPoolAttrReleaseThreshold, UINT64_MAX)|It orders nothing.
09_migration|cudaFreeAsync(data, work)|It is for a buffer that the limit refuses."

# judge_without NAME LINE: LINE.miss is what the check says of the solution without the call
judge_without() {
    local file=build/without/$1/$2
    CHECK_FOLDER=build/check/without/$1-$2 python3 -SB tests/grading/judge.py "$1" "$file.c" \
        >"$file.miss" 2>&1 3>&- 4>&- || [ $? != 1 ] || mv "$file.miss" "$file.missed"
    rm -rf "build/check/without/$1-$2"
}

# bats test_tags=long
@test "a solution without one of the student's calls fails its check" {
    local name line call file reason calls=$BATS_TEST_TMPDIR/calls
    local -A needed=() excused=()
    while IFS='|' read -r name call reason; do
        excused[$name|$call]=$reason
    done <<<"$NOT_NEEDED"
    rm -rf build/without
    # shellcheck disable=SC2046  # names
    python3 -SB tests/book/without_call.py build/without $(lessons) >"$calls"
    export -f judge_without
    cut -d ' ' -f 1,2 "$calls" | xargs -P 2 -n 2 "$BASH" -c 'judge_without "$@"' judge_without
    while read -r name line call; do
        file=build/without/$name/$line
        if [ ! -e "$file.missed" ]; then
            [ -n "${excused[$name|$call]:-}" ] ||
                complain "$name passes its check without line $line: $call" "$(cat "$file.miss")"
            unset "excused[$name|$call]"
        elif grep -q ' error: ' "$file.missed"; then
            complain "$file.c does not compile:" "$(cat "$file.missed")"
        else
            needed[$name]=1
        fi
    done <"$calls"
    for call in "${!excused[@]}"; do complain "Its check needs it, or it is gone: $call"; done
    for name in $(lessons); do
        [ -n "${needed[$name]:-}" ] || complain "$name: no call is the student's."
    done
    finish
}
