#!/usr/bin/env bats
# What a student's program and its compiler can see, write and use up while they are graded, and
# what another student's program changes in a grade: nothing. The programs are the cases of
# tests/grading/attacks/hostile.txt.

load ../suite

setup_file() {
    mkdir -p build/check
    # Few processes for a fork bomb: 64 that spin would leave the other tests no processor.
    export WORK OWN_SANDBOX PLACE CHECK_SECONDS=1 CHECK_PROCESSES=12
    local allowed
    WORK=$(mktemp -d build/check/sandbox.XXXXXX)
    chmod 755 "$WORK"
    allowed=$(python3 -SB tests/grading/protect.py try "$WORK")
    # The seal would stop what these programs try before the sandbox has to.
    PLACE=$(jq -c '.place.seal = false | .place' <<<"$allowed")
    OWN_SANDBOX=$(jq -r .sandbox <<<"$allowed")
    [ "$(jq -r .not_protected <<<"$allowed")" = "" ] || miss "$allowed"
    know_machine
}

teardown_file() { rm -rf "$WORK"; }

# Each test works in a folder of its own, as each lesson of a grading does, because it has a user of
# its own.
setup() {
    ALL=$WORK
    WORK+=/$BATS_TEST_NUMBER
    mkdir "$WORK"
}

need_sandbox() {
    [ "$OWN_SANDBOX" = bubblewrap ] || skip "bubblewrap is not installed or may not work here: \
neither root nor an ordinary user can make namespaces"
}

compile() { python3 -SB tests/grading/compiler.py "$@"; }
attacks() { python3 -SB "$ROOT/tests/grading/attacks/attacks.py" "$@"; }

# attack NAME [ARGUMENT...]: compiles $WORK/NAME.c, or the hostile case NAME, and runs it as a
# grader does, in $FOLDER. Sets status, ended, and cgroup. GRADER has the words that begin it.
attack() {
    local said
    export CHECK_PLACE=$WORK/place.json
    FOLDER=$WORK/$1.run
    said=$("${GRADER[@]}" python3 -SB "$ROOT/tests/grading/attacks/attack.py" "$PLACE" "$WORK" \
        "$@" 2>&1) || miss "$said" || return
    IFS='|' read -r status ended cgroup <<<"$said"
}

# nothing_left: no process that a program of this test started is left, nor its cgroup, which could
# not be removed while it had a process
nothing_left() {
    run grep -ls "sandbox[.]${WORK##*sandbox.}/" /proc/[0-9]*/cmdline
    assert_output ""
    assert_not_exist "${cgroup:-/nowhere}"
}

# A copy of the workbook that an ordinary user may read and write.
users_copy() {
    copy=$(mktemp -d /tmp/workbook.XXXXXX)
    chmod 755 "$copy"
    grading_copy "$copy"
    if ! as_user test -r "$copy/build/cuda/include/cuda_runtime_api.h"; then
        rm -rf "$copy/build/cuda/include" "$copy/build/cuda/wheel"
        cp -rL build/cuda/include "$copy/build/cuda/include"
    fi
    [ "$(id -u)" != 0 ] || chown -R 1000:1000 "$copy"
}
# no_bwrap FOLDER: puts a bubblewrap there that fails, as one does that this machine forbids
no_bwrap() {
    mkdir "$1"
    printf '#!/bin/sh\nexit 1\n' >"$1/bwrap"
    chmod 755 "$1/bwrap"
}
as_another() { setpriv --reuid=61200 --regid=61200 --clear-groups "$@"; }
as_user() {
    local user=()
    [ "$(id -u)" != 0 ] || user=(setpriv --reuid=1000 --regid=1000 --clear-groups)
    "${user[@]}" env HOME=/nonexistent "$@"
}

