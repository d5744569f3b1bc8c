#!/usr/bin/env bats
# The set-up script on machines that lack something. Each machine is a PATH of links and stubs, and
# a SETUP_ROOT with nothing in it.

# bats file_tags=long
load ../suite

TOOLS=(awk basename bash cat chmod cp cut dirname env find flock getconf grep head ln make mkdir mv
    nproc readlink realpath rm sed sort stat tail touch true)

setup() {
    machine=$BATS_TEST_TMPDIR/machine
    bin=$machine/bin
    calls=$machine/calls
    mkdir -p "$bin" "$machine/root" "$machine/copy/tools"
    : >"$calls"
    cp tools/{setup.sh,usage.sh,requirements.txt} "$machine/copy/tools"
    for tool in "${TOOLS[@]}"; do ln -s "$(type -P "$tool")" "$bin/$tool"; done
    stub id 'echo "${STUB_USER:-1000}"'
}

# stub NAME BODY: a command of the machine, which writes each call of it down
stub() {
    rm -f "$bin/$1"
    printf '%s\n' '#!/bin/bash' "echo \"$1 \$*\" >>'$calls'" "$2" >"$bin/$1"
    chmod +x "$bin/$1"
}

toolkit() { # toolkit FOLDER VERSION: headers, as far as the script looks at them
    mkdir -p "$1/include/crt"
    echo "#define CUDART_VERSION  $2" >"$1/include/cuda_runtime_api.h"
    touch "$1/include/crt/host_defines.h"
}

compiler() { ln -sf "$(type -P gcc)" "$bin/gcc"; }

# A machine that has what a lesson needs.
whole() {
    compiler
    toolkit "$machine/root/usr/local/cuda" 13000
}

# A Python of version $PYTHON that makes environments, and a pip that gives headers, or not.
python() {
    # shellcheck disable=SC2016
    stub python3 '
case "$*" in
"-I -S -c "*) echo ".cpython-${PYTHON:-311}.so" ;;
"-m venv "*) mkdir -p "$3/bin" && cp "$0" "$3/bin" ;;
*"pip --version"*) exit 0 ;;
*"pip install"*build/venv/*) ;;
*"pip install"*)
    [ -z "$NO_NETWORK" ] || {
        echo "ERROR: Could not find a version that satisfies the requirement"
        exit 1
    }
    case "$*" in
    *build/nvcc/*)
        mkdir -p build/nvcc/arriving/nvidia/cu13/bin
        cp "$0" build/nvcc/arriving/nvidia/cu13/bin/nvcc
        exit 0 ;;
    esac
    include=build/cuda/arriving/nvidia/cu13/include
    mkdir -p $include/crt
    echo "#define CUDART_VERSION  13000" >$include/cuda_runtime_api.h
    : >$include/crt/host_defines.h ;;
esac'
}

headers() { head -n 1 "$machine/copy/build/cuda/found"; }

set_up() { # set_up [NAME=VALUE...] COMMAND
    run env -i PATH="$bin" HOME="$machine" SETUP_ROOT="$machine/root" "${@:1:$#-1}" \
        "$machine/copy/tools/setup.sh" "${!#}" 3>&- 4>&-
}

# sets_up [NAME=VALUE...] COMMAND: it ends well
sets_up() {
    set_up "$@"
    assert_success
}

# fails WORDS [NAME=VALUE...] COMMAND: it ends with an error that has these words
fails() {
    set_up "${@:2}"
    assert_failure
    assert_output --partial "$1"
}

# silent [NAME=VALUE...] COMMAND: nothing is missing, so nothing is said
silent() {
    set_up "$@"
    assert_success
    assert_output ""
}

INSTALL="apt-get install -y --no-install-recommends"

# The line to type that the book has, without the ends of its lines.
line_in() { sed -n '/apt-get update/,/[^\\]$/p' "$1" | sed 's/ *\\$//; s/^ *\($ \)*//' | xargs; }

