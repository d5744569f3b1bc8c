#!/usr/bin/env bats
# Every lesson leaves decisions to the student, and its check sees each: no call of the student's
# part of a solution can be left out. What is no decision it leaves alone: each right answer of
# another style, tests/lessons/styles/NN_name/STYLE.patch, passes. The line above the patch says
# what it does in another way than the solution. make test judges the first of each lesson, make
# test-all every one.

load ../suite

setup_file() { know_compiler; }

# NAME|CALL|REASON: what a check does not see, and why it need not. None of them is a decision: the
# student found these calls there.
PAGEABLE='The copy before it goes to pageable memory, and has ended when it returns.'
NOT_NEEDED="15_query_support|cudaStreamSynchronize(stream)|$PAGEABLE
03_custom_pool|cudaStreamSynchronize(stream)|$PAGEABLE
03_custom_pool|pool_set(pool, cudaMemPoolAttrReleaseThreshold, mib * MiB)|It limits nothing."

# judge_without NAME LINE: LINE.miss is what the check says of the solution without the call
judge_without() {
    local file=build/without/$1/$2
    LESSON=$file.c CHECK_FOLDER=build/check/without/$1-$2 "$BASH" tests/grading/first_miss.sh "$1" \
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
    python3 -B tests/workbook/without_call.py build/without $(lessons) >"$calls"
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

# judge_style PATCH: PATCH.miss is what the check says of it
judge_style() {
    local name=${1%/*} file
    name=${name##*/} file=${1#tests/lessons/}
    file=build/${file%.patch}
    {
        tests/commands/mutant.sh "$1" "$file.c" &&
            LESSON=$file.c CHECK_FOLDER=build/check/styles/$name-${file##*/} \
                "$BASH" tests/grading/first_miss.sh "$name"
    } >"$file.miss" 2>&1 3>&- 4>&- || mv "$file.miss" "$file.missed"
}

@test "a right answer of another style passes its check" {
    local folder all patches=() patch file
    for folder in tests/lessons/styles/*/; do
        all=("$folder"*.patch)
        [ -n "${TEST_LONG:-}" ] || all=("${all[0]}")
        patches+=("${all[@]}")
        [ -e "solutions/$(basename "$folder").c" ] || complain "$folder is of no lesson."
    done
    rm -rf build/styles
    mkdir -p build/check/styles
    export -f judge_style
    for patch in "${patches[@]}"; do
        file=${patch#tests/lessons/}
        mkdir -p "build/${file%/*}"
        echo "$patch"
    done | xargs -P 2 -n 1 "$BASH" -c 'judge_style "$@"' judge_style
    for patch in "${patches[@]}"; do
        file=${patch#tests/lessons/}
        file=build/${file%.patch}
        [ ! -e "$file.missed" ] || complain "$patch does not pass:" "$(cat "$file.missed")"
        [ -e "$file.missed" ] || [ -e "$file.miss" ] || complain "$patch was not judged."
    done
    finish
}
