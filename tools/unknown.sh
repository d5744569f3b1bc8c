#!/usr/bin/env bash
# What make prints for a goal without a rule: unknown.sh GOAL "LESSON..." "CASE..."
goal=$1
read -ra lessons <<<"${2:-}"
read -ra cases <<<"${3:-}"
list_lessons() { echo "The lessons are:"; printf '    %s\n' "${lessons[@]}"; }
list_cases() { echo "The cases of the clinic are:"; printf '    %s\n' "${cases[@]}"; }
case $goal in
lessons/[0-9]*.c | solutions/[0-9]*.c)
    echo "$goal does not exist. If it was renamed or deleted:" \
        "git checkout -- $goal brings it back." ;;
clinic-* | check-clinic-* | repaired-*)
    echo "make $goal: there is no such case."
    list_cases ;;
check-* | hint-* | solution-*)
    echo "make $goal: there is no such command, because there is no such lesson."
    list_lessons ;;
*)
    echo "make $goal: there is no such command or file. make help lists the commands."
    list_lessons
    list_cases ;;
esac >&2
exit 2
