# shellcheck shell=bash
# For a harness (tests/lessons/asked_NAME.h) that answers several tests of a check in one run. Above
# each miss it prints the part of the run that it belongs to, as "part:" on a line of its own. It
# ends the line before, where a student's function may have printed something.

# ask_part PART HARNESS SENTENCE [ARGUMENT...]: as ask_lesson of tests/tools/helpers.bash, for the
# tests that need the same run. A miss of PART fails the test, and so does a harness that did not
# compile or end.
ask_part() {
    local part=$1 said=$CHECK_FOLDER/$2.said
    run_lesson   # skips the test of a program that cannot be judged
    [ -e "$said" ] || ask_lesson "${@:2}" >"$said" || true
    awk -v part="$part" '
        /^$/ { next }
        /^[a-z]+:$/ { now = $0; parts = 1; mine = mine || now == part ":"; next }
        /^(On stderr it printed|See it yourself):/ { now = "" }
        now == "" || now == part ":" { words = words $0 "\n" }
        END { if (mine || !parts) printf "%s", words; exit words != "" && (mine || !parts) }
    ' "$said"
}
