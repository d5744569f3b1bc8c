#!/usr/bin/env bash
# Prints the programs of lessons that run in a page (simulator/web.mk), by file name without ".c":
# for each lesson the starter, the solution, and the mutants that its manifest names.
# shellcheck source=tools/usage.sh
source "${BASH_SOURCE[0]%/*}/usage.sh"
takes '' "$@"
cd "$(dirname "$0")/.." || exit 1
awk '$1 == "live" {
        split(FILENAME, part, "/")
        print "lessons/" part[3] "\nsolutions/" part[3]
    }
    $1 == "live_mutants" {
        split(FILENAME, part, "/")
        for (word = 3; word <= NF; word++) print "build/mutants/" part[3] "/" $word
    }' tests/lessons/[0-9]*/manifest.ini
