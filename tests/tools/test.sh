#!/usr/bin/env bash
# Runs the test suite: test.sh test, or test.sh test-all with the tests that take long, which are
# those with the tag "long".
set -o pipefail
filter=()
if [ "$1" = test ]; then
    filter=(--filter-tags '!long')
else
    export TEST_LONG=1 # more schedules and longer walks in the tests that have both tiers
    # Here once: several test files would build it at the same time.
    make SANITIZE=address,undefined simulator
    make SANITIZE=thread simulator
fi

# The longest first, so that no processor is idle at the end.
first=(workbook/book workbook/browser simulator/simulator_facts lessons/mutants litmus/litmus
    workbook/cheats workbook/class workbook/sandbox workbook/decisions workbook/grader
    workbook/solutions simulator/simulator_laws workbook/checks workbook/clinic simulator/hostile)
first=("${first[@]/#/tests/}")
first=("${first[@]/%/.bats}")
rest=()
for file in tests/*/*.bats; do
    [[ " ${first[*]} " == *" $file "* ]] || rest+=("$file")
done

# Two files for each processor: what sleeps, or waits for a process, leaves it to another.
bats --tap --jobs "$((2 * $(nproc)))" --no-parallelize-within-files "${filter[@]}" \
    "${first[@]}" "${rest[@]}" 2>&1 | awk -f tests/tools/report.awk
