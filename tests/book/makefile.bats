#!/usr/bin/env bats
# The commands of the Makefile, as a person types them. What they set up is in setup.bats, what the
# checks judge in checks.bats.

# bats file_tags=long
load ../suite

# A machine without a GPU, whatever this one has.
setup() {
    mkdir "$BATS_TEST_TMPDIR/bin"
    stub nvidia-smi
    PATH=$BATS_TEST_TMPDIR/bin:$PATH
}

# Commands in front of PATH that write each call down and fail.
stub() {
    local command folder=$BATS_TEST_TMPDIR
    for command in "$@"; do
        printf '#!/bin/sh\necho %s >>%s\nexit 1\n' "$command" "$folder/calls" \
            >"$folder/bin/$command"
        chmod +x "$folder/bin/$command"
    done
}

@test "make help names every command of the Makefile on one screen" {
    local command
    accepted make help
    [ "${#lines[@]}" -le 24 ]
    assert_equal "$(awk 'length > 80' <<<"$output")" ""
    # shellcheck disable=SC2013  # words
    for command in $(sed -n 's/^\.PHONY: *//p' Makefile); do
        case $command in
        *[\$\(\)]* | FORCE | pages* | place | own-files | program | grader | starters | help)
            continue ;;
        esac
        assert_output --regexp "make $command\\b"
    done
    assert_output --partial BACKEND
    run as_typed make
    assert_line --partial "make run"
}

@test "an editor's container has a system and the packages of README, and begins with make book" {
    local file=.devcontainer/devcontainer.json
    grep -q 'Debian 11, 12, 13 and sid' README.md && grep -qw network README.md
    assert_equal "$(jq -r .image $file)" debian:12
    assert_equal "$(jq -r .onCreateCommand $file)" \
        "apt-get update && apt-get install -y ca-certificates git make"
    assert_equal "$(jq -r .postCreateCommand $file)" "make book OPEN="
}

# bats test_tags=long
@test "DEBUG=1 builds a lesson and the simulated device for a debugger" {
    [ -n "$(type -P gdb)" ] || skip "no gdb here: apt-get install gdb"
    accepted make solution-06 DEBUG=1 BACKEND=simulator
    run gdb -q -batch -ex "set breakpoint pending on" -ex "break pool_allocate" -ex run \
        -ex "frame function do_cudaMallocFromPoolAsync" -ex "print bytes" \
        build/simulator-debug/solutions/06_trim
    assert_line --regexp '^Breakpoint 1, pool_allocate .* at simulator/mem/pool\.c:[0-9]+$'
    assert_line --regexp '^\$1 = [1-9][0-9]+$'
}

@test "a lesson that does not exist: the list of lessons" {
    for goal in 99 check-99 solution-99 hint99 Check-023; do
        refused "make $goal: there is no lesson " make "$goal"
        for lesson in $(lessons); do assert_line "    $lesson"; done
    done
}

@test "a command that make does not know: the nearest ones that it knows" {
    local words
    for words in chek-01:check-01 cheque-01:check-01 mien:mine bok:book Solution-3:solution-03 \
        clinc-2:clinic-02 gradeclass:grade-class check:check-01 "lesson 4:04" \
        "solution 3:solution-03"; do
        # shellcheck disable=SC2086  # words
        refused "" make BACKEND=simulator ${words%%:*}
        assert_line --regexp "there is no such command or file. Nearest:.* make ${words#*:}[.,]"
        refute_line --partial 08_stream_order
    done
    refused "make nothing-of-the-kind: there is no such command or file." make nothing-of-the-kind
}

@test "a variable that resembles a known one is refused, and any other is left alone" {
    local words
    for words in FILES=my.c:FILE STUDENTS=ada:STUDENT file=my.c:FILE HINT=0:HINTS; do
        refused "${words%%=*}= is not a word that make knows here. Nearest:" \
            make list "${words%%:*}"
        assert_output --partial "${words#*:}"
        refute_line --partial 08_stream_order
    done
    accepted make -B list WIDTH=80 CC=gcc PROGRAM="a b"
    # A value of several words, of which one looks like a variable.
    accepted make list FLAGS="-Iinclude -DSEED=41 -DOUT" ARGS=$'8 FILES=3\tstudents=2'
}

