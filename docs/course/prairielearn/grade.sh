#!/usr/bin/env bash
# PrairieLearn runs this in the image of docs/course/Dockerfile for each submission:
# grade.sh LESSON. A file that does not compile costs no attempt. Neither does what could not be
# graded by the machine's fault. The seed is drawn, and stays in grade.json. Where the container
# allows no sandbox, compiler and program run as a user who is no person (SANDBOX=none).
# shellcheck source=tools/usage.sh
source "${BASH_SOURCE[0]%/*}/../../../tools/usage.sh"
takes '[0-9][0-9a-z_ ]*' "$@"
make -C /workbook grade STUDENT=/grade/student OUT=/tmp/grade ONLY="$1" SEED=draw \
    SANDBOX=none
mkdir -p /grade/results
cp /tmp/grade/prairielearn/results.json /grade/results/results.json