@test "a program sees its libraries, itself and an empty folder, and no other process" {
    need_sandbox
    cat >"$WORK/look.c" <<'END'
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int count, char **files)
{
    int processes = 0;
    DIR *folder = opendir("/proc");
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        processes += atoi(entry->d_name) > 0;
    printf("processes: %d\n", processes);
    FILE *first = fopen("/proc/1/environ", "r");
    for (int c; first && (c = fgetc(first)) != EOF;)
        putchar(c ? c : '\n');
    for (int i = 1; i < count; i++)
        if (!access(files[i], F_OK))
            printf("seen: %s\n", files[i]);
    return 0;
}
END
    local folder others=()
    for folder in /home /root /sys /run /var; do
        # A sandbox has the folders above the workbook, and they are empty otherwise.
        [[ $ROOT == "$folder"/* ]] || others+=("$folder")
    done
    attack look "$ROOT"/{Makefile,README.md,solutions,docs,.git,lessons/*.?,tests/lessons} \
        "$ROOT/tests/grading" "$ROOT/$WORK/look.c" "$ROOT/$ALL/canary" /etc/passwd "${others[@]}" \
        /usr/bin/gcc /usr/include /dev/zero /dev/tty "$BATS_FILE_TMPDIR" "$ROOT/$WORK/look"
    # The first process of a sandbox shows only its PATH, or nothing where root made the sandbox.
    assert_equal "$(grep -v "^PATH=" "$FOLDER/stdout")" "processes: 2"$'\n'"seen: $ROOT/$WORK/look"
    assert_equal "$status $ended" "0 "
}

@test "the compiler sees no solution, no check and no neighbor, however the file names them" {
    need_sandbox
    cp "solutions/$FIRST.c" "$WORK/neighbor.c"
    run in_grader "$PLACE" "$WORK" "$FIRST" <<'PYTHON'
import sys
from pathlib import Path

from attack import ROOT, compiled, end, protected

place, folder, name = protected(*sys.argv[1:3]), Path(sys.argv[2]), sys.argv[3]
solution, file = f"../solutions/{name}.c", folder / "steal.c"
for path in (solution, ROOT / solution[3:], ROOT / folder / "neighbor.c",
    ROOT / f"tests/lessons/{name}/check.py", ROOT / "docs/index.rst", "/etc/passwd"):
    file.write_text(f'#include "{path}"\n')
    words = compiled(file, folder / "steal", place).words
    if "No such file" not in words:
        print(path, words)
# Without a sandbox, the owner of the workbook can include the file, so this test would notice a
# missing one. It is not tried as the user of the programs, who cannot always reach the headers.
file.write_text(f'#include "{solution}"\n')
print(compiled(file, folder / "steal", end(place).changed(sandbox="", user=0)).words, end="")
PYTHON
    assert_success
    assert_output ""
}

@test "there is no network" {
    need_sandbox
    cat >"$WORK/connect.c" <<'END'
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
int main(int count, char **words)
{
    struct sockaddr_in there = {.sin_family = AF_INET,
                                .sin_port = htons(atoi(words[count - 1])),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    puts(connect(socket(AF_INET, SOCK_STREAM, 0), (void *)&there, sizeof there) ? "no" : "yes");
    return 0;
}
END
    local port server
    leashed python3 -SB -c 'import socket, time
s = socket.create_server(("127.0.0.1", 0))
print(s.getsockname()[1], flush=True)
time.sleep(3600)' >"$WORK/port" &
    server=$!
    until [ -s "$WORK/port" ]; do sleep 0.05; done
    port=$(cat "$WORK/port")
    attack connect "$port"
    assert_equal "$(cat "$FOLDER/stdout")" no
    run "$WORK/connect" "$port"
    kill "$server"
    assert_output yes
}

@test "what a program leaves is gone but for its journal, and it does not write its results" {
    need_sandbox
    ls -A /tmp /dev/shm >"$WORK/before"
    echo '#include <sys/stat.h>' >"$WORK/shut.c"
    echo 'int main(void) { return chmod(".", 0); }' >>"$WORK/shut.c"
    attack shut
    assert_equal "$status $ended" "0 "
    # Where no user can make namespaces, root makes the sandbox.
    if [ "$(id -u)" = 0 ] && bwrap --unshare-pid --dev-bind / / true; then
        cp "$WORK/shut.c" "$WORK/shut_again.c"
        PLACE=$(jq -c '.sandbox = "root"' <<<"$PLACE") attack shut_again
        assert_equal "$status $ended" "0 "
    fi
    attack odd_files
    assert_equal "$(ls -A "$FOLDER")" $'stderr\nstdout'
    assert_equal "$status $ended" "0 "
    attack fill_tmp
    assert_equal "$(ls "$FOLDER")" $'journal.jsonl\nstderr\nstdout'
    run find /tmp /dev/shm -maxdepth 1 -name filler
    assert_output ""
    attack journal_link
    assert_file_not_exists "$FOLDER/journal.jsonl"
    # A grader who is not root has no more rights in the folder than the program left there.
    if [ "$(id -u)" = 0 ] && bwrap --unshare-user --dev-bind / / true; then
        mkdir "$WORK/ours"
        cp "$WORK/shut.c" "$WORK/ours"
        local WORK=$WORK/ours rights=-dac_override,-dac_read_search
        local GRADER=(setpriv "--inh-caps=$rights" "--bounding-set=$rights")
        PLACE=$(jq -c '.sandbox = "user" | .user = 0 | .users = false' <<<"$PLACE") \
            attack shut
        assert_equal "$status $ended" "0 "
    fi
    nothing_left
}

# bats test_tags=long
@test "output and files are bounded, and all that a program starts ends" {
    need_sandbox
    local name
    for name in flood_stdout fill_folder stdout_sparse journal_sparse left_forking namespaces \
        kill_all stop_all; do
        attack $name
    done
    nothing_left
}

# bats test_tags=long
@test "processes, time and memory are bounded" {
    need_sandbox
    local name
    for name in fork_bomb spinning_sessions threads; do attack $name; done
    nothing_left
    [ -n "$cgroup" ] || skip "memory: this machine allows this user no cgroup"
    export CHECK_SECONDS=10   # memory is what ends them
    attack touch_3_gib
    # Memory that belongs to no process counts as well. A lower limit is enough to see that.
    MEMORY=268435456 attack touch_3_gib_shared
}

# bats test_tags=long
@test "a program that sleeps runs once; a compiler that is stopped has status 124" {
    local before=$SECONDS
    export CHECK_SECONDS=4
    attack reserve_100_gib
    assert [ $((SECONDS - before)) -lt 32 ]   # less than twice four times these seconds
    export CHECK_SECONDS=1
    for name in large_array macro_chain; do
        attacks write $name "$WORK/$name.c"
        run compile "$WORK/$name.c" "$WORK/$name"
        assert_equal "$name: $status" "$name: 124"
    done
    # A crash of the compiler counts as stopped, too.
    export CHECK_SECONDS=20
    python3 -SB -c 'print("int x =", 400000 * "(", 1, 400000 * ")", ";")' >"$WORK/deep.c"
    run compile "$WORK/deep.c" "$WORK/deep"
    assert_equal "$status" 124
    assert_output --partial "internal compiler error"
}

# bats test_tags=long
@test "where the solution is slow too, a lesson is ungraded, and the next call repeats it" {
    in_copy grading
    # It works for an eighth of the time, as on a machine on which others work for the rest. That is
    # less than the sixth with which a program counts as busy, and far more than a sleeper's share.
    cat >"solutions/$FIRST.c" <<'END'
#include <threads.h>
#include <time.h>
int main(void)
{
    for (struct timespec rest = {0, 140000000};; thrd_sleep(&rest, NULL))
        for (clock_t end = clock() + CLOCKS_PER_SEC / 50; clock() < end;)
            continue;
}
END
    export ONLY=$FIRST STUDENT=solutions
    refused "this machine was so busy that the solution was slow too" \
        CHECK_SECONDS=2 tests/grading/grade.sh
    assert_equal "$(jq -r '.lessons[].status' build/grade/grade.json)" ungraded
    cp "$ROOT/solutions/$FIRST.c" solutions
    accepted RESUME=1 tests/grading/grade.sh
    assert_equal "$(jq '.points == .possible' build/grade/grade.json)" true
}

@test "where a sandbox cannot be made a lesson is ungraded, for the compiler and for a run" {
    need_sandbox
    local call
    mkdir "$WORK/bin"
    # Without a try of the machine, the first call of bubblewrap is for the compiler. A call that
    # fails once is repeated.
    [ -n "$KNOWN" ] || skip "no other user can enter this folder"
    for call in 1:1 2:2 1:2 2:3 3:4; do
        echo 0 >"$WORK/calls"
        chmod 666 "$WORK/calls"
        cat >"$WORK/bin/bwrap" <<END
#!/bin/bash
read -r calls <"$ROOT/$WORK/calls"
echo \$((++calls)) >"$ROOT/$WORK/calls"
if [ \$calls -ge ${call%:*} ] && [ \$calls -le ${call#*:} ]; then
    echo "bwrap: No room for a namespace" >&2
    exit 1
fi
exec $(type -P bwrap) "\$@"
END
        chmod 755 "$WORK/bin/bwrap"
        run as_typed PATH="$ROOT/$WORK/bin:$PATH" OUT="$BATS_TEST_TMPDIR" STUDENT=solutions \
            GRADE_PROTECTED="$KNOWN" ONLY="$FIRST" tests/grading/grade.sh
        if [ "${call%:*}" = "${call#*:}" ]; then
            assert_equal "$call: $status" "$call: 0"
            assert_equal "$(jq '.points == .possible' "$BATS_TEST_TMPDIR/grade.json")" true
            continue
        fi
        assert_equal "$call: $status" "$call: 2"
        assert_output --partial "The sandbox could not be made: bwrap: No room for a namespace"
        assert_equal "$(jq -r '.lessons[].status' "$BATS_TEST_TMPDIR/grade.json")" ungraded
    done
}

@test "what bubblewrap reports is read whole, however slowly it comes" {
    need_sandbox
    mkdir "$WORK/bin"
    # Passes bubblewrap's report on to run.py in pieces with pauses, which a read with a short limit
    # of time would miss.
    cat >"$WORK/bin/bwrap" <<END
#!/bin/bash
for ((i = 1; i <= \$#; i++)); do [ "\${!i}" != --json-status-fd ] || break; done
next=\$((i + 1))
exec {slow}> >(exec {pipe}>&"\${!next}" && while IFS= read -r -n 12 part; do
    printf '%s' "\$part" >&"\$pipe"; [ \${#part} = 12 ] || echo >&"\$pipe"; sleep 0.25; done)
exec $(type -P bwrap) "\${@:1:i}" "\$slow" "\${@:next+1}"
END
    chmod 755 "$WORK/bin/bwrap"
    PATH=$ROOT/$WORK/bin:$PATH CHECK_SECONDS=60 attack odd_files
    assert_equal "$status $ended" "0 "
    # A sandbox that fails without a word has a sentence of its own.
    printf '#!/bin/bash\nexit 1\n' >"$WORK/bin/bwrap"
    cp "$WORK/odd_files.c" "$WORK/again.c"
    compile "$WORK/again.c" "$WORK/again"
    mkdir "$WORK/again.run"
    PATH=$ROOT/$WORK/bin:$PATH run_program "{\"place\": $(<"$CHECK_PLACE")}" "$WORK/again.run" -- \
        "$ROOT/$WORK/again"
    assert_equal "$status" 75
    assert_equal "$ended" "The sandbox could not be made, and nothing said why: was \
the machine very busy, or a process of it killed? Grade again."
}

# as_said STUDENT LESSON CASE GRADE: the case has no point and the sentence that it names; on a
# machine that was too busy it has none
as_said() {
    run jq -r --arg lesson "$2" '.lessons[] | select(.lesson == $lesson)
        | select(.status != "ungraded") | "\(.points) \(.sentence)"' "$4"
    [[ -z $output || $output == "0 "*"$(attacks says "$3" says)"* ]] || complain "$3: $output"
}

@test "no file makes its own lesson ungraded, by its size, its journal or its words" {
    local line files student=$BATS_TEST_TMPDIR/attack1 out=$BATS_TEST_TMPDIR/out
    attacks hand-in "$BATS_TEST_TMPDIR" fake_end long_journal \
        >"$BATS_TEST_TMPDIR/files"
    mapfile -t files <"$BATS_TEST_TMPDIR/files"
    [ "$OWN_SANDBOX" = bubblewrap ] || export SANDBOX=none
    run as_typed CHECK_SECONDS=5 OUT="$out" STUDENT="$student" GRADE_PROTECTED="$KNOWN" \
        ONLY="$(cut -d ' ' -f 2 "$BATS_TEST_TMPDIR/files" | tr '\n' ' ')" tests/grading/grade.sh
    [ -e "$out/grade.json" ] || miss "There is no grade.json: $output"
    # shellcheck disable=SC2086  # words
    for line in "${files[@]}"; do as_said $line "$out/grade.json"; done
    run jq '.lessons | length, map(select(.status == "ungraded"))' "$out/grade.json"
    assert_output $'3\n[]'
    # A journal that was cut is counted the same each time.
    run jq -r '[.lessons[].sentence | select(contains("The most frequent is"))]
        | length, (unique | length)' "$out/grade.json"
    assert_output $'2\n1'
    finish
}

# bats test_tags=long
@test "a check that a signal ends is ungraded, and so is one that ends without a word" {
    in_copy grading
    sed -i '0,/^from check /s/^from check /import os; os.kill(os.getpid(), 9)\n&/' \
        "tests/lessons/$FIRST/check.py"
    refused "The check of $FIRST was ended by a signal" ONLY="$FIRST" tests/grading/grade.sh
    sed -i 's/os.kill(os.getpid(), 9)/os._exit(0)/' "tests/lessons/$FIRST/check.py"
    refused "The check of $FIRST failed: it printed nothing." ONLY="$FIRST" tests/grading/grade.sh
    sed -i 's/os._exit(0)/1 + None/' "tests/lessons/$FIRST/check.py"
    refused "The check of $FIRST failed: TypeError: " ONLY="$FIRST" tests/grading/grade.sh
    assert_equal "$(jq -c '[.points, .possible]' build/grade/grade.json)" \
        "[0,$(possible "$FIRST")]"
}

@test "without bubblewrap a student is refused, or the grade names what is not promised" {
    users_copy
    cd "$copy" || return 1
    mkdir bin
    ln -s /usr/bin/* bin
    rm -f bin/bwrap
    run as_user PATH="$copy/bin" STUDENT=solutions ONLY="$FIRST" tests/grading/grade.sh
    assert_equal "$status" 2
    assert_output "Nothing was graded: this machine allows no sandbox, so students' programs would \
reach what their user reaches. A sandbox takes bubblewrap 0.8 or later, and a kernel that lets it \
make namespaces. SANDBOX=none grades nevertheless."
    assert_file_not_exists build/grade/grade.json
    run as_user PATH="$copy/bin" SANDBOX=none STUDENT=solutions ONLY="$FIRST" \
        tests/grading/grade.sh
    cp build/grade/grade.json "$BATS_TEST_TMPDIR" || true
    rm -rf "$copy"
    assert_success
    assert_line --index 0 --partial "Sandbox: none. Not promised here: hidden files, a cl"
    assert_equal "$(jq -r '.sandbox, .not_promised[0]' "$BATS_TEST_TMPDIR/grade.json")" \
        $'none\nhidden files'
    assert_equal "$(jq '.points == .possible' "$BATS_TEST_TMPDIR/grade.json")" true
}

# bats test_tags=long
@test "root grades in a folder that no other user can enter, with and without a sandbox" {
    [ "$(id -u)" = 0 ] || skip "this is $(id -un)"
    local path copy=$BATS_TEST_TMPDIR/copy class=$BATS_TEST_TMPDIR/class temporary
    grading_copy "$copy"
    chmod 700 "$copy"
    mkdir -p "$class/ada"
    cp "solutions/$FIRST.c" "$class/ada"
    temporary=$(mktemp -d /tmp/workbook.XXXXXX)
    chmod 755 "$temporary"
    cd "$copy" || return 1
    no_bwrap "$temporary/bin"
    umask 077   # as some set it for root
    # Without a sandbox another user must not be able to read the checks.
    chmod 755 "$copy"
    run as_typed PATH="$temporary/bin:$PATH" TMPDIR="$temporary" STUDENT="$class/ada" \
        ONLY="$FIRST" SANDBOX=none tests/grading/grade.sh
    if as_another test -r "$copy/build/simulator/libcudart.so.13"; then
        assert_equal "$status" 2
        assert_output --partial "Keep others out, and grade again: chmod 700 $copy"
        assert_file_not_exists build/grade/grade.json
    fi
    chmod 700 "$copy"
    for path in "$PATH" "$temporary/bin:$PATH"; do
        accepted PATH="$path" TMPDIR="$temporary" STUDENT="$class/ada" ONLY="$FIRST" \
            SANDBOX=none tests/grading/grade.sh
        assert_line "The whole grade: build/grade/grade.json"
        assert_equal "$(jq '.points == .possible' build/grade/grade.json)" true
        # Processes can only be limited when the programs ran as another user.
        run jq -r '.not_promised[]' build/grade/grade.json
        refute_output --partial "a limit of processes"
        accepted PATH="$path" TMPDIR="$temporary" CLASS="$class" OUT=class ONLY="$FIRST" \
            SEED=1 SANDBOX=none tests/grading/grade.sh class
        assert_output --partial "The table: class/class.csv, "
        assert_equal "$(jq '.points == .possible' class/students/ada/grade.json)" true
        assert_equal "$(ls "$temporary")" bin
        rm -rf class build/grade solutions   # a student's workbook has no solutions
    done
    rm -rf "$temporary"
}

@test "where root can become no other user, only the grader's own files are graded" {
    local alone=(unshare --user --map-root-user)
    "${alone[@]}" true 2>/dev/null || skip "this machine makes no user namespace"
    export OUT=$BATS_TEST_TMPDIR/out ONLY=$FIRST
    refused "the student's programs would run as root" \
        STUDENT=solutions "${alone[@]}" tests/grading/grade.sh
    accepted STUDENT=solutions GRADE_OWN=1 "${alone[@]}" tests/grading/grade.sh
    assert_equal "$(jq '.points == .possible' "$OUT/grade.json")" true
}

# bats test_tags=long
@test "a disk that is full ungrades a lesson, and is named" {
    local full=$BATS_TEST_TMPDIR/full path
    bwrap --dev-bind / / true 2>/dev/null || skip "bubblewrap does not work here"
    users_copy
    mkdir "$full"
    cd "$copy" || return 1
    no_bwrap bin
    # Grades on a disk of 4 MiB, which this program fills with its output.
    printf '#include <stdio.h>\nint main(void)\n{\n    for (int i = 0; i < 1000000; i++)
        puts("what nobody needs");\n    return 0;\n}\n' >"lessons/$FIRST.c"
    on_small_disk() {
        run as_typed bwrap --dev-bind / / --perms 0755 --size 4194304 --tmpfs "$copy/build/check" \
            --chdir "$copy" env "$@" ONLY="$FIRST" tests/grading/grade.sh
    }
    for path in "$PATH" "$copy/bin:$PATH"; do
        on_small_disk PATH="$path"
        assert_equal "$status" 2
        assert_line --regexp "^The disk is full: nothing more can be written to .*/run\. Make room"
        assert_equal "$(jq -r '.lessons[].status' build/grade/grade.json)" ungraded
    done
    cp "solutions/$FIRST.c" lessons
    on_small_disk PATH="$PATH"
    assert_success
    chmod 700 "$copy"
    rm -rf "$copy/build/grade"
    if [ "$(id -u)" = 0 ]; then
        run as_typed bwrap --dev-bind / / --size 12288 --tmpfs "$full" --chdir "$copy" \
            env TMPDIR="$full" ONLY="$FIRST" tests/grading/grade.sh
        assert_equal "$status" 2
        assert_output --regexp "^The workbook could not be copied to $full: .*No space left"
    fi
    cd "$ROOT" || return 1
    rm -rf "$copy"
}

# beside_hostile WORKBOOK CASES COMMAND...: grades the hostile cases beside an honest student.
# COMMAND begins each command.
beside_hostile() {
    local folder=$1 chosen=$2 hostile line files
    shift 2
    cd "$folder" || return 1
    "$@" mkdir class
    # shellcheck disable=SC2086  # words
    "$@" python3 -SB tests/grading/attacks/attacks.py hand-in class $chosen \
        >"$BATS_TEST_TMPDIR/files"
    mapfile -t files <"$BATS_TEST_TMPDIR/files"
    "$@" mkdir class/honest
    "$@" cp solutions/06_trim.c class/honest
    "$@" cp solutions/01_first_allocation.c class/honest
    export CHECK_SECONDS=5 ONLY="01 06"
    "$@" env STUDENT=class/honest OUT=alone tests/grading/grade.sh >alone.txt
    for hostile in class/attack*; do
        on_one_core "$@" env CHECK_SECONDS=1 ONLY= STUDENT="$hostile" OUT="${hostile#class/}" \
            JOBS=2 tests/grading/grade.sh >"${hostile#class/}.txt" 2>&1 &
        "$@" env STUDENT=class/honest OUT=beside tests/grading/grade.sh >beside.txt
        diff -r alone beside
        wait "$!" || true   # 2: a machine that is too busy for one of them
    done
    # shellcheck disable=SC2086  # words
    for line in "${files[@]}"; do as_said $line "${line%% *}/grade.json"; done
    finish
    assert_equal "$(jq '.points == .possible' beside/grade.json)" true
    run find build -path 'build/check/*' -name 'grade.*'
    assert_output ""
}

# bats test_tags=long
@test "hostile files get no point and change no byte of a neighbor's grade, as root" {
    need_sandbox
    [ "$(id -u)" = 0 ] || skip "this is $(id -un)"
    grading_copy "$BATS_TEST_TMPDIR/copy"
    # Five that only compute, or write memory, until they are stopped are left out, because
    # macro_chain and message_flood are enough here. They run alone above, and two of them below.
    beside_hostile "$BATS_TEST_TMPDIR/copy" "$(attacks names hostile |
        grep -vxE 'spinning_sessions|threads|fork_bomb|large_array|touch_3_gib')" env
}

