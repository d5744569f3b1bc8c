#!/usr/bin/env bash
# What make says of a goal that it knows no rule for: unknown.sh GOAL LESSONS CASES
case $1 in
lessons/[0-9]*.c | solutions/[0-9]*.c)
    echo "$1 is not there. If it was renamed or deleted: git checkout -- $1 brings it back." ;;
*)
    echo "make $1: there is no such command or file. make help lists the commands. The lessons are:"
    printf '    %s\n' $2
    echo "The cases of the clinic are:"
    printf '    %s\n' $3 ;;
esac >&2
exit 1