@test "nothing there, no rights: the line to type has what the suite needs, as the book has it" {
    local line
    stub apt-get ''
    stub sudo 'exit 1'
    line=$(line_in docs/getting_started.rst)
    [[ $line == "sudo apt-get update && sudo $INSTALL "* ]]
    set_up suite
    assert_failure
    assert_line "Missing: ${line##*recommends }. Type this, then run make again:"
    assert_line "    $line"
    rm "$bin/sudo"
    set_up suite
    assert_line "Missing: ${line##*recommends }. Type this as root, then run make again:"
    assert_line "    ${line//sudo /}"
}

@test "nothing there, no rights: each command asks for what it needs, once, before all else" {
    local goal copy=$machine/copy said compile="gcc libc6-dev"
    declare -A needs=([run]="$compile" [check-01]="$compile python3" [watch]="$compile python3"
        [book OPEN=]="$compile python3 python3-venv" [docs]="$compile python3 python3-venv"
        [grade]="$compile python3 bubblewrap" [grade-class]="$compile python3 parallel bubblewrap"
        [test]="$compile python3 bats jq bats-support bats-assert bats-file parallel python3-venv \
bubblewrap")
    rm -r "$copy"
    mkdir -p "$copy/tests" "$copy/docs"
    cp -a Makefile simulator lessons solutions tools "$copy"
    cp -a docs/clinic "$copy/docs"
    cp -a tests/{lessons,grading} tests/build.mk "$copy/tests"
    stub apt-get ''
    toolkit "$machine/root/usr/local/cuda" 13000
    for goal in "${!needs[@]}"; do
        # shellcheck disable=SC2086
        run as_typed env -i PATH="$bin" HOME="$machine" SETUP_ROOT="$machine/root" \
            make -C "$copy" -j4 $goal
        assert_failure
        assert_equal "$goal: $(grep -c '^    apt-get update' <<<"$output")" "$goal: 1"
        said=$(grep -vE '^(Backend|make): |^make\[|^ *apt-get|^Missing: ' <<<"$output") || true
        assert_equal "$said" ""
        said=$(sed -n 's/^    apt-get .*recommends //p' <<<"$output" | tr ' ' '\n' | sort | xargs)
        assert_equal "$goal: $said" "$goal: $(tr ' ' '\n' <<<"${needs[$goal]}" | sort | xargs)"
    done
    # Nothing is tried.
    run grep -v '^id' "$calls"
    assert_output ""
}

@test "without apt-get the line is in the words of dnf, zypper or pacman" {
    local manager
    declare -A line=(
        [dnf]="dnf install gcc glibc-devel python3 python3-pip"
        [zypper]="zypper install gcc glibc-devel python3 python3-pip"
        [pacman]="pacman -S --needed gcc glibc python")
    toolkit "$machine/root/usr/local/cuda" 13000
    for manager in "${!line[@]}"; do
        stub $manager ''
        set_up pages
        assert_failure
        assert_line "    ${line[$manager]}"
        rm "$bin/$manager"
    done
    stub pacman ''
    set_up suite
    assert_line "    pacman -S --needed gcc glibc python bash-bats jq bash-bats-support \
bash-bats-assert bash-bats-file parallel bubblewrap"
    rm "$bin/pacman"
    set_up pages
    assert_failure
    assert_output --regexp "^Missing: gcc libc6-dev .*\(these are Debian's names\)"
}

@test "no rights: a command that has what it needs is silent; a class needs GNU parallel" {
    local purpose
    stub apt-get ''
    whole
    silent build
    set_up check
    assert_failure
    python
    for purpose in check grade; do
        silent $purpose
    done
    for purpose in none moreutils; do
        set_up grade-class
        assert_failure
        assert_line --regexp "^Missing: parallel bubblewrap\. "
        stub parallel ''
    done
    stub parallel '# GNU Parallel'
    silent grade-class
}