# The cases whose end depends on who grades: they make processes, print, need much memory, or let
# the compiler read a file. The others are refused when they are compiled, whoever grades.
AS_USER=$(printf '%s\n' escapes flood_stdout fork_bomb include_pipe touch_3_gib)
# bats test_tags=long
@test "hostile files get no point and change no byte of a neighbor's grade, as an ordinary user" {
    need_sandbox
    local chosen=$AS_USER
    # Where root does not grade them all above, they are graded here.
    [ "$(id -u)" = 0 ] || chosen=$(attacks names hostile)
    users_copy
    beside_hostile "$copy" "$chosen" as_user
    assert_equal "$(jq -r .sandbox beside/grade.json)" bubblewrap
    cd "$ROOT" || return 1
    rm -rf "$copy"
}

# bats test_tags=long
@test "the same files get the same bytes, however busy the machine is" {
    local loops=() student=$BATS_TEST_TMPDIR/student
    mkdir "$student"
    make -s build/mutants/17_ipc_allocation/exporter_frees_first.c
    cp build/mutants/17_ipc_allocation/exporter_frees_first.c "$student/17_ipc_allocation.c"
    cp solutions/01_first_allocation.c lessons/06_trim.c "$student"
    # A report about this program has an address in it.
    sed 's/launch_add(to,/launch_add((int *)((char *)to + 1),/' \
        solutions/21_own_arena.c >"$student/21_own_arena.c"
    export CHECK_SECONDS=5 ONLY="1 6 17 21" STUDENT=$student GRADE_PROTECTED=$KNOWN
    OUT=$BATS_TEST_TMPDIR/1 as_typed tests/grading/grade.sh >"$BATS_TEST_TMPDIR/1.txt" || true
    # One grading on a busy machine is enough, because it keeps all processors busy. grader.bats
    # compares gradings on a quiet one.
    for _ in $(seq $((2 * $(nproc)))); do
        busy &
        loops+=($!)
    done
    OUT=$BATS_TEST_TMPDIR/2 as_typed tests/grading/grade.sh >"$BATS_TEST_TMPDIR/2.txt" || true
    kill "${loops[@]}"
    diff -r "$BATS_TEST_TMPDIR/1" "$BATS_TEST_TMPDIR/2" || miss "The grading on a busy one differs."
    run jq -r '.lessons[2].tests[].lines[]' "$BATS_TEST_TMPDIR/1/grade.json"
    assert_output --partial "process 1"
    run jq -r '.lessons[3].tests[].lines[]' "$BATS_TEST_TMPDIR/1/grade.json"
    assert_output --partial "touched 0x..., which is no multiple of 4"
}
