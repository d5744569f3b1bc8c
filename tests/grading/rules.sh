#!/usr/bin/env bash
# Writes the rules of a lesson's check as tests for Bats: rules.sh NN_name FILE.bats
#
# The rules are Python (tests/lessons/NN_name/check.py). In FILE.bats each is a test with the rule's
# sentence as its name. The lesson's solution, or LESSON=FILE.c, is judged once, before the first.
set -eu
name=$1 file=$2
mkdir -p "${file%/*}"
{
    cat <<END
# $name: written by tests/grading/rules.sh.
load ../../tests/grading/rules

setup_file() { judge_all $name; }
END
    python3 -B tests/grading/judge.py "$name" --form=rules |
        while IFS=$'\t' read -r rule sentence; do
            printf '\n@test "%s" { rule %s; }\n' "${sentence//[\"\`\$\\]/\\&}" "$rule"
        done
} >"$file.$$"
mv "$file.$$" "$file"
