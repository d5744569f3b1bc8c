# shellcheck shell=bash
# What the rules.bats of each room loads:
#
#     bats tests/lessons/12_reuse_internal                      judges the lesson's solution
#     LESSON=answer.c bats tests/lessons/12_reuse_internal      judges another file
#     bats tests/lessons/clinic/07_fork                         judges the book's repair of the case
#
# The file is judged by judge.py before the first test, and each test then reports what was found
# about its rule. What the judge needs and is not built yet, make builds first.

setup_file() {
    local root file said goals=(simulator grader) status=0
    local room=${BATS_TEST_DIRNAME##*/tests/lessons/}
    root=$(cd "${BASH_SOURCE[0]%/*}/../.." && pwd) || return
    file=solutions/$room.c
    if [ "$room" != "${room#clinic/}" ]; then
        file=build/repairs/${room#clinic/}.c
        goals+=("$file")
    fi
    if [ -n "${LESSON:-}" ]; then
        [ -f "$LESSON" ] || { echo "LESSON=$LESSON: there is no such C file." && return 1; }
        file=$(realpath --relative-base="$root" -- "$LESSON")
    fi
    cd "$root" || return
    mkdir -p build
    {
        flock 9
        said=$(env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS -u LESSON \
            make -s BACKEND=simulator "${goals[@]}")
    } 9>build/rules.lock 2>&1 3>&- || return
    # The judge would ask make again how a program is compiled.
    CHECK_COMPILER=$(sed -n 's/^compiler //p' <<<"$said")
    export CHECK_COMPILER
    SEED=${SEED:-1} python3 -SB tests/grading/judge.py "$room" "$file" --form=files \
        --into="$BATS_FILE_TMPDIR" >"$BATS_FILE_TMPDIR/said" 2>&1 3>&- || status=$?
    [ "$status" -le 1 ] || { cat "$BATS_FILE_TMPDIR/said" && return 1; }
}

rule() { # rule NAME: what test_NAME of check.py has found
    local result=$BATS_FILE_TMPDIR/test_$1
    case $(head -n 1 "$result") in
    passed) ;;
    skipped) skip "$(sed -n 2p "$result")" ;;
    *) tail -n +2 "$result" && return 1 ;;
    esac
}
