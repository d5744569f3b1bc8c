#!/usr/bin/env bash
# Gradescope runs this once, as root, to make the image. The zip file that you upload has this file,
# run_autograder, and the workbook in the folder workbook:
#
#   cp docs/course/gradescope/* /tmp/autograder && cp -r . /tmp/autograder/workbook
#   cd /tmp/autograder && rm -rf workbook/build && zip -r ../autograder.zip .
set -e
apt-get update
apt-get install -y --no-install-recommends ca-certificates make
# Installs what else is missing, and builds the simulated device.
make -C /autograder/source/workbook grade ONLY=01 OUT=/tmp/first