@test "a word that is empty, or that the command does not take, is refused; so is a path alone" {
    local words mine=$BATS_TEST_TMPDIR/mine.c
    echo 'int main(void) { return 0; }' >"$mine"
    for words in "check-01 FILE=" "grade STUDENT=" "grade-class CLASS=" "hint-01 HINTS="; do
        # shellcheck disable=SC2086  # words
        refused "${words##* } is empty." make $words
    done
    for words in "grade CLASS=x:grade-class" "repaired-03 FILE=$mine:clinic-01 mine" \
        "check-01 STUDENT=x:grade" "01 MUTANT=x:solution-01" "list NAME=x:new-lesson"; do
        # shellcheck disable=SC2086  # words
        refused "" make ${words%%:*}
        assert_output --regexp "does not take [A-Z]+=. These do: .*${words#*:}"
    done
    for words in "$mine" lessons README.md; do
        refused "$words is a file or a folder, and no command." make 01 "$words"
    done
    cp "$mine" "$BATS_TEST_TMPDIR/two words.c"
    refused "expected one file, in whose path are no blanks and none of" \
        make check-01 FILE="$BATS_TEST_TMPDIR/two words.c"
    refused "expected one file" make check-01 FILE="$mine "
    refused "$BATS_TEST_TMPDIR is a folder" make check-01 FILE="$BATS_TEST_TMPDIR"
    mkfifo "$BATS_TEST_TMPDIR/pipe.c"
    refused "is no file that keeps text" make check-01 FILE="$BATS_TEST_TMPDIR/pipe.c"
    refused "is no file that keeps text" make mine FILE="$BATS_TEST_TMPDIR/pipe.c"
    ln -s loop.c "$BATS_TEST_TMPDIR/loop.c"
    refused "is a link that leads to no file" make mine FILE="$BATS_TEST_TMPDIR/loop.c"
}

@test "a value is text: neither make nor a shell expands what is in it" {
    local text
    for text in '"' "'" '$(id)' '$(error)' '`id`' 'a;b' '$HOME' '*'; do
        refused "got \"$text\"" make 02 ARGS="$text" BACKEND=simulator
        refused "got \"$text\"" make -C lessons 02 ARGS="$text" BACKEND=simulator
        refused "got \"$text\"" ARGS="$text" make 02 BACKEND=simulator
        refused "FILE=$text.c: expected one file" FILE="$text.c" make check-01
        refused "HINTS=$text: give" make hint-01 HINTS="$text"
        refused "BACKEND=$text is not valid" make list BACKEND="$text"
        refused "make new-lesson: give NAME" make new-lesson NAME="$text"
        refused "LESSON=$text: there is no" make mutant NAME=x LESSON="$text" \
            FILE=solutions/06_trim.c
        refused "MUTANT=$text: expected the name" make solution-02 MUTANT="$text"
        refused "FILE=$text.c: expected one file" make check-01 FILE="$text.c"
        refused "make mine: $text.c does not exist" make mine FILE="$text.c"
        refused "OUT=$text: Gradescope takes" make gradescope OUT="$text"
        refused "make ${text/(*)/}: there is no such command" make "${text/(*)/}"
    done
}

@test "an older make, a sanitizer that is none, and no git: a sentence" {
    local copy=$BATS_TEST_TMPDIR/copy command
    refused "This is make 3.81, and the workbook needs 4.2 or later." make MAKE_VERSION=3.81 list
    refused "$ROOT/tools is not the folder of the workbook." make -C tools -f ../Makefile list
    refused "SANITIZE=adress: expected one of address,undefined address" \
        make SANITIZE=adress simulator
    mkdir "$copy"
    cp -r Makefile tools "$copy"
    for command in format.sh coverage.sh; do
        run "$copy/tools/$command"
        assert_failure 2
        assert_output --partial "so it needs git and a clone made with it: fatal: not a git repo"
    done
}

@test "a switch that is 0 is off" {
    run as_typed make -n simulator DEBUG=0 RELEASE=0
    refute_output --regexp 'build/(release|simulator-debug)'
}

@test "a language that the machine lacks costs no line" {
    accepted LC_ALL=xx_YY.UTF-8 make list
    assert_line --index 0 "$FIRST"
    refute_output --partial setlocale
}

@test "a refused argument or setting is what is to be changed, and not the lesson's file" {
    refused 'expected one whole number of MiB' make 02 ARGS=abc BACKEND=simulator
    assert_line "Change what the line above names. The lesson's file is not the reason."
    refute_output --partial unfinished
    refused 'SIM_SCHEDULE is "soon"; expected measured,' SIM_SCHEDULE=soon make 02 BACKEND=simulator
    assert_line "Change what the line above names. The lesson's file is not the reason."
    refute_output --partial unfinished
    refused "Change what the line above names. The lesson's file is not the reason." \
        SIM_JOURNAL=/there/is/none make 02 BACKEND=simulator
    refused 'got "8 9"' make 02 ARGS="8 9" BACKEND=simulator
    refused 'Lesson 02 is unfinished, so it ended with status' make 02 ARGS=8 BACKEND=simulator
}

@test "make run: the backend, every solution in order, and nothing is fetched or installed" {
    rm "$BATS_TEST_TMPDIR/bin/nvidia-smi"
    stub apt-get sudo pip pip3 curl wget
    accepted make -j4 run
    assert_file_not_exists "$BATS_TEST_TMPDIR/calls"
    assert_line --index 0 --regexp '^Backend: simulator \((no nvcc|neither nvidia-smi) .*\)$'
    assert_equal "$(grep '^== ' <<<"$output" | cut -c 4-)" "$(lessons)"
}

@test "make run goes on behind a lesson that this machine cannot run, and says why" {
    accepted SIM_DEVICES=1 make run
    assert_line --regexp '^skipped: '
}

