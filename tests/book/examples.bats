#!/usr/bin/env bats
# The example files of docs/course: their form, and those that can run here run. No Docker engine,
# no service and no Slurm controller is asked for.

load ../suite

# bats test_tags=long
@test "the workflows of GitHub and GitLab, also this repository's, follow the published schemas" {
    local program
    tool check-jsonschema
    "$program" --builtin-schema vendor.github-workflows docs/course/github*.yml \
        .github/workflows/*.yml docs/programs/ci.yml
    "$program" --builtin-schema vendor.gitlab-ci docs/course/gitlab.yml
}

@test "every server draws its seed; Git marks the scripts as executable" {
    local file
    for file in docs/course/*.sh docs/course/*/*.sh docs/course/gradescope/run_autograder; do
        assert [ -x "$file" ]
    done
    for file in docs/course/{github.yml,gitlab.yml,gradescope/run_autograder,prairielearn/grade.sh}
    do
        # The command may go on in a second line.
        sed -z 's/\\\n//g' "$file" | grep 'make -C .* grade .*STUDENT=' | grep -qv 'SEED=draw' &&
            complain "$file grades without SEED=draw."
    done
    refute grep -q 'SEED=' docs/course/slurm.sh docs/course/Dockerfile
    finish
}

@test "the page of a workflow shows the points, and no sentence of a file is its markup" {
    local grade=$BATS_TEST_TMPDIR/grade.json
    jq -n '{points: 2.5, possible: 6, lessons: [{lesson: "04_x", points: 2.5, possible: 6,
        status: "graded", sentence: "<b>it|is</b> [x](y)\n`z`",
        tests: [{result: "failed", lines: ["Line 4 is not in line 5 of x.h, as in line 7."]}]}],
        folder: "les sons"}' >"$grade"
    export GITHUB_STEP_SUMMARY=$BATS_TEST_TMPDIR/step GITHUB_OUTPUT=$BATS_TEST_TMPDIR/output
    run python3 docs/course/summary.py "$grade"
    assert_equal "$status" 1
    assert_line '**2.5 of 6 points**'
    assert_line '| 04_x | 2.5 of 6 | \<b\>it\|is\</b\> \[x\]\(y\) \`z\` |'
    assert_equal "$(cat "$GITHUB_STEP_SUMMARY")" "$(cat "$BATS_TEST_TMPDIR/summary.md")"
    assert_equal "$(cat "$GITHUB_OUTPUT")" $'title=2.5 of 6 points\nconclusion=failure'
    assert_equal "$(cat "$BATS_TEST_TMPDIR/metrics.txt")" $'points 2.5\npossible 6'
    jq '.lessons[0].status = "ungraded"' "$grade" >"$grade.new" && mv "$grade.new" "$grade"
    : >"$GITHUB_OUTPUT"
    run python3 docs/course/summary.py "$grade"
    assert_equal "$status" 2
    grep -qx conclusion=neutral "$GITHUB_OUTPUT"
    # With the place where files are shown, a lesson is a link to the line that its miss names.
    run python3 docs/course/summary.py "$grade" https://x/blob/0
    assert_line --partial '| [04_x](https://x/blob/0/les%20sons/04_x.c#L7) | 2.5 of 6 |'
}

# bats test_tags=long
@test "hadolint finds nothing in the Dockerfile" {
    local program
    tool hadolint
    run "$program" docs/course/Dockerfile
    assert_output ""
}

@test "the image gets neither build/ nor .git, which belong to another machine" {
    run cat .dockerignore
    assert_output $'build\n.git'
}

@test "question.sh of PrairieLearn writes for each lesson what the documentation requires" {
    local name folder ids=()
    for name in $(lessons); do
        folder=$BATS_TEST_TMPDIR/$name
        docs/course/prairielearn/question.sh "${name%%_*}" "$folder"
        jq -e --arg number "${name%%_*}" '(.uuid |
                test("^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$"))
            and .type == "v3" and .gradingMethod == "External"
            and (.title | startswith("Lesson \($number): ")) and (.topic | type == "string")
            and (.externalGradingOptions | .enabled == true and (.image | type == "string")
                and (.timeout | . >= 60 and . <= 600)
                and .entrypoint == ["/workbook/docs/course/prairielearn/grade.sh", $number])' \
            "$folder/info.json" >/dev/null || complain "$name:" "$(<"$folder/info.json")"
        grep -q "<pl-file-upload file-names=\"$name.c\">" "$folder/question.html" ||
            complain "$name:" "$(<"$folder/question.html")"
        ids+=("$(jq -r .uuid "$folder/info.json")")
    done
    finish
    assert_equal "$(printf '%s\n' "${ids[@]}" | sort -u | wc -l)" "$(lessons | wc -w)"
}

