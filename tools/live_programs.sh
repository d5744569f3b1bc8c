#!/usr/bin/env bash
# The programs of lessons that run in a page (simulator/web.mk), as the names of their files without
# ".c": of each lesson the starter, the solution, and the mutants that its manifest names.
cd "$(dirname "$0")/.." || exit 1
awk '$0 == "live = yes" {
        split(FILENAME, part, "/")
        print "lessons/" part[3] "\nsolutions/" part[3]
    }
    $1 == "live_mutants" {
        split(FILENAME, part, "/")
        for (word = 3; word <= NF; word++) print "build/mutants/" part[3] "/" $word
    }' tests/lessons/[0-9]*/manifest.ini
