#!/usr/bin/env bash
# Gradescope runs this once, as root, to make the image. `make gradescope OUT=autograder.zip` makes
# the zip file that you upload: this file, run_autograder, and the grader in the folder workbook.
if [ $# != 0 ]; then
    echo "setup.sh takes no words." >&2
    exit 2
fi
set -e
apt-get update
apt-get install -y --no-install-recommends ca-certificates make
# Install what else is missing, and build the simulated device. Then only root can enter the
# workbook, which has no solutions.
make -C /autograder/source/workbook grade ONLY=01 OUT=/tmp/first
chmod 700 /autograder/source/workbook