@test "make live without emcc, no rights: the line to type; with it, its place is noted" {
    compiler
    stub apt-get ''
    set_up live
    assert_failure
    assert_line --regexp "^    apt-get update && $INSTALL emscripten$"
    stub emcc ''
    silent live
    assert_equal "$(<"$machine/copy/build/live/emcc")" "$bin/emcc"
}

@test "as root, or by a sudo that requires no password, what is missing is installed, once" {
    stub apt-get "case \$1 in install) ln -s $(type -P gcc) $bin/gcc ;; esac"
    toolkit "$machine/root/usr/local/cuda" 13000
    sets_up STUB_USER=0 build
    assert_output --partial "Installing: $INSTALL gcc libc6-dev"
    assert_equal "$(grep -c '^apt-get install' "$calls")" 1
    : >"$calls"
    silent STUB_USER=0 build
    assert_equal "$(cat "$calls")" ""
    rm "$bin/gcc"
    # shellcheck disable=SC2016
    stub sudo '[ "$1" != -n ] || shift; exec "$@"'
    sets_up build
    assert_equal "$(grep -c '^sudo env .* apt-get install' "$calls")" 1
}

@test "an apt-get that fails, or does not help: a sentence" {
    toolkit "$machine/root/usr/local/cuda" 13000
    stub apt-get 'echo "E: Failed to fetch http://example.org"; exit 100'
    fails "E: Failed to fetch" STUB_USER=0 build
    assert_output --partial "could not be installed"
    stub apt-get ''
    fails "still missing: gcc" STUB_USER=0 build
}

@test "headers are taken from CUDA_HOME, from the folder of nvcc, from the usual folders" {
    compiler
    toolkit "$machine/mine" 13020
    sets_up CUDA_HOME="$machine/mine" build
    assert_equal "$(headers)" "$machine/mine/include"

    toolkit "$machine/other" 13000
    mkdir "$machine/other/bin"
    printf '#!/bin/bash\n' >"$machine/other/bin/nvcc"
    chmod +x "$machine/other/bin/nvcc"
    ln -s "$machine/other/bin/nvcc" "$bin/nvcc"
    sets_up build
    assert_equal "$(headers)" "$machine/other/include"

    rm "$bin/nvcc"
    rm -r "$machine/copy/build"
    toolkit "$machine/root/usr/local/cuda-13.1" 13010
    sets_up build
    assert_equal "$(headers)" "$machine/root/usr/local/cuda-13.1/include"
}

@test "no headers: they are fetched, once; without network or pip: a sentence" {
    local copy
    copy=$(realpath "$machine/copy")
    compiler
    stub apt-get ''
    stub python3 'exit 1'
    set_up build
    assert_failure
    assert_line --regexp "^    apt-get update && $INSTALL .*python3-venv"
    python
    fails "There are no CUDA 13 headers on this machine" NO_NETWORK=1 build
    assert_output --partial "set CUDA_HOME"
    assert_file_not_exists "$copy/build/cuda/wheel"
    assert_file_not_exists "$copy/build/cuda/found"
    sets_up build
    assert_output --partial "Fetching the CUDA 13.0 headers"
    assert_equal "$(headers)" "$copy/build/cuda/wheel/nvidia/cu13/include"
    grep -q -- '--require-hashes' "$calls"
    : >"$calls"
    silent build
    assert_equal "$(cat "$calls")" ""
}

