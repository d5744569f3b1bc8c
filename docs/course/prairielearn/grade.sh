#!/usr/bin/env bash
# PrairieLearn runs this in the image of docs/course/Dockerfile for each submission:
# grade.sh LESSON. A file that does not compile costs no attempt. Neither does what could not be
# graded by the machine's fault. The seed is drawn, and the results name it.
make -C /workbook grade STUDENT=/grade/student OUT=/tmp/grade ONLY="$1" SEED=draw
mkdir -p /grade/results
cp /tmp/grade/prairielearn/results.json /grade/results/results.json