@test "question.sh: bad input is a sentence and exit status 2" {
    local question=docs/course/prairielearn/question.sh lesson
    for lesson in 99 7 '*' ''; do
        refused "There is no lesson \"$lesson\" in lessons/." \
            $question "$lesson" "$BATS_TEST_TMPDIR/new"
        assert_file_not_exists "$BATS_TEST_TMPDIR/new"
    done
    run $question 07
    assert_failure 2
    assert_output "Type: question.sh LESSON FOLDER, for example question.sh 07 questions/lesson-07."
    touch "$BATS_TEST_TMPDIR/info.json"
    run $question 07 "$BATS_TEST_TMPDIR"
    assert_failure 2
    assert_output "$BATS_TEST_TMPDIR/info.json exists. Remove it, or name another folder."
    run $question 07 "$BATS_TEST_TMPDIR/info.json/folder"
    assert_failure 2
    assert_line "Nothing can be written to $BATS_TEST_TMPDIR/info.json/folder."
}

# bats test_tags=long
@test "Slurm: two tasks of the array and the collecting step grade the class of three" {
    local task
    export CLASS=$BATS_TEST_TMPDIR/class OUT=$BATS_TEST_TMPDIR/out ONLY=06
    docs/course/three_students.sh "$CLASS"
    for task in 3 4; do
        accepted SLURM_ARRAY_TASK_ID=$task SLURM_ARRAY_TASK_MIN=3 SLURM_ARRAY_TASK_COUNT=2 \
            SLURM_CPUS_PER_TASK=1 docs/course/slurm.sh
    done
    accepted COURSE=docs/course/course.ini ROSTER=docs/course/roster.csv \
        tests/grading/grade.sh class collect
    run jq -c '.[] | [.student, .points, .result]' "$OUT/class.json"
    assert_output '["ada",5,80]
["ben",0,0]
["cleo",0,20]'
}

# bats test_tags=long
@test "the notebook runs from its first cell to its last, on a machine without a GPU" {
    local folder=$BATS_TEST_TMPDIR
    need_git_clone
    ! nvidia-smi -L >/dev/null 2>&1 || skip "there is a GPU here"
    run jq '.nbformat == 4 and all(.cells[]; has("id") and has("metadata") and has("source")
        and (.cell_type == "markdown" or (.cell_type == "code" and .outputs == []
            and has("execution_count"))))' docs/course/notebook.ipynb
    assert_output true
    cd "$folder" || return 1
    git_of_built "$folder/bin"
    # Of Jupyter the cells use one name, with which the last one shows the picture.
    run as_typed PATH="$folder/bin:$PATH" REPOSITORY="$ROOT" HOME="$folder" \
        python3 -SB - "$ROOT/docs/course/notebook.ipynb" <<'PYTHON'
import json
import sys
import types

sys.modules["IPython"], display = (types.ModuleType(name) for name in ("IPython", "display"))
sys.modules["IPython.display"], display.HTML = display, print
with open(sys.argv[1], encoding="utf-8") as file:
    cells = json.load(file)["cells"]
names = {}
for cell in cells:
    if cell["cell_type"] == "code":
        exec("".join(cell["source"]), names)
PYTHON
    assert_success
    assert_output --partial "There is no GPU here, or no toolkit."
    assert_output --partial "Backend: simulator (BACKEND=simulator)"
    assert_output --partial "synchronized     42 in 2097152 of 2097152 elements"
    assert_output --regexp '[0-9]+ passed, [0-9]+ failed'
    assert_output --partial '<iframe srcdoc="'
    assert_output --partial 'svg'
}