@test "a .cu file and no toolkit: nvcc is fetched, once; a toolkit of CUDA 13 is taken as it is" {
    local wheel toolkit=$machine/root/usr/local/cuda
    wheel=$(realpath "$machine/copy")/build/nvcc/wheel/nvidia/cu13/bin/nvcc
    compiler
    stub g++
    python
    set_up build
    fails "There is no nvcc of CUDA 13 on this machine, and PyPI's could not be" NO_NETWORK=1 cuda
    sets_up cuda
    assert_output --partial "Fetching NVIDIA's compiler nvcc 13.0 from PyPI (105 MB)"
    assert_equal "$(cat "$machine/copy/build/nvcc/nvcc")" "$wheel"
    : >"$calls"
    silent cuda
    assert_equal "$(cat "$calls")" ""
    toolkit "$toolkit" 12000
    mkdir "$toolkit/bin"
    cp "$bin/python3" "$toolkit/bin/nvcc"
    set_up cuda
    assert_equal "$(cat "$machine/copy/build/nvcc/nvcc")" "$wheel"
    toolkit "$toolkit" 13000
    set_up cuda
    assert_equal "$(cat "$machine/copy/build/nvcc/nvcc")" "$toolkit/bin/nvcc"
}

# set_up_beside LOG [NAME=VALUE...] COMMAND: in the background, in a process group of its own, $!
set_up_beside() {
    local log=$1
    shift
    setsid env -i PATH="$bin" HOME="$machine" SETUP_ROOT="$machine/root" "${@:1:$#-1}" \
        "$machine/copy/tools/setup.sh" "${!#}" >"$log" 2>&1 3>&- 4>&- &
}

# hold_at LINE: before that line pip waits for a word in $machine/network, as long as that is there
hold_at() {
    local network=$machine/network
    mkfifo "$network"
    sed -i "s|^$1.*|[ ! -p '$network' ] \\|\\| read -r _ <'$network'\\n&|" "$bin/python3"
}

@test "two set-ups at once fetch once, the first says every five seconds that it goes on" {
    local first second
    compiler
    python
    hold_at '    include='
    set_up_beside "$machine/first" build
    first=$!
    wait_for "$calls" "pip install"
    set_up_beside "$machine/second" build
    second=$!
    wait_for "$machine/second" "Another make is setting up. This one waits for it."
    wait_for "$machine/first" " seconds"   # 5, or 6 on a busy machine
    echo >"$machine/network"
    wait $first
    wait $second
    assert_equal "$(grep -c 'pip install' "$calls")" 1
    assert_file_exists "$machine/copy/build/cuda/include/crt/host_defines.h"
}

@test "a set-up that was killed while it fetches is no hindrance to the next" {
    compiler
    python
    hold_at '    : >.include'
    set_up_beside "$machine/first" build
    wait_for "$calls" "pip install"
    kill -KILL -- "-$!"
    wait $! || true
    rm "$machine/network"
    sets_up build
    assert_file_exists "$machine/copy/build/cuda/include/crt/host_defines.h"
}

@test "an environment in which a set-up was killed is made again, and not one where pip failed" {
    compiler
    # shellcheck disable=SC2016
    stub python3 '
case "$*" in
"-m venv"*) mkdir -p $3/bin; : >$3/bin/pip; cp "$0" $3/bin/python3 ;;
*"pip install"*) [ -z "$NO_NETWORK" ] || exit 1; [ -z "$KILLED" ] || kill -KILL $PPID ;;
esac'
    ln -s "$(type -P patch)" "$bin"
    newer() { printf '# for %s\nnewer==%s\n' "$1" "$2" >>"$machine/copy/tools/requirements.txt"; }
    sets_up docs
    newer book 1
    silent docs
    newer docs 2
    set_up NO_NETWORK=1 docs
    assert_failure
    sets_up docs
    assert_equal "$(grep -c -- '-m venv' "$calls")" 1
    newer docs 3
    set_up KILLED=1 docs
    assert_failure
    sets_up docs
    assert_equal "$(grep -c -- '-m venv' "$calls")" 2
    assert_file_exists "$machine/copy/build/venv/docs"
}

