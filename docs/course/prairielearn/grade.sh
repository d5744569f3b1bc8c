#!/usr/bin/env bash
# PrairieLearn runs this in the image of docs/course/Dockerfile for each submission:
# grade.sh LESSON. A file that does not compile costs no attempt, and neither does a failure of the
# machine. The seed is drawn and stays in grade.json. If the container allows no sandbox, the
# compiler and the program run as an unused user number (SANDBOX=none).
# shellcheck source=tools/usage.sh
source "${BASH_SOURCE[0]%/*}/../../../tools/usage.sh"
takes '[0-9][0-9a-z_ ]*' "$@"
make -C /workbook grade STUDENT=/grade/student OUT=/tmp/grade ONLY="$1" SEED=draw \
    SANDBOX=none
mkdir -p /grade/results
cp /tmp/grade/prairielearn/results.json /grade/results/results.json
