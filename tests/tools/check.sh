#!/usr/bin/env bash
# What the check of one lesson says to a person: check.sh NN_name [FILE.c]
set -o pipefail
export SEED=${SEED:-$RANDOM}
export LESSON=${2:-lessons/$1.c}
bats --tap "tests/lessons/$1.bats" 2>&1 | awk -v lesson="$1" -f tests/tools/report.awk