@test "a CUDA_HOME without headers, an old Python, few addresses, and no flock: a sentence" {
    whole
    # shellcheck disable=SC2016
    stub python3 'case $* in *version_info*) exit 1 ;; --version) echo "Python 3.6.8" ;; esac'
    silent build
    fails "CUDA_HOME is /not/there" CUDA_HOME=/not/there build # also when all was found before
    assert_output --partial "unset it"
    fails "python3 is Python 3.6.8, and the checks need Python 3.9 or later." check
    ulimit -v 8000000
    fails "(ulimit -v is 8000000 KB)" build
    silent SIM_MEMORY=256M build
    fails "(ulimit -v is 8000000 KB)" SIM_MEMORY=256M check
    rm -r "$machine/copy/build" "$bin/flock"
    fails "Missing: flock (in Debian's package util-linux)." SIM_MEMORY=256M build
}

@test "a CC of two words serves; one that is not there, or compiles for 32 bits, is named" {
    whole
    sets_up CC="env gcc" build
    rm -r "$machine/copy/build"
    fails "CC is clang -O1, but there is no clang. Install it, or leave CC out" \
        CC="clang -O1" build
    # shellcheck disable=SC2016
    stub little 'case $1 in -E) echo "4 2 36" ;; *) echo 12 ;; esac'
    set_up CC=little build
    assert_failure
    assert_output "little (CC) compiles for 32 bits; CUDA 13 needs 64."
    stub old 'case $1 in -E) echo "8 2 17" ;; *) echo 12 ;; esac'
    fails "This machine has glibc 2.17; the simulated device needs 2.28 or later." CC=old build
    stub musl 'case $1 in -E) echo "8 __GLIBC__ __GLIBC_MINOR__" ;; *) echo 12 ;; esac'
    fails "The C library here is not glibc" CC=musl build
    # As tcc does.
    stub tiny 'case $* in *-MMD*) exit 1 ;; -E*) echo "8 2 36" ;; *) echo 12 ;; esac'
    set_up CC=tiny build
    assert_failure
    assert_output "tiny (CC) does not take the options of gcc and clang. The simulated device \
needs one of these two."
}

@test "a Python without ensurepip or venv, which Debian packs by itself: the package to install" {
    local lacks
    stub apt-get
    for lacks in ensurepip venv; do
        # Its pip works, but with no such module an environment cannot be made.
        stub python3 "case \"\$*\" in
*find_spec*) exec $(python3 -c 'import sys; print(sys.executable)') -ISc \"import sys
sys.modules['$lacks'] = None
\$2\" ;;
esac"
        set_up docs
        assert_failure
        assert_line "Missing: python3-venv. Type this as root, then run make again:"
        refute [ -e "$machine/copy/build/venv" ]
    done
}

@test "what cannot be fetched: network, index, disk or hash, and pip's own lines are in a log" {
    local words
    declare -A says=(
        ["NewConnectionError: Name or service not known"]=" cannot be reached. Check the network"
        ["No matching distribution found for sphinx==9.0.4"]="has no such version for this machine"
        ["OSError: [Errno 28] No space left on device"]="The disk is full: make room in "
        ["THESE PACKAGES DO NOT MATCH THE HASHES"]="a hash differs.")
    compiler
    # shellcheck disable=SC2016
    stub python3 '
case "$*" in
"-m venv"*) mkdir -p $3/bin; cp "$0" $3/bin/python3 ;;
*"pip install"*) echo "ERROR: $WORDS"; exit 1 ;;
esac'
    for words in "${!says[@]}"; do
        fails "Sphinx could not be fetched." WORDS="$words" docs
        assert_output --partial "${says[$words]}"
        refute_output --partial "ERROR"
        grep -q "ERROR: $words" <(tr -d '[]' <"$machine/copy/build/venv/pip.log") ||
            grep -qF "ERROR: $words" "$machine/copy/build/venv/pip.log"
    done
    grep -q -- '--retries 1 .*--require-hashes' "$calls"
}