@test "make 01, make 1, ARGS, make solution-01: the program's own output after the backend" {
    local number=${FIRST%%_*}
    accepted make "solution-$number" BACKEND=simulator
    assert_line --index 0 "Backend: simulator (BACKEND=simulator)"
    assert_equal "$(tail -n +2 <<<"$output")" "$(cat "tests/lessons/$FIRST/expected/output.txt")"
    assert_equal "$(as_typed make "solution-${number#0}" BACKEND=simulator)" "$output"
    refused "Backend: simulator" make "$number"
    assert_line "Edit lessons/$FIRST.c. make check-$number says what to repair first."
    assert_equal "$(as_typed make "${number#0}" 2>&1 | sed 's/\[.*//')" \
        "$(sed 's/\[.*//' <<<"$output")"
}

@test "FILE=mine.c takes the place of a lesson's file, wherever it lies" {
    local number=${FIRST%%_*} mine=$BATS_TEST_TMPDIR/mine.c
    printf '#include <stdio.h>\nint main(void) { puts("my own"); }\n' >"$mine"
    accepted make "$number" FILE="$mine"
    assert_line "my own"
    refused "        See it yourself: make $number FILE=$mine" make "check-$number" FILE="$mine"
    cp "solutions/$FIRST.c" build/mine.c
    run as_typed make "$number" FILE=build/mine.c BACKEND=simulator
    assert_equal "$(tail -n +2 <<<"$output")" "$(cat "tests/lessons/$FIRST/expected/output.txt")"
    refused "FILE=nowhere.c does not exist" make "${number#0}" FILE=nowhere.c
    refused "FILE=README.md: this is not a C file (a name ends in .c)" \
        make "${number#0}" FILE=README.md
}

@test "FILE=mine.cu: nvcc compiles it, its kernels run, and mine.c beside it is another program" {
    local number=${FIRST%%_*} mine=$BATS_TEST_TMPDIR/mine
    type -P nvcc >/dev/null || [ -x build/nvcc/wheel/nvidia/cu13/bin/nvcc ] ||
        skip "nvcc is not installed: a .cu file is not compiled here"
    printf '#include <stdio.h>\nint main(void) { puts("in C"); }\n' >"$mine.c"
    cat >"$mine.cu" <<'C'
#include "workbook.h"
__global__ void set(int *data) { *data = 42; }
int main()
{
    int *data, here = 0;
    CHECK(cudaMalloc(&data, sizeof *data));
    set<<<1, 1>>>(data);
    CHECK(cudaMemcpy(&here, data, sizeof here, cudaMemcpyDefault));
    printf("in CUDA C++: %d\n", here);
    CHECK(cudaFree(data));
}
C
    accepted make "$number" FILE="$mine.cu" BACKEND=simulator
    assert_line "in CUDA C++: 42"
    accepted make "$number" FILE="$mine.c" BACKEND=simulator
    assert_line "in C"
    run as_typed OPEN= make "picture-$number" FILE="$mine.cu"
    assert_line --partial "build/pictures/mine.html"
    refused "a check compiles C. \`make $number FILE=$mine.cu\` runs it" \
        make "check-$number" FILE="$mine.cu"
    sed -i 's/= 42/= forty_two/' "$mine.cu"
    refused "$mine.cu does not compile." make "$number" FILE="$mine.cu" BACKEND=simulator
    refused '"Written for an older CUDA"' make mine FILE="$mine.cu"
    # A program's own header comes before the workbook's of that name.
    mkdir "$mine"
    echo '#define WORDS "its own header"' >"$mine/kernels.h"
    printf '#include <stdio.h>\n#include <kernels.h>\nint main() { puts(WORDS); }\n' >"$mine.cu"
    accepted make mine FILE="$mine.cu" FLAGS="-isystem $mine"
    assert_line "its own header"
}

@test "make mine: several sources, flags and arguments, or a program that is built; wrong words" {
    local folder=$BATS_TEST_TMPDIR
    mkdir "$folder/include"
    echo '#define LATE 1' >"$folder/include/kernels.h"
    cat >"$folder/main.c" <<'C'
#include <cuda_runtime_api.h>
#include <stdio.h>

#include "kernels.h"
double half(int);
int main(int argc, char **argv)
{
    int *p;
    cudaStream_t a, b;
    cudaStreamCreateWithFlags(&a, LATE);
    cudaStreamCreateWithFlags(&b, LATE);
    cudaMalloc((void **)&p, 64);
    cudaMemsetAsync(p, 1, 64, a);
    if (argv[argc - 1][0] == 'r')
        cudaMemsetAsync(p, 2, 64, b);
    cudaDeviceSynchronize();
    cudaFree(p);
    printf("%s %.1f\n", argv[1], half(3));
}
C
    printf '%s\n' '#include <math.h>' 'double half(int x) { return sqrt(x * x) / 2; }' \
        >"$folder/half.c"
    accepted make mine FILE="$folder/main.c $folder/half.c" ARGS=quiet \
        FLAGS="-I $folder/include -lm"
    assert_line "quiet 1.5"
    refused "hazard: unordered writes" make mine FILE="$folder/main.c $folder/half.c" ARGS=race \
        FLAGS="-isystem $folder/include"
    assert_line "race 1.5"
    refute_line --partial "Compiler: "
    # A machine without g++ has no libstdc++, either.
    cat >"$folder/cc" <<'END'
#!/bin/bash
case " $* " in
*-print-file-name=libstdc++*) echo libstdc++.so ;;
*" -lstdc++ "*) exit 1 ;;
*) exec gcc "$@" ;;
esac
END
    chmod +x "$folder/cc"
    accepted make mine CC="env $folder/cc" FILE="$folder/main.c $folder/half.c" ARGS=quiet \
        FLAGS="-I $folder/include"
    echo >"$folder/half.cpp"
    refused "half.cpp needs no-g++, which is not installed." \
        make mine CXX=no-g++ FILE="$folder/half.cpp"
    # What was built is taken as it is.
    refused "hazard: unordered writes" make mine FILE=build/mine/main ARGS=race
    refused "make mine FILE=pipeline.cu" make mine
    # It is said before anything is built or fetched.
    run as_typed make -n mine FILE=none.cu
    assert_line --index 0 'bash tools/mine.sh check "$FILE"'
    printf '%s\n' '#include <stdio.h>' 'int main(int count, char **words)' '{' \
        '    for (int i = 1; i < count; i++) printf("[%s]", words[i]);' '    puts(END);' '}' \
        >"$folder/two words.c"
    accepted make mine FILE="$folder/two words.c" FLAGS="-DEND='\"an end\"'" \
        ARGS="a 'b  c' \"\" \"d's\" \$(id)"$'\n*'
    assert_line --index 0 "[a][b  c][][d's][\$(id)][*]an end"
    refused "a line of FLAGS or ARGS ends in the middle of a quotation: it's" \
        make mine FILE="$folder/two words.c" ARGS="it's"
    # Of an earlier call nothing is linked or run.
    refused "the program cannot be linked" \
        make mine FILE="$folder/two words.c" FLAGS="-DEND=0 -fsyntax-only"
    refused "$folder/none.c does not exist. FILE names" \
        make mine FILE="$folder/main.c"$'\n'"$folder/none.c"
    refused "README.md is neither a source (.cu, .c, .cpp, .cc) nor a program" \
        make mine FILE=README.md
    "${CC:-gcc}" -x c -o "$folder/alone" - <<<'int main(void) { return 0; }'
    refused "does not load libcudart.so.13" make mine FILE="$folder/alone"
    echo 'int main(void) { return missing; }' >"$folder/main.c"
    refused "$folder/main.c does not compile." make mine FILE="$folder/main.c"
}

