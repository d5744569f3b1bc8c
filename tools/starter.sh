#!/usr/bin/env bash
# Writes what makes a lesson's file, as it is delivered, of its solution: starter.sh NN_name. Who
# changes a lesson's file or its solution runs it (make starters); a student never does.
set -u
patch=tests/lessons/$1/starter.patch
diff -U2 "solutions/$1.c" "lessons/$1.c" |
    sed "1s/.*/--- solutions\/$1.c/; 2s/.*/+++ lessons\/$1.c/" \
    >"$patch.$$"
cmp -s "$patch.$$" "$patch" && exec rm "$patch.$$"
mv "$patch.$$" "$patch"