@test "a build/ in which programs may not run is named" {
    bwrap --dev-bind / / true 2>/dev/null || skip "bubblewrap does not work here"
    whole
    mkdir -p "$machine/copy/build"
    run unshare -rm bash -c 'mount -t tmpfs -o noexec none "$1/copy/build" && shift && exec "$@"' \
        noexec "$machine" env -i PATH="$bin" HOME="$machine" SETUP_ROOT="$machine/root" \
        "$machine/copy/tools/setup.sh" build 3>&- 4>&-
    assert_failure
    assert_output --partial "cannot be run: the disk is mounted with noexec"
}

@test "a machine without /proc, or without /dev/fd: a sentence, with what to type" {
    bwrap --dev-bind / / true 2>/dev/null || skip "bubblewrap does not work here"
    whole
    run bwrap --dev-bind / / --tmpfs /proc env -i PATH="$bin" HOME="$machine" \
        SETUP_ROOT="$machine/root" "$machine/copy/tools/setup.sh" build 3>&- 4>&-
    assert_failure
    assert_output "There is no /proc here, which bash and the device need. Type as root: \
mount -t proc proc /proc"
    run bwrap --bind / / --proc /proc --tmpfs /dev --dev-bind /dev/null /dev/null env -i \
        PATH="$bin" HOME="$machine" SETUP_ROOT="$machine/root" \
        "$machine/copy/tools/setup.sh" build 3>&- 4>&-
    assert_failure
    assert_output "There is no /dev/fd here, which bash reads. Type as root: ln -s /proc/self/fd \
/dev/fd"
}

@test "an older toolkit, or one without crt/, is named and passed over" {
    compiler
    python
    toolkit "$machine/root/usr" 11080
    sets_up build
    assert_output --partial \
        "The CUDA headers in $machine/root/usr/include (CUDART_VERSION 11080) cannot be"
    assert_output --partial "Fetching"
    rm -r "$machine/copy/build" "$machine/root/usr/include"
    toolkit "$machine/root/opt/cuda" 13000
    rm -r "$machine/root/opt/cuda/include/crt"
    sets_up build
    assert_output --partial "$machine/root/opt/cuda/include (CUDART_VERSION 13000) cannot be"
    assert_output --partial "Fetching"
}

@test "another machine, C library or compiler: what is built is compiled again, and that is said" {
    local found=$machine/copy/build/cuda/found
    toolkit "$machine/root/usr/local/cuda" 13000
    # shellcheck disable=SC2016
    stub gcc 'case $1 in
-dumpmachine) echo "$MACHINE" ;;
-dumpversion) echo "${VERSION:-12}" ;;
-E) echo "8 2 36" ;;
esac'
    # shellcheck disable=SC2016
    stub getconf 'echo "glibc ${LIBC:-2.36}"'
    for setting in MACHINE=two LIBC=2.41 VERSION=14; do
        set_up MACHINE=one build
        touch -d 2001-01-01 "$found"
        silent MACHINE=one build
        [ "$(stat -c %y "$found")" = "$(date -d 2001-01-01 '+%F %T.%N %z')" ]
        set_up MACHINE=one "$setting" build
        assert_output --regexp \
            '^What is in build/ was compiled for one 12 glibc 2.36. It is compiled again for '
        [ "$found" -nt "$bin" ]
        set_up MACHINE=one build
    done
}

@test "an environment of another Python, or of another folder, is made again" {
    local venv=$machine/copy/build/venv
    python
    stub patch ''
    sets_up docs
    assert_output "Fetching Sphinx and its theme from PyPI into build/venv."
    touch "$venv/mark"
    silent docs
    assert_file_exists "$venv/mark"
    sets_up PYTHON=312 docs
    assert_line --index 0 \
        "build/venv was made for another Python, machine or folder. It is made again."
    assert_line --index 1 "Fetching Sphinx and its theme from PyPI into build/venv."
    assert_file_not_exists "$venv/mark"
    mkdir "$machine/other"
    mv "$machine/copy" "$machine/other"
    machine+=/other set_up PYTHON=312 docs
    assert_line --index 0 \
        "build/venv was made for another Python, machine or folder. It is made again."
    # One that was interrupted has no Python, and is made again without a word.
    rm "$machine/other/copy/build/venv"/{made_for,docs}
    machine+=/other set_up PYTHON=312 docs
    assert_output "Fetching Sphinx and its theme from PyPI into build/venv."
}

