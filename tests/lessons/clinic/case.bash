# shellcheck shell=bash
# shellcheck disable=SC2016,SC2034,SC2153,SC2154  # questions to jq; variables of check.bash
# What the checks of the clinic share. A check is tests/lessons/clinic/NN_name.bats; it judges a
# repair of docs/clinic/NN_name_wrong.c, $LESSON, with what tests/grading/check.bash has and
#
#   case_setup NN_name   compiles it
#   ends_well [ARG...]   no hazard, status 0 and nothing left, under each of five schedules
#   prints_what_is_right [REGEX]
#                        under each of them it prints the lines that the repaired program printed on
#                        a device (docs/recorded/clinic.txt), of these the ones that match REGEX
#
# A program that the checker does not report may still have lost what it was for, or may be correct
# only because it is short. Each case has a test of its own for that, and at least one incorrect
# repair, NN_name/MISTAKE.patch, that fails it (tests/workbook/clinic.bats). The patch is one on the
# broken program; its first lines are those of the mutants in tests/lessons/mutants.

SCHEDULES=(measured instant late random:1 random:3)

case_setup() {
    export LESSON=${LESSON:-docs/clinic/$1_right.c} CHECK_PAGE=clinic/$1.html
    lesson_setup "clinic/$1"
}

ends_well() {
    local schedule
    for schedule in "${SCHEDULES[@]}"; do
        SIM_ENV=("SIM_SCHEDULE=$schedule")
        run_lesson "$@"
        expect_clean
    done
}

# prints_line REGEX LINE: under every schedule some line matches; LINE is what a person reads.
prints_line() {
    local schedule
    for schedule in "${SCHEDULES[@]}"; do
        SIM_ENV=("SIM_SCHEDULE=$schedule")
        run_lesson "${@:3}"
        grep -qxE -e "$1" <<<"$output" ||
            missed "Expected: it prints: $2" "Happened: it printed: ${output:0:400}"
    done
}

prints_what_is_right() {
    local line name=${CHECK_NAME#*/}_right:
    while IFS= read -r line; do
        prints_line "${line//[^[:alnum:] ]/.}" "$line"
    done < <(awk -v name="$name" '/^== / { on = $2 == name; next } on' \
        docs/recorded/clinic.txt | grep -E -e "${1:-}")
}

definitions 'def ok($call): [.[] | select(.call == $call and .result == "cudaSuccess")];
    def allocations: ok("cudaMallocAsync") + ok("cudaMallocFromPoolAsync");
    def host_waits: ok("cudaStreamSynchronize") + ok("cudaDeviceSynchronize")
        + ok("cudaEventSynchronize") + ok("cudaMemcpy");'