@test "make hint-08: one more a call, HINTS=0 begins again, and so does a lesson that passes" {
    in_copy workbook
    mkdir docs
    : >hint-08   # a file that is called like a command is no hindrance
    printf '%s\n' Title ===== '' '.. dropdown:: Hint 1' '   :color: primary' '' \
        '   :path:`lessons/kernels.h` has ``launch_add``, for the :term:`order <stream>`,' \
        '   and see `a page <https://example.org>`_.' '' '   - one' '   - *two*' '' \
        '.. dropdown:: Hint 2' '' '   .. code-block:: c' '' '      if (a)' '          b();' '' \
        'Check' ----- >docs/08_stream_order.rst
    accepted make hint-08
    assert_output "Hint 1 of 2 for lesson 08:
    lessons/kernels.h has \`launch_add\`, for the order, and see a page
    (https://example.org).

    - one
    - two
One hint is left: make hint-08"
    run as_typed make hint-8
    assert_output "Hint 2 of 2 for lesson 08:
       if (a)
           b();
This was the last hint."
    accepted make hint-8
    assert_line --partial "you have seen all of them. make hint-08 HINTS=0 begins again."
    run as_typed make hint-08 HINTS=0
    assert_line "Hint 1 of 2 for lesson 08:"
    refused "HINTS=all: give the number" make hint-08 HINTS=all
    accepted make check-08 FILE=solutions/08_stream_order.c
    run as_typed make hint-08
    assert_line "Hint 1 of 2 for lesson 08:"
}

@test "every hint of the book is plain text in 84 columns, with every awk that is here" {
    local lesson number count output awk copy=$BATS_TEST_TMPDIR/copy said
    mkdir -p "$copy/tools" "$copy/bin"
    cp tools/{hint,usage}.sh "$copy/tools"
    ln -s "$ROOT/docs" "$copy"
    for lesson in $(lessons); do
        count=$(grep -c '^\.\. dropdown:: Hint ' "docs/$lesson.rst")
        for ((number = 0; number < count; number++)); do
            output=$("$copy/tools/hint.sh" "$lesson" "$number")
            [ "$(wc -l <<<"$output")" -ge 3 ] || complain "$lesson, hint $((number + 1)): $output"
            ! grep -nE '``|:[a-z]+:`|_`|\*\*|^ *\.\. |.{85}' <<<"$output" ||
                complain "$lesson, hint $((number + 1)) is not plain."
        done
    done
    finish
    for awk in mawk gawk original-awk busybox; do
        type -P $awk >/dev/null || continue
        ln -sf "$(type -P $awk)" "$copy/bin/awk"
        run env PATH="$copy/bin:$PATH" "$copy/tools/hint.sh" "$FIRST" 0
        assert_success
        assert_equal "$output" "${said:=$output}"
        refute_output --partial warning
    done
    # What gawk warns of: a backslash in what awk -v gives.
    refute grep -rnE "awk[^|']* -v [a-z]+=[^ ]*\\\\" tests docs --include=*.sh --include=*.bats
}

@test "open.sh: names the page, opens it with OPEN or where a display is" {
    local copy=$BATS_TEST_TMPDIR/copy page
    mkdir -p "$copy/tools" "$copy/bin"
    cp tools/{open,usage}.sh "$copy/tools"
    page=$copy/build/docs/html/index.html
    cd "$copy" || return 1
    run env -u DISPLAY tools/open.sh index
    assert_failure
    assert_output "The book is not built. make book builds and opens it."
    mkdir -p "${page%/*}"
    : >"$page"
    printf '%s\n' '#!/bin/sh' 'echo "$0 $1" >"$0.opened"' | tee bin/browser >bin/xdg-open
    chmod +x bin/*
    PATH=$copy/bin:$PATH
    for words in "-u DISPLAY -u WAYLAND_DISPLAY" "DISPLAY=:0 OPEN="; do
        # shellcheck disable=SC2086  # words
        run env $words tools/open.sh index
        assert_success
        assert_output "Open: $page"
    done
    assert_file_not_exists bin/xdg-open.opened
    DISPLAY=:0 tools/open.sh index 3>&-
    wait_for bin/xdg-open.opened "$copy/bin/xdg-open $page"
    OPEN=browser tools/open.sh index 3>&-
    wait_for bin/browser.opened "$copy/bin/browser $page"
    run env OPEN=nothing-of-the-kind tools/open.sh index
    assert_failure
    assert_output --partial "OPEN=nothing-of-the-kind: there is no such program."
}

@test "a path with odd letters serves, and one that cannot is named" {
    local copy="$BATS_TEST_TMPDIR/Jürgen's CUDA, 1"
    workbook_copy "$copy"
    cd "$copy" || return 1
    rm build/simulator/objects/api/call.o
    accepted make LTO=-fno-lto solution-08
    run as_typed make 08
    assert_failure
    assert_output --regexp ' \(lessons/08_stream_order\.c:[0-9]+\)'
    accepted make check-14 FILE=solutions/14_peer_access.c
    accepted make 08 FILE=./solutions/08_stream_order.c
    accepted make -C lessons 08 FILE=../solutions/08_stream_order.c
    mv "$copy" "$BATS_TEST_TMPDIR/a \"workbook\""
    cd "$BATS_TEST_TMPDIR/a \"workbook\"" || return 1
    refused "The path of this folder has the character \" in it: $PWD. Rename" make 08
}

@test "output that cannot be written is a sentence; that nobody reads it on is none" {
    local script
    export ONLY=1 OUT="$BATS_TEST_TMPDIR/grade"
    for script in "tests/grading/judge.py 06_trim solutions/06_trim.c --form=brief" \
        "tools/variants.py names 06_trim" "tests/grading/attacks/attacks.py names cheats" \
        "tests/grading/grade.py . . 022"; do
        run as_typed bash -c "python3 -SB $script >/dev/full"
        assert_failure
        assert_output "The output cannot be written: No space left on device."
        accepted bash -c "python3 -SB $script | true; python3 -SB $script >&-"
        assert_output ""
    done
}

@test "a disk that is full is named, and not the file" {
    local full=$BATS_TEST_TMPDIR/full compile
    bwrap --dev-bind / / true 2>/dev/null || skip "bubblewrap does not work here"
    mkdir "$full"
    compile=(tools/compile.sh gcc -g -Ilessons -isystem build/cuda/include -S
        solutions/01_first_allocation.c -o)
    run as_typed bwrap --dev-bind / / --size 8192 --tmpfs "$full" "${compile[@]}" "$full/program"
    assert_failure
    assert_line "The disk is full: nothing more can be written to $full. Make room there."
    refute_output --partial "does not compile"
    run as_typed bwrap --dev-bind / / --size 8192 --tmpfs "$full" env TMPDIR="$full" \
        "${compile[@]/-S/-c}" "$BATS_TEST_TMPDIR/program"
    assert_line "The disk is full: nothing more can be written to $full. Make room there."
    run as_typed bwrap --dev-bind / / --ro-bind "$full" "$full" "${compile[@]}" "$full/program"
    assert_failure
    assert_output "Nothing can be written to $full. Copy the workbook to a folder of your own."
}

@test "make grade-class writes nothing outside of the workbook" {
    local home=$BATS_TEST_TMPDIR/home
    mkdir -p "$home" "$BATS_TEST_TMPDIR/class/ada"
    cp "solutions/$FIRST.c" "$BATS_TEST_TMPDIR/class/ada"
    accepted HOME="$home" XDG_CACHE_HOME='' XDG_CONFIG_HOME='' CLASS="$BATS_TEST_TMPDIR/class" \
        OUT="$BATS_TEST_TMPDIR/out" ONLY="$FIRST" make grade-class
    run find "$home" -mindepth 1
    assert_output ""
}

# A compiler in the place of gcc, which is done at once: what make does is judged, and not what it
# compiles. Only headers are read by gcc (-E). Every file that it writes is two lines, "half" and
# "whole"; it links only whole files.
# With STUCK=FILE its first call writes half of its files, its process group into FILE, and waits
# for FILE.go.
false_compiler() {
    cat >compiler <<'END'
#!/bin/bash
case $1 in -dump* | -E) exec gcc "$@" ;; esac
for word; do
    case $before in -o | -MF) files+=("$word") ;; esac
    case $word in *.o) [ "$(tail -n 1 "$word" 2>/dev/null)" = whole ] || partial+=" $word" ;; esac
    before=$word
done
case " $* " in
*" -c "*) ;;
*) [ -z "$partial" ] || { echo "not whole:$partial" >&2; exit 1; } ;;
esac
for file in "${files[@]}"; do echo half >"$file"; done
read -r _ _ _ _ group _ </proc/$$/stat
if [ -n "$STUCK" ] && (set -o noclobber; echo "$group" >"$STUCK") 2>/dev/null; then
    for i in {1..6000}; do [ ! -e "$STUCK.go" ] || break; sleep 0.05; done
fi
for file in "${files[@]}"; do
    case $file in *.d) : >"$file" ;; *) echo whole >>"$file" ;; esac
done
END
    chmod +x compiler
}

@test "who types make in lessons has the same commands, and FILE= is named from there" {
    local list
    list=$(as_typed make list)
    accepted make -C lessons --no-print-directory list
    assert_output "$list"
    refused "FILE=lessons/none.c does not exist" make -C lessons check-01 FILE=none.c
    refused "FILE=/none.c does not exist" make -C lessons check-01 FILE=/none.c
    refused "make no-such: there is no such command or file." make -C lessons no-such
}

@test "the first build says what it does, the next one nothing" {
    in_copy workbook
    rm -r build/simulator
    false_compiler
    run as_typed make CC=./compiler simulator
    assert_line --index 0 "Compiling the simulated device into build/simulator."
    # Where it takes longer than five seconds it says how far it is.
    refute_output --regexp $'\n *[^ 0-9]'
    run as_typed make CC=./compiler simulator
    assert_output ""
}

# A make in the background, in a fresh copy, of which one compiler has written half of its files.
# In $stuck is its process group, and in $first its own number.
stuck_make() {
    local half=$BATS_TEST_TMPDIR/half
    in_copy workbook
    rm -r build/simulator
    false_compiler
    as_typed STUCK="$half" setsid make CC=./compiler simulator >first 2>&1 &
    first=$!
    within_reason test -s "$half"
    stuck=$(<"$half")
}

@test "two makes at once in a fresh copy both end well" {
    local stuck first
    stuck_make
    accepted make CC=./compiler simulator
    touch "$BATS_TEST_TMPDIR/half.go"
    wait "$first" || miss "The first make failed:" "$(<first)"
    accepted make CC=./compiler simulator
    assert_output ""
}

# In the place of Python is a program that writes down when it begins and ends; the first of all
# waits for a file.
@test "two books at once are one: one make writes at a time, the other reports why it waits" {
    local first second
    in_copy workbook
    printf '#!/bin/sh\n' >tools/setup.sh
    mkdir -p build/venv/bin build/docs/{html,epub}
    touch build/venv/docs build/docs/html/index.html build/docs/epub/of_an_earlier_build
    cat >build/venv/bin/python3 <<'END'
#!/bin/bash
[ -e turns ] || first=1
echo begin >>turns
for ((i = 0; i < 6000; i++)); do [ -n "$first" ] && [ ! -e go ] || break; sleep 0.05; done
case $* in *"-b epub"*) mkdir "${!#}" && echo book >"${!#}"/cuda-memory-pools.epub ;; esac
echo end >>turns
END
    chmod +x build/venv/bin/python3
    as_typed make book OPEN= >first 2>&1 &
    first=$!
    within_reason test -s turns
    as_typed make book OPEN= >second 2>&1 &
    second=$!
    within_reason grep -q '^Another make builds the book. This one waits for it.$' second
    assert_equal "$(<turns)" begin
    touch go
    wait "$first" || miss "The first make failed:" "$(<first)"
    wait "$second" || miss "The second make failed:" "$(<second)"
    # The pages, the EPUB and the PDF of each.
    assert_equal "$(<turns)" "$(for _ in {1..6}; do printf '%s\n' begin end; done)"
    assert_file_not_empty build/docs/cuda-memory-pools.epub
}

@test "a make that was killed while it compiled is no hindrance to the next" {
    local stuck first
    stuck_make
    kill -KILL -- "-$stuck"
    wait "$first" || true
    accepted make CC=./compiler simulator
}

@test "BACKEND=gpu without a GPU, or a backend that is unknown, is an error" {
    refused "BACKEND=gpu, but n" make run BACKEND=gpu
    for command in run test check-01 01; do
        refused "BACKEND=cpu is not valid" make "$command" BACKEND=cpu
    done
}

@test "a GPU whose driver is too old, or away: what the error means, and what runs without a GPU" {
    local folder=$BATS_TEST_TMPDIR
    type -P nvcc >/dev/null || skip "there is no nvcc here"
    ! nvidia-smi -L >/dev/null 2>&1 || skip "there is a GPU here"
    printf '#!/bin/sh\necho "GPU 0: a stub"\n' >"$folder/bin/nvidia-smi"
    workbook_copy "$folder/copy"
    cd "$folder/copy" || return 1
    run as_typed make solution-01
    assert_failure
    assert_line --index 0 "Backend: gpu (a GPU and nvcc were found)"
    assert_line --regexp "^cudaError(InsufficientDriver|NoDevice): .*\
 BACKEND=simulator runs this without a GPU\.$"
    accepted make solution-01 BACKEND=simulator
}

@test "make scale, in the optimized build: a row with its figures, and one in which a call fails" {
    accepted make scale ARGS="20 events"
    # Its kernels run on processors with and without AVX2.
    make -s RELEASE=1 simulator
    [ "$(uname -m)" != x86_64 ] ||
        assert_equal 2 "$(nm build/release/libptx.so | grep -cE ' run_add_f32\.(arch_|default)')"
    assert_line --regexp '^[ *] events: make, record, wait +1000( +[0-9.]+){8}$'
    refute_line --regexp '^[ *] loop'
    accepted SIM_FAIL=cudaEventCreateWithFlags:2000 make scale ARGS="20 events"
    assert_line --regexp '^\* events: .* 1000 +[0-9.]+ +- +- .* cudaErrorMemoryAllocation in line'
}

@test "the optimized build asks for link-time optimization only where the compiler can link so" {
    run as_typed make -n RELEASE=1 simulator
    assert_output --partial " -flto=auto "
    printf '%s\n' '#!/bin/bash' '[[ $* == *-flto* && $* != *" -c "* ]] || exec gcc "$@"' 'exit 1' \
        >"$BATS_TEST_TMPDIR/without-plugin"
    chmod +x "$BATS_TEST_TMPDIR/without-plugin"
    accepted CC="$BATS_TEST_TMPDIR/without-plugin" make -n RELEASE=1 simulator
    refute_output --partial "-flto"
}

@test "after an edit only what it concerns is built, a lesson in 2 seconds of processor time" {
    local header users
    in_copy workbook
    as_typed make -s simulator
    touch mark
    # is_new FILE: was it made since the mark?
    is_new() { [ "$1" -nt mark ]; }
    sed 's/int main/\n&/' "solutions/$FIRST.c" >"lessons/$FIRST.c"
    local TIMEFORMAT='%U %S'
    { time run as_typed make "${FIRST%%_*}"; } 2>took
    assert_success
    refute is_new build/simulator/libcudart.so.13
    awk '{ exit $1 + $2 > 2 }' took ||
        miss "It took $(<took) seconds of processor time (user, system)."
    # An older program that was built from another text must not run in its place.
    printf '#include <stdio.h>\nint main(void) { puts("new text"); }\n' >"lessons/$FIRST.c"
    run as_typed make "${FIRST%%_*}"
    assert_line "new text"

    cp -p simulator/sched/engine.c kept.c
    touch -d "1 minute ago" build/simulator/objects/said # as in a build that takes longer
    echo '#error "not finished"' >>simulator/sched/engine.c
    refused "not finished" make simulator
    refute_output --partial " files"
    refute is_new build/simulator/libcudart.so.13
    mv kept.c simulator/sched/engine.c
    rm build/simulator/objects/said

    false_compiler
    sed -i '/partial/d' compiler   # the other objects are real
    header=simulator/check/page_guard.h
    users=$(grep -l " $header" build/simulator/objects/*/*.d | wc -l)
    [ "$users" -gt 2 ]
    touch mark
    touch "$header"
    accepted make CC=./compiler simulator
    assert_output ""
    assert_equal "$(find build/simulator/objects -name '*.o' -newer mark | wc -l)" "$users"
    is_new build/simulator/libcudart.so.13

    rm "lessons/$FIRST.c"
    refused "lessons/$FIRST.c does not exist." make "${FIRST%%_*}"
    refute_output --partial git
    mkdir .git
    refused "git checkout -- lessons/$FIRST.c brings it back." make "${FIRST%%_*}"
}

@test "make test reports a test as it ends, also into a file, and a failed one in one piece" {
    local copy=$BATS_TEST_TMPDIR/copy
    mkdir -p "$copy/tests/some"
    cp -a tools "$copy"
    cd "$copy" || return 1
    printf '%s\n' '@test "first" { true; }' \
        '@test "second" { for i in $(seq 6000); do [ ! -e end ] || break; sleep 0.1; done; }' \
        >tests/some/one.bats
    printf '%s\n' '@test "third" { echo why; false; }' '@test "fourth" { true; }' \
        >tests/some/two.bats
    echo '@test "fifth" {' >tests/some/three.bats
    as_typed tools/test.sh test >log 2>&1 &
    within_reason grep -q first log
    within_reason grep -q fourth log
    within_reason grep -q three.bats log
    run grep -c second log
    assert_output 0
    touch end
    wait $! && miss "It reports success:" "$(<log)"
    within_reason grep -q second log
    assert_equal "$(tail -n 1 log)" "3 passed, 2 failed"
    grep -A 3 'MISS  third' log | grep -q "        why"
    # Two files at a time: the words of a test stay with its name.
    run awk -f tools/one_stream.awk <<<$'a\t1..2\nb\t1..1\na\tnot ok 1 x\nb\tok 1 y
a\t# words\na\tok 2 z\na\t\nb\t'
    assert_output $'ok 1 y\nnot ok 1 x\n# words\nok 2 z\n1..3'
}

@test "make test-all runs what make test has not passed on the same sources, and what is long" {
    local copy=$BATS_TEST_TMPDIR/copy
    mkdir -p "$copy/tests/some"
    cp -a tools "$copy"
    cd "$copy" || return 1
    # The set-up of test-all is not what this is about.
    printf '#!/bin/sh\n' | tee tools/setup.sh >./make
    chmod +x make
    printf '%s\n' '@test "passes" { true; }' '# bats test_tags=long' '@test "is long" { true; }' \
        >tests/some/one.bats
    printf '%s\n' '# bats test_tags=more' '@test "does more" { true; }' \
        '@test "does no more" { true; }' >tests/some/two.bats
    printf '%s\n' '@test "is skipped" { skip "for now"; }' '@test "beside it" { true; }' \
        >tests/some/three.bats
    printf '%s\n' '@test "alone" { true; }' >tests/some/four.bats
    printf '%s\n' '# bats file_tags=long' '@test "is long, too" { true; }' >tests/some/five.bats
    echo build >.gitignore
    git init -q
    run as_typed PATH="$PWD:$PATH" tools/test.sh test
    assert_line "5 passed, 0 failed, 1 skipped"
    run as_typed PATH="$PWD:$PATH" tools/test.sh test-all
    assert_line "make test has passed 3 files on these sources: of those, what takes long."
    refute_line --regexp '(passes|alone|does no more)$'
    assert_line "  ok    is long"
    assert_line "  ok    is long, too"
    assert_line "  ok    does more"
    assert_line "  ok    beside it"
    assert_line "4 passed, 0 failed, 1 skipped"
    # Other sources: everything.
    echo >>tests/some/four.bats
    run as_typed PATH="$PWD:$PATH" tools/test.sh test-all
    assert_line "7 passed, 0 failed, 1 skipped"
}

@test "a test that reads TEST_LONG has the tag by which test-all runs it again" {
    run awk 'FNR == 1 { file = test = "" }
        /^# bats file_tags=/ { file = $0 }
        /^# bats test_tags=/ { test = $0 }
        /^# bats .*=more/ { more[FILENAME] }
        /[$]\{TEST_LONG/ && !is_test { outside[FILENAME] } # serves some of its tests
        /[$]\{TEST_LONG/ && is_test && file test !~ /=(long|more)/ { print FILENAME ":" FNR }
        /^@test/ { is_test = 1 }
        /^}/ { test = ""; is_test = 0 }
        END { for (name in outside) if (!(name in more)) print name }' \
        {tests,simulator/tests}/*/*.bats
    assert_output ""
}

@test "the report: a plan of zero tests, tests that did not run, no plan at all are failures" {
    report() { run awk -f tools/report.awk <<<"$1"; }
    report $'1..2\nok 1 one\nok 2 two'
    assert_success
    assert_line --index 2 "2 passed, 0 failed"
    report $'1..3\nok 1 one\nnot ok 2 two\n# why\nok 3 three # skip no GPU'
    assert_failure
    assert_line "        why"
    assert_line "  skip  three: no GPU"
    assert_equal "$(printf '%s\n' "${lines[@]: -4}")" \
        $'The failures again:\n  MISS  two\n        why\n1 passed, 1 failed, 1 skipped'
    assert_equal "${lines[-1]}" "1 passed, 1 failed, 1 skipped"
    report '1..0'
    assert_failure
    assert_line "No test ran."
    report ''
    assert_failure
    report $'1..3\nok 1 one'
    assert_failure
    assert_equal "${lines[-1]}" "1 passed, 2 failed"
}