@test "a place that cannot be written, or has no room, is named in a sentence" {
    local copy
    copy=$(realpath "$machine/copy")
    whole
    set_up TMPDIR=/not/there build
    assert_failure
    assert_output "TMPDIR is /not/there, but there is no such folder, or nothing can be written \
there. Name another one, or unset TMPDIR."
    # shellcheck disable=SC2016
    stub stat 'case "$*" in *" $FULL") echo "9 10 1048576" ;; *) echo "9000 9000 1048576" ;; esac'
    set_up FULL=build build
    assert_failure
    assert_output "$copy/build has room for 10 MB, and this needs 64 MB. Make room there."
    set_up FULL="$machine" TMPDIR="$machine" build
    assert_failure
    assert_output "$(realpath "$machine") has room for 10 MB, and this needs 16 MB. Make room \
there, or name another folder in TMPDIR."
    # What a file system does not report it does not limit.
    stub stat 'echo "0 0 4096"'
    sets_up build
    rm -r "$copy/build"
    bwrap --dev-bind / / true 2>/dev/null || skip "bubblewrap does not work here"
    run bwrap --dev-bind / / --ro-bind "$copy" "$copy" env -i PATH="$bin" \
        "$copy/tools/setup.sh" build 3>&- 4>&-
    assert_failure
    assert_output \
        "Nothing can be written to $copy/build. Copy the workbook to a folder of your own."
}

