# shellcheck shell=bash
# What the tests that rules.sh writes load: a lesson's solution, or $LESSON, is judged once, and
# each test reports what was found about its rule.

cd "${BASH_SOURCE[0]%/*}/../.." || exit 1
unset MAKEFLAGS MAKELEVEL MFLAGS

judge_all() { # judge_all NN_name
    local file=${LESSON:-solutions/$1.c}
    SEED=${SEED:-1} python3 -B tests/grading/judge.py "$1" "$file" --form=files \
        --into="$BATS_FILE_TMPDIR" >"$BATS_FILE_TMPDIR/said" 2>&1 || [ $? = 1 ]
}

rule() { # rule test_NAME
    local result=$BATS_FILE_TMPDIR/$1
    [ -e "$result" ] || { cat "$BATS_FILE_TMPDIR/said"; return 1; }
    case $(head -n 1 "$result") in
    passed) ;;
    skipped) skip "$(sed -n 2p "$result")" ;;
    *) tail -n +2 "$result"; return 1 ;;
    esac
}
