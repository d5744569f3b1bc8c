#!/usr/bin/env bats
# Every script that a person may type refuses words that it does not know, before it does anything.

load ../suite

# The words of these are another program's.
others='^tools/emcc(_node)?\.sh$'

scripts() {
    git ls-files -s | sed -nE 's/^100755 [^\t]*\t(.*\.sh|\.ci\/run|docs\/course\/.*)$/\1/p' |
        grep -vE "$others"
}

@test "a script that is given a word it does not know says its usage and ends with status 2" {
    need_git_clone
    local script tool bin=$BATS_TEST_TMPDIR/bin
    # One that does not refuse the word finds nothing here with which it could do harm.
    mkdir "$bin"
    for tool in bash dirname basename sed awk cat realpath grep env; do
        ln -s "$(type -P "$tool")" "$bin"
    done
    [ "$(scripts | wc -l)" -gt 20 ] || miss "There are only these scripts: $(scripts)"
    for script in $(scripts); do
        run timeout 20 env -i PATH="$bin" HOME="$BATS_TEST_TMPDIR" "./$script" --no-such-word
        [[ $status = 2 && -n $output ]] ||
            complain "$script --no-such-word: status $status: $output"
    done
    finish
}

@test "one word of many is refused like another one, and a usage is the heading of the script" {
    local command
    for command in "tools/test.sh all" "tools/setup.sh everything" "tools/format.sh when" \
        "tools/watch.sh 04" "tests/grading/grade.sh 04" "tests/grading/grade.sh class collect 1" \
        "tools/picture.sh paint 04 x" "tools/gpu/record.py walk" "tools/mine.sh x" \
        "tools/progress.sh 04_release_threshold done" "tools/format.sh where gcc" \
        "tools/new_lesson.sh two words" "bash tools/on_gpu.sh" \
        "python3 -SB tools/coverage.py" "python3 -SB tools/unknown.py goal" \
        "python3 -SB tools/variants.py new 06" "python3 -SB tools/packages.py place" \
        "python3 -SB tests/grading/"{grade,grade_class,run,compiler,protect,judge_mutants}.py \
        "python3 -SB tests/grading/"{class/unpack,attacks/attack,attacks/attacks}.py; do
        # shellcheck disable=SC2086  # words
        run env WORKBOOK_PROGRESS=none timeout 20 $command
        [[ $status = 2 && $output != *Traceback* ]] ||
            complain "$command: status $status: $output"
    done
    run env -u WORKBOOK_PROGRESS tools/progress.sh grade no.json
    assert_equal "$status" 2
    echo '{"lessons": [{}]}' >"$BATS_TEST_TMPDIR/grade.json"
    run env -u WORKBOOK_PROGRESS tools/progress.sh grade "$BATS_TEST_TMPDIR/grade.json"
    assert_failure 2
    assert_output "progress.sh: $BATS_TEST_TMPDIR/grade.json is no grade.json."
    run tools/test.sh --help
    assert_equal "$status" 2
    assert_line --partial "test.sh does not know these words: --help."
    assert_line --partial "Runs the test suite: test.sh test, or test.sh test-all"
    finish
}