@test "the fetched wheels are pinned, each with the hashes of two machines" {
    local group count list
    for group in "headers 2" "nvcc 5"; do
        count=${group#* }
        list=$(awk -v group="${group% *}" '
            /^# for / { on = index($0 " ", " " group " ") } on' tools/requirements.txt)
        assert_equal "$(grep -c '^nvidia[a-z-]*==13\.0\.[0-9]* ' <<<"$list")" "$count"
        assert_equal "$(grep -c -- '--hash=sha256:[0-9a-f]\{64\}' <<<"$list")" $((2 * count))
    done
}

@test "the compiler takes every CUDA header from the one folder that was found" {
    local header rules=$BATS_TEST_TMPDIR/rules sources
    sources=(lessons/*.h solutions/*.c simulator/*/*.c)
    gcc -std=c11 -D_GNU_SOURCE= -Ilessons -Isimulator -Ibuild/simulator \
        -isystem build/cuda/include -M "${sources[@]}" >"$rules"
    assert_equal "$(grep -c '^[^ ]*\.o:' "$rules")" "${#sources[@]}"
    # The first program that includes a header.
    includer() {
        awk -v header="$1" '/^[^ ]/ { program = $2 }
            index($0 " ", " " header " ") { print program; exit }' "$rules"
    }
    while read -r header; do
        # A name that this folder has too must come from it: another copy on the machine would hide
        # that it lacks something.
        if [ -e "build/cuda/include/${header##*/}" ] || [[ "$header" == */crt/* ]]; then
            [[ "$header" == build/cuda/include/* ]] ||
                complain "$header is included by $(includer "$header")."
        fi
    done < <(tr -s ' \\' '\n' <"$rules" | grep '\.h$' |
        grep -v "^/usr/lib/gcc\|^lessons\|^simulator\|^build/simulator" | sort -u)
    finish
}

@test "the backend: what is there decides, BACKEND overrides, and the reason is printed" {
    sets_up backend
    assert_output --partial "simulator (no nvcc was found"
    stub nvcc ''
    set_up backend
    assert_output --partial "simulator (neither nvidia-smi"
    stub nvidia-smi 'echo "No devices were found"; exit 6'
    set_up backend
    assert_output --partial "simulator (neither nvidia-smi"
    stub nvidia-smi 'echo "GPU 0: NVIDIA H200"'
    set_up backend
    assert_output "gpu (a GPU and nvcc were found)"
    rm "$bin/nvidia-smi"
    mkdir "$machine/root/dev"
    touch "$machine/root/dev/nvidia0"
    set_up backend
    assert_output "gpu (a GPU and nvcc were found)"
}

@test "the toolkit of the GPU: 12.2 or later, whole, and found again at once" {
    compiler
    toolkit "$machine/kit" 12040
    mkdir -p "$machine/kit/bin" "$machine/kit/lib64"
    printf '#!/bin/bash\n' >"$machine/kit/bin/nvcc"
    chmod +x "$machine/kit/bin/nvcc"
    fails "libcudart.so was not found" CUDA_HOME="$machine/kit" gpu
    touch "$machine/kit/lib64/libcudart.so"
    sets_up CUDA_HOME="$machine/kit" gpu
    assert_equal "$(cat "$machine/copy/build/gpu/nvcc")" "$machine/kit/bin/nvcc"
    assert_equal "$(realpath "$machine/copy/build/gpu/lib")" "$machine/kit/lib64"
    toolkit "$machine/old" 12010
    mkdir "$machine/old/bin"
    cp "$machine/kit/bin/nvcc" "$machine/old/bin"
    fails "the lessons need 12.2 or later" CUDA_HOME="$machine/old" gpu
}

# What a person has who has gcc, make and Python, and what every Debian system must have.
least_path() {
    local package file path
    dpkg-query -W -f '${Essential} ${Package}\n' 2>/dev/null | grep -q '^yes' ||
        skip "this is no Debian system: which programs every system has is unknown"
    path=$BATS_TEST_TMPDIR/least
    mkdir "$path"
    while read -r package; do
        while read -r file; do
            [ ! -x "$file" ] || ln -sf "$(realpath "$file")" "$path/${file##*/}"
        done < <(dpkg-query -L "$package" | grep -E '^(/usr)?/s?bin/[^/]*$')
    done < <(dpkg-query -W -f '${Essential} ${Package}\n' | sed -n 's/^yes //p'
        printf '%s\n' mawk binutils \
            "$(dpkg-query -S "$(realpath "$(type -P gcc)")" | cut -d : -f 1)" \
            "$(dpkg-query -S "$(realpath "$(type -P as)")" | cut -d : -f 1)")
    for file in gcc make; do ln -sf "$(realpath "$(type -P $file)")" "$path/$file"; done
    ln -sf "$(readlink -f "$(python3 -c 'import sys; print(sys.executable)')")" "$path/python3"
    ln -sf mawk "$path/awk"
    rm -f "$path"/{perl,patch,jq,bats,parallel,bwrap}*
    echo "$path"
}

@test "a lesson, its check, hint, picture and trace need gcc, make and python3 alone" {
    local copy=$BATS_TEST_TMPDIR/copy path
    path=$(least_path)
    workbook_copy "$copy"
    cp -a docs "$copy"
    cd "$copy" || return 1
    least() { run env -i PATH="$path" HOME="$BATS_TEST_TMPDIR" "$@" 3>&- 4>&-; }
    least make simulator
    assert_success
    least make solution-01 BACKEND=simulator
    assert_success
    least make check-01 FILE=solutions/01_first_allocation.c
    assert_success
    assert_line --regexp '^[0-9]+ passed, 0 failed\.'
    least make check-01
    assert_failure
    assert_line --regexp '^  MISS  '
    for goal in hint-01 picture-01 trace-01; do
        least OPEN= make $goal
        assert_success
    done
    for tool in bats jq patch parallel bwrap perl git; do assert_file_not_exists "$path/$tool"; done
}
