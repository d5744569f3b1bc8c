#!/usr/bin/env bash
# Gradescope runs this once, as root, to make the image. The zip file that you upload has this file,
# run_autograder, and the workbook in the folder workbook:
#
#   cp docs/course/gradescope/* /tmp/autograder && cp -r . /tmp/autograder/workbook
#   cd /tmp/autograder && rm -rf workbook/build && zip -r ../autograder.zip .
if [ $# != 0 ]; then
    echo "setup.sh takes no words." >&2
    exit 2
fi
set -e
apt-get update
apt-get install -y --no-install-recommends ca-certificates make
# Installs what else is missing, and builds the simulated device. Then no one but root can enter the
# workbook, and there are no solutions to be found.
make -C /autograder/source/workbook grade ONLY=01 OUT=/tmp/first
rm -rf /autograder/source/workbook/solutions /autograder/source/workbook/.git
chmod 700 /autograder/source/workbook
