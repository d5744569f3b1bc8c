#!/usr/bin/env bash
# Finds what a command of the Makefile needs, and fetches what is missing.
#
#   setup.sh build           gcc, the C headers, CUDA headers for the simulated device
#                            (build/cuda/include)
#   setup.sh write           the same, where a command is of no use if build/ cannot be written to
#   setup.sh check           the same, and Python, in which the checks are written
#   setup.sh grade           the same, and where it can be installed bubblewrap, without which a
#                            grader reports what it cannot promise
#   setup.sh grade-class     the same, and GNU parallel
#   setup.sh pages           what make book needs: as for a check, and what makes environments
#   setup.sh suite           all that make test needs
#   setup.sh docs            a Python environment for building the book (build/venv)
#   setup.sh pictures        QuickJS alone, which make picture-04 needs (build/venv)
#   setup.sh live            emcc, which compiles for the browser (build/live/emcc)
#   setup.sh book            what looks at the finished book: a browser, epubcheck (build/venv)
#   setup.sh format          clang-format, ruff and shellcheck of the right version (build/venv)
#   setup.sh prose | examples   what checks the English, and the examples of docs/course
#                            (build/venv)
#   setup.sh headers-12.2 | headers-13.5   other CUDA headers (build/cuda-headers)
#   setup.sh gpu             gcc, and the toolkit of nvcc for the GPU (build/gpu/include,
#                            build/gpu/lib, build/gpu/nvcc)
#   setup.sh cuda            nvcc, for a .cu file on the simulated device (build/nvcc/nvcc): the
#                            toolkit's, else NVIDIA's wheels of PyPI
#   setup.sh backend [NAME]  prints "simulator (why)" or "gpu (why)"
#
# Rules: The script is quick and silent when nothing is missing, and installs nothing twice. If
# something could not be installed, one sentence names it and the line to type, which has only what
# the command needs, and the exit status is 1. A long step says every five seconds that it is still
# running. Downloads have hashes, are tried twice, and log their errors. All files that the script
# creates are in build/. It may run twice at once, and after a run that was killed.
set -u
# shellcheck source=tools/usage.sh
source "${BASH_SOURCE[0]%/*}/usage.sh"
words='build|write|check|grade|grade-class|pages|suite|docs|live|book|format|prose|examples'
takes "$words|gpu|cuda|pictures|headers-1[23]\.[25]|backend(;.*)?" "$@"
cd "${0%/*}/.." || exit 1
export PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1

say() { printf '%s\n' "$*"; }
fail() { printf '%s\n' "$@" >&2; exit 1; }
found() { type -P "$1" >/dev/null; }
# CC may be two words, such as "ccache gcc".
read -ra compiler <<<"${CC:-gcc}"
# A prefix of /usr, /opt, and /dev, with which the tests imitate a machine that has nothing there.
root=${SETUP_ROOT:-}

# One set-up at a time makes what NAME names; another waits, and then finds it made. The lock ends
# with this script, however that ends.
declare -A locked=()
lock() { # lock NAME
    local file
    [ -z "${locked[$1]:-}" ] || return 0
    found flock || fail "Missing: flock (in Debian's package util-linux). Without it two makes at \
once would spoil each other's set-up."
    mkdir -p build
    exec {file}>"build/$1.lock"
    locked[$1]=$file
    flock -n "$file" || {
        say "Another make is setting up. This one waits for it."
        flock "$file"
    }
}

# patiently COMMAND...: runs it, and says every five seconds that it is still running
patiently() {
    local began=$SECONDS never ticker status=0
    exec {never}<> <(:)
    # It starts no other process, because that could outlive this script.
    while read -rt 5 -u "$never"; [ -e "/proc/$$" ]; do
        say "  $((SECONDS - began)) seconds"
    done &
    ticker=$!
    "$@" || status=$?
    kill "$ticker" 2>/dev/null
    wait "$ticker" 2>/dev/null
    exec {never}<&-
    return $status
}

# A process that reads the old link or file can go on reading it.
link() {
    { ln -sfn "$1" "$2.$$" && mv -T "$2.$$" "$2"; } 2>/dev/null ||
        fail "No link can be made in $PWD/build: some file systems have none, such as those of \
USB sticks. Copy the workbook to another disk."
}
note() { say "$1" >"$2.$$" && mv "$2.$$" "$2"; }

# Bash reads what a command prints, <( ), through /dev/fd, which leads to /proc.
check_proc() {
    ! { true < <(true); } 2>/dev/null || return 0
    [ -e /proc/self/fd ] || fail "There is no /proc here, which bash and the device need. \
Type as root: mount -t proc proc /proc"
    fail "There is no /dev/fd here, which bash reads. Type as root: ln -s /proc/self/fd /dev/fd"
}

# ---- packages ----

bats_library() {
    local folder
    for folder in usr/lib/bats usr/share/bats usr/lib; do
        [ ! -e "$root/$folder/$1/load.bash" ] || return 0
    done
    return 1
}
# The package moreutils has another program of this name.
gnu_parallel() { found parallel && grep -q 'GNU Parallel' "$(type -P parallel)"; }
c_headers() { echo '#include <stdio.h>' | "${compiler[@]}" -E - >/dev/null 2>&1; }
# The oldest Python that the checks run on.
python_serves() {
    python3 -I -S -c 'import sys; sys.exit(sys.version_info < (3, 9))' >/dev/null 2>&1
}

# The Debian packages that are missing for: compile, cuda, check, sandbox, class, suite, fetch,
# emcc, book, venv.
missing_packages() {
    local purpose library
    for purpose in "$@"; do
        case $purpose in
        compile)
            if ! found "${compiler[0]}"; then say gcc; say libc6-dev
            elif [ ! -e /usr/include/stdio.h ] && ! c_headers; then say libc6-dev; fi ;;
        cuda) found g++ || say g++ ;;
        check) found python3 || say python3 ;;
        class) gnu_parallel || say parallel ;;
        suite)
            found bats || say bats
            found jq || say jq
            for library in bats-support bats-assert bats-file; do
                bats_library $library || say $library
            done ;;
        sandbox) found bwrap || say bubblewrap ;;
        fetch) python3 -m pip --version >/dev/null 2>&1 || missing_packages venv ;;
        emcc) found emcc || say emscripten ;;
        book)
            found chromium-headless-shell || found chromium || found chromium-browser ||
                found google-chrome || say chromium-headless-shell
            found epubcheck || say epubcheck ;;
        venv)
            python3 -ISc 'import sys; from importlib.util import find_spec as has
sys.exit(not has("ensurepip") or not has("venv"))' 2>/dev/null || say python3-venv ;;
        esac
    done
}

can_install() {
    found apt-get && { [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null; }
}

# Says what is missing where there is no apt-get. A line of the table has a system's own program,
# and what replaces Debian's names there; the other names are the same.
ask_another_system() { # ask_another_system PACKAGE...
    local manager install renamed names sudo=''
    while IFS='|' read -r manager install renamed; do
        found "$manager" || continue
        mapfile -t names < <(printf '%s\n' "$@" | sed -E "$renamed" | awk '!seen[$0]++')
        if [ "$(id -u)" != 0 ] && found sudo; then sudo='sudo '; fi
        fail "Missing: ${names[*]}. Type this${sudo:- as root}, then run make again:" \
            "    $sudo$install ${names[*]}"
    done <<'END'
dnf|dnf install|s/libc6-dev/glibc-devel/; s/g\+\+/gcc-c++/; s/-venv/-pip/; s/(chromium).*/\1/
zypper|zypper install|s/libc6-dev/glibc-devel/; s/g\+\+/gcc-c++/; s/-venv/-pip/; s/^parallel/gnu_&/
pacman|pacman -S --needed|s/libc6-dev/glibc/; s/g\+\+/gcc/; s/3(-venv)?$//; s/^bats/bash-&/
END
    fail "Missing: $* (these are Debian's names). Install them, then run make again."
}

# explain LOG: stdin has patterns, and below each what it means. Says what the first one means that
# the log has.
explain() {
    local pattern meaning
    while read -r pattern && read -r meaning; do
        if grep -qE -- "$pattern" "$1"; then say "$meaning"; return; fi
    done
}

# Says why apt-get failed, and what helps.
apt_failed() {
    grep -E '^[EW]:' build/apt.log | head -n 3
    explain build/apt.log <<'END'
No space left
    The disk is full.
Could not get lock|is held by process
    Another program is installing packages. Wait until it has finished.
dpkg --configure -a
    An installation before this one was interrupted: do what the line above says.
Unable to locate package|no installation candidate
    This system's lists do not have the package.
is expired|is not valid yet
    The mirror's lists are too old, or the clock of this machine is wrong.
Temporary|Could not (resolve|connect)|timed out|Unable to connect|Failed
    The packages cannot be reached: check the network, or the proxy (http_proxy).
END
}

install_missing() { # install_missing PURPOSE...
    local packages sudo='' whom='' update install
    [ -n "$(missing_packages "$@")" ] || return 0
    # Check again, because another make may have installed them.
    ! can_install || lock packages
    mapfile -t packages < <(missing_packages "$@")
    [ "${#packages[@]}" != 0 ] || return 0
    mapfile -t packages < <(printf '%s\n' "${packages[@]}" | awk '!seen[$0]++')
    if ! can_install; then
        # Grading works without a sandbox, and reports what it cannot promise.
        [ -n "$(missing_packages "${@/#sandbox/}")" ] || return 0
    fi
    if ! found "${compiler[0]}" && [ "${compiler[0]}" != gcc ]; then
        fail "CC is ${compiler[*]}, but there is no ${compiler[0]}. Install it, or leave CC out: \
then it is gcc."
    fi
    found apt-get || ask_another_system "${packages[@]}"
    if [ "$(id -u)" != 0 ]; then
        if found sudo; then sudo='sudo '; else whom=' as root'; fi
    fi
    update="${sudo}apt-get update"
    install="${sudo}apt-get install -y --no-install-recommends ${packages[*]}"
    can_install || fail "Missing: ${packages[*]}. Type this$whom, then run make again:" \
        "    $update && $install"
    say "Missing: ${packages[*]}. Installing: $install"
    mkdir -p build
    patiently run_apt "$sudo" "${packages[@]}" ||
        fail "$(apt_failed)" "The packages could not be installed (the whole log: \
build/apt.log). Then run make again, or type:" "    $update && $install"
    mapfile -t packages < <(missing_packages "$@")
    [ "${#packages[@]}" = 0 ] || fail "apt-get ran, but this is still missing: ${packages[*]}."
}

# Waits, but not forever, for an absent name server or another apt-get's lock. sudo passes no
# variables on.
run_apt() { # run_apt "sudo "|"" PACKAGE...
    local options=(-o Acquire::Retries=1 -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20
        -o DPkg::Lock::Timeout=120)
    local as=(env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 RES_OPTIONS="timeout:5 attempts:1")
    local variable
    for variable in http_proxy https_proxy no_proxy; do
        [ -z "${!variable:-}" ] || as+=("$variable=${!variable}")
    done
    [ -z "$1" ] || as=(sudo "${as[@]}")
    {
        "${as[@]}" apt-get update "${options[@]}" &&
            "${as[@]}" apt-get install "${options[@]}" -y --no-install-recommends "${@:2}"
    } >build/apt.log 2>&1 </dev/null
}

# ---- addresses ----

# The simulated device reserves addresses for all memory of a device, and uses few of them.
# SIM_MEMORY can make the device smaller, but a check uses the whole one.
check_addresses() { # check_addresses PURPOSE
    local limit
    limit=$(ulimit -v)
    [ "$limit" != unlimited ] && [ "$limit" -lt 1000000000 ] || return 0
    [ "$1" != build ] || [ -z "${SIM_MEMORY:-}" ] || return 0
    fail "This shell limits the addresses of a program (ulimit -v is $limit KB), and the simulated \
device reserves 1000 GB of them, of which it uses few. Type ulimit -v unlimited, or begin a \
shell without the limit; for make NN, a smaller device may be enough, such as SIM_MEMORY=256M."
}

# ---- places that can be written, with room ----

# Reports what is wrong with a folder, because a compiler's message about it looks like a mistake in
# the compiled file.
check_places() { # check_places PURPOSE
    local temporary=${TMPDIR:-/tmp} built='' megabytes=64
    [ ! -e build/simulator/libcudart.so.13 ] || built=1
    [ -d build ] || mkdir -p build 2>/dev/null
    if [ ! -w build ]; then
        # What is already built can still run.
        [ "$1" != build ] || [ -z "$built" ] || return 0
        fail "Nothing can be written to $PWD/build. Copy the workbook to a folder of your own."
    fi
    if [ ! -d "$temporary" ] || [ ! -w "$temporary" ]; then
        [ -n "${TMPDIR:-}" ] || fail "Nothing can be written to /tmp. Name another folder for \
temporary files in TMPDIR."
        fail "TMPDIR is $TMPDIR, but there is no such folder, or nothing can be written there. \
Name another one, or unset TMPDIR."
    fi
    # A build/ of make run has 46 MB, one of make book 261, and one of make test 370.
    [ -z "$built" ] || megabytes=16
    case $1 in
    pages) if [ -e build/docs/html ]; then megabytes=64; else megabytes=$((megabytes + 208)); fi ;;
    suite) if [ -e build/docs/html ]; then megabytes=160; else megabytes=$((megabytes + 400)); fi ;;
    esac
    expect_megabytes build "$megabytes" "Make room there."
    expect_megabytes "$temporary" 16 "Make room there, or name another folder in TMPDIR."
}

expect_megabytes() { # expect_megabytes FOLDER MEGABYTES ADVICE
    local blocks free size
    # A file system that does not report a limit has none.
    read -r blocks free size < <(stat -f -c '%b %a %S' "$1" 2>/dev/null)
    [ "${blocks:-0}" != 0 ] || return 0
    free=$((free * size / 1048576))
    [ "$free" -ge "$2" ] ||
        fail "$(realpath "$1") has room for $free MB, and this needs $2 MB. $3"
}

# ---- CUDA headers for the simulated device ----

header_version() { # prints CUDART_VERSION of an include folder, or nothing
    sed -n 's/^#define CUDART_VERSION *\([0-9][0-9]*\).*/\1/p' "$1/cuda_runtime_api.h" 2>/dev/null
}
headers_serve() { # the structures and symbol names are those of major version 13
    local version
    version=$(header_version "$1")
    [ "${version:-0}" -ge 13000 ] && [ "$version" -lt 14000 ] && [ -e "$1/crt/host_defines.h" ]
}
toolkit_includes() { # where a toolkit's headers may be, best first
    local nvcc folder
    if [ -n "${CUDA_HOME:-}" ]; then
        say "$CUDA_HOME/include"
    elif nvcc=$(type -P nvcc); then
        say "$(dirname "$(dirname "$(realpath "$nvcc")")")/include"
    fi
    for folder in "$root"/usr/local/cuda "$root"/usr/local/cuda-13* "$root"/opt/cuda \
        "$root"/usr/lib/cuda "$root"/usr; do
        say "$folder/include"
    done
}

check_cuda_home() {
    [ -z "${CUDA_HOME:-}" ] || [ -e "$CUDA_HOME/include/cuda_runtime_api.h" ] ||
        fail "CUDA_HOME is $CUDA_HOME, but $CUDA_HOME/include/cuda_runtime_api.h does not exist." \
            "Set CUDA_HOME to the folder of a CUDA toolkit, or unset it: the headers are then \
searched, or fetched."
}

# An environment belongs to one Python, machine and folder, which build/venv/made_for names. While
# the environment is made or changed, build/venv/changing exists. If a killed run has left that
# file, a package may be incomplete, so the environment is made again.
venv() {
    local here old
    lock venv
    here="$(python3 -I -S -c 'import importlib.machinery as m; print(m.EXTENSION_SUFFIXES[0])') \
$PWD"
    old=$(cat build/venv/made_for 2>/dev/null)
    [ "$old" != "$here" ] || [ -e build/venv/changing ] || return 0
    [ "${old:-"$here"}" = "$here" ] ||
        say "build/venv was made for another Python, machine or folder. It is made again."
    rm -rf build/venv.old
    if [ -e build/venv ]; then mv build/venv build/venv.old && rm -rf build/venv.old; fi
    mkdir -p build/venv
    : >build/venv/changing
    patiently python3 -m venv build/venv ||
        fail "python3 -m venv build/venv failed; its message is above."
    note "$here" build/venv/made_for
    rm build/venv/changing
}

# fetch WHAT LOG PYTHON ARGUMENT...: pip install. What it unpacks is beside the log, on one disk.
# The sentence says which of network, index or disk it was.
fetch() {
    local what=$1 log=$2 python=$3 status=0 why index
    rm -rf "$log.tmp"
    mkdir -p "$log.tmp"
    TMPDIR=$PWD/$log.tmp patiently pip_into_log "$log" "$python" "${@:4}" || status=$?
    rm -rf "$log.tmp"
    [ "$status" != 0 ] || return 0
    index=$(sed -n 's/^Looking in indexes: //p' "$log" | head -n 1)
    index=${PIP_INDEX_URL:-${index:-PyPI}}
    why=$(explain "$log" <<END
Errno (28|122)\]|No space left|Disk quota
    The disk is full: make room in $PWD/build, then run make again.
DO NOT MATCH THE HASHES
    What $index sent is not what is expected here: a hash differs. Is there a proxy, or another \
index (PIP_INDEX_URL), that changes files?
Connection|Timeout|timed out|ProxyError|SSLError|unreachable|Retrying
    $index cannot be reached${https_proxy:+ (https_proxy is $https_proxy)}. Check the network, \
then run make again. Behind a proxy, set https_proxy.
No matching distribution|from versions
    $index has no such version for this machine and $("$python" --version 2>&1): Python 3.9 to \
3.14 are served.
.*
    pip failed in another way: $(grep '^ERROR' "$log" | tail -n 1)
END
    )
    say "$what could not be fetched. $why The whole log: $log" >&2
    return 1
}

pip_into_log() { # pip_into_log LOG PYTHON ARGUMENT...
    "$2" -m pip install --retries 1 --timeout 20 --require-hashes "${@:3}" >"$1" 2>&1 </dev/null
}

# list_group GROUP FOLDER: into $list the group's part of tools/requirements.txt, a file of the
# folder that is written again only when that differs
list_group() {
    local wanted
    list=$2/$1.requirements.txt
    wanted=$(awk -v group="$1" 'BEGIN { on = 1 }
        /^# for / { on = index($0 " ", " " group " ") }
        !/^#/ && on' tools/requirements.txt)
    [ "$wanted" = "$(cat "$list" 2>/dev/null)" ] || note "$wanted" "$list"
}

into_venv() { # into_venv WHAT GROUP: build/venv/GROUP is as new as what was installed
    local status=0 list
    list_group "$2" build/venv
    [ ! "build/venv/$2" -nt "$list" ] || return 0
    [ "$2" != docs ] || say "Fetching Sphinx and its theme from PyPI into build/venv."
    : >build/venv/changing
    fetch "$1" build/venv/pip.log build/venv/bin/python3 --requirement "$list" || status=$?
    rm build/venv/changing
    [ "$status" != 0 ] || touch "build/venv/$2"
    return $status
}

fetch_wheels() { # fetch_wheels FOLDER GROUP WHAT ADVICE [OPTION...]: into FOLDER/wheel
    local python=python3 list
    if ! python3 -m pip --version >/dev/null 2>&1; then
        venv
        python=build/venv/bin/python3
    fi
    mkdir -p "$1"
    list_group "$2" "$1"
    rm -rf "$1/wheel" "$1/arriving"
    fetch "There $3 on this machine, and PyPI's" "$1/pip.log" "$python" --no-deps \
        --only-binary :all: "${@:5}" --target "$1/arriving" --requirement "$list" || {
        rm -rf "$1/arriving"
        fail "$4"
    }
    mv "$1/arriving" "$1/wheel"
}
toolkit_advice="Or install a CUDA 13 toolkit, and set CUDA_HOME to its folder."

fetch_headers() {
    say "Fetching the CUDA 13.0 headers from PyPI (3 MB) into build/cuda."
    fetch_wheels build/cuda headers "are no CUDA 13 headers" "$toolkit_advice"
    chosen=$(realpath build/cuda/wheel/nvidia/cu13/include)
    headers_serve "$chosen" ||
        fail "The headers that were fetched to build/cuda/wheel are incomplete. Remove build/cuda \
and run make again."
}

# build/cuda/include is a link to the headers in use. build/cuda/found holds their place, and for
# which machine and C library the compiler compiles; it is rewritten only when that changes: what is
# built depends on it. build/cuda/searched holds the CUDA_HOME for which the search was made.
headers_known() {
    [ -e build/cuda/include/crt/host_defines.h ] && [ -e build/cuda/found ] &&
        [ -e build/cuda/searched ] && [ "$(<build/cuda/searched)" = "${CUDA_HOME:-none}" ]
}

search_headers() { # sets chosen, to nothing when they must be fetched
    local include older=''
    chosen=
    while read -r include; do
        if headers_serve "$include"; then chosen=$(realpath "$include"); break; fi
        if [ -z "$older" ] && [ -e "$include/cuda_runtime_api.h" ]; then older=$include; fi
    done < <(toolkit_includes; say build/cuda/wheel/nvidia/cu13/include)
    [ -z "$older" ] ||
        say "The CUDA headers in $older (CUDART_VERSION $(header_version "$older")) cannot be" \
            "used for the simulated device, which needs a complete set of version 13."
}

use_headers() {
    mkdir -p build/cuda
    link "$chosen" build/cuda/include
    note "${CUDA_HOME:-none}" build/cuda/searched
}

machine() { # what a compiled program belongs to, in a line
    printf '%s ' "$("${compiler[@]}" -dumpmachine)" "$("${compiler[@]}" -dumpversion)"
    getconf GNU_LIBC_VERSION 2>/dev/null
}

# Tries, once on each machine, things whose failure no message of a compiler would explain.
try_machine() {
    local file=build/runs.$$ size major minor
    trap 'rm -f "build/runs.$$"{,.d}' EXIT
    printf '#!/bin/sh\n' >"$file" && chmod +x "$file"
    "$file" 2>/dev/null || fail "Programs in $PWD/build cannot be run: the disk is mounted with \
noexec, or keeps no executable bits. Copy the workbook to another folder."
    read -r size major minor < <(
        printf '#include <features.h>\n%s\n' '__SIZEOF_POINTER__ __GLIBC__ __GLIBC_MINOR__' |
            "${compiler[@]}" -E -P - 2>"$file" | tail -n 1)
    [ -n "$size" ] || fail "$(<"$file")" "${compiler[*]} (CC) cannot compile: its message is above."
    [ "$size" = 8 ] ||
        fail "${compiler[*]} (CC) compiles for $((8 * size)) bits; CUDA 13 needs 64."
    echo 'int unit;' | "${compiler[@]}" -x c -std=c11 -fPIC -fvisibility=hidden -MMD -MP -MT it \
        -MF "$file.d" -S - -o "$file" >/dev/null 2>&1 || fail "${compiler[*]} (CC) does not take \
the options of gcc and clang. The simulated device needs one of these two."
    [[ $major$minor != *[!0-9]* ]] ||
        fail "The C library here is not glibc, which the simulated device needs (2.28 or later)."
    [ "$((1000 * major + minor))" -ge 2028 ] || fail "This machine has glibc $major.$minor; the \
simulated device needs 2.28 or later."
}

note_what_was_found() {
    local old=() new=()
    [ ! -e build/cuda/found ] || mapfile -t old <build/cuda/found
    mapfile -t new < <(readlink build/cuda/include; machine)
    [ "${old[*]}" != "${new[*]}" ] || return 0
    try_machine
    [ "${old[1]:-"${new[1]}"}" = "${new[1]}" ] ||
        say "What is in build/ was compiled for ${old[1]}. It is compiled again for ${new[1]}."
    note "$(printf '%s\n' "${new[@]}")" build/cuda/found
}

build() { # build PURPOSE...: the compiler, the headers, and packages for more
    check_cuda_home
    headers_known || lock cuda
    if headers_known; then
        install_missing compile "$@"
    else
        search_headers
        local fetch=()
        [ -n "$chosen" ] || fetch=(fetch)
        install_missing compile "$@" "${fetch[@]}"
        [ -n "$chosen" ] || fetch_headers
        use_headers
    fi
    note_what_was_found
    if [[ " $* " == *" check "* ]] && ! python_serves; then
        fail "python3 is $(python3 --version 2>&1), and the checks need Python 3.9 or later. \
Install one under the name python3."
    fi
}

# ---- the GPU ----

nvcc_path() {
    local nvcc
    for nvcc in ${CUDA_HOME:+"$CUDA_HOME/bin/nvcc"} "$(type -P nvcc)" \
        "$root"/usr/local/cuda/bin/nvcc "$root"/opt/cuda/bin/nvcc; do
        if [ -x "$nvcc" ]; then say "$nvcc"; return; fi
    done
    return 1
}

gpu_there() {
    if found nvidia-smi; then
        nvidia-smi -L 2>/dev/null | grep -q '^GPU 0'
    else
        compgen -G "$root/dev/nvidia[0-9]*" >/dev/null
    fi
}

backend() {
    local lacks=''
    if ! nvcc_path >/dev/null; then
        lacks="no nvcc was found in CUDA_HOME, PATH, /usr/local/cuda or /opt/cuda"
    elif ! gpu_there; then
        lacks="neither nvidia-smi nor /dev shows a GPU"
    fi
    case $1:$lacks in
    :) say "gpu (a GPU and nvcc were found)" ;;
    :*) say "simulator ($lacks)" ;;
    simulator:*) say "simulator (BACKEND=simulator)" ;;
    gpu:) say "gpu (BACKEND=gpu)" ;;
    gpu:*)
        say "BACKEND=gpu, but $lacks; leave BACKEND out, or use BACKEND=simulator."
        exit 1 ;;
    *)
        say "BACKEND=$1 is not valid; use BACKEND=simulator or BACKEND=gpu, or leave it out."
        exit 1 ;;
    esac
}

gpu() {
    local nvcc toolkit include library version
    check_cuda_home
    nvcc=$(nvcc_path) || fail "nvcc was not found."
    if [ -e build/gpu/include/cuda_runtime_api.h ] && [ -e build/gpu/nvcc ] &&
        [ "$(cat build/gpu/nvcc build/gpu/made_for)" = "$nvcc"$'\n'"$(machine)" ]; then
        return
    fi
    toolkit=$(dirname "$(dirname "$(realpath "$nvcc")")")
    for include in "$toolkit/include" "$toolkit"/targets/*/include "$root/usr/include"; do
        [ ! -e "$include/cuda_runtime_api.h" ] || break
    done
    version=$(header_version "$include")
    [ "${version:-0}" -ge 12020 ] ||
        fail "The toolkit of $nvcc has CUDART_VERSION ${version:-unknown}; the lessons need 12.2 \
or later (a pool's maxSize). Use BACKEND=simulator."
    for library in "$toolkit"/lib64 "$toolkit"/lib "$toolkit"/targets/*/lib \
        "/usr/lib/$("${compiler[@]}" -dumpmachine)"; do
        [ ! -e "$library/libcudart.so" ] || break
    done
    [ -e "$library/libcudart.so" ] ||
        fail "libcudart.so was not found beside $nvcc. Install the whole toolkit, or use \
BACKEND=simulator."
    mkdir -p build/gpu
    link "$include" build/gpu/include
    link "$library" build/gpu/lib
    note "$(machine)" build/gpu/made_for
    note "$nvcc" build/gpu/nvcc
}

# ---- nvcc for the simulated device ----

# build/nvcc/nvcc holds the compiler's place. The toolkit's must be of version 13, as the library
# that its programs find is.
cuda() {
    local nvcc toolkit chosen='' wheel=build/nvcc/wheel/nvidia/cu13/bin/nvcc
    build cuda
    nvcc=$(nvcc_path) || nvcc=
    if [ -n "$nvcc" ]; then
        toolkit=$(dirname "$(dirname "$(realpath "$nvcc")")")
        if headers_serve "$toolkit/include"; then chosen=$nvcc; fi
    fi
    if [ -z "$chosen" ]; then
        [ -x "$wheel" ] || lock nvcc
        if [ ! -x "$wheel" ]; then
            install_missing compile cuda fetch
            say "Fetching NVIDIA's compiler nvcc 13.0 from PyPI (105 MB) into build/nvcc. It is" \
                "under NVIDIA's license, which is in its folder."
            fetch_wheels build/nvcc nvcc "is no nvcc of CUDA 13" "$toolkit_advice"
        fi
        chosen=$PWD/$wheel
    fi
    [ "$(cat build/nvcc/nvcc 2>/dev/null)" != "$chosen" ] || return 0
    mkdir -p build/nvcc
    note "$chosen" build/nvcc/nvcc
}

case ${1:-} in build | write | check | grade*) check_addresses "$1" ;; esac
[ "${1:-}" = backend ] || { check_proc && check_places "${1:-}"; }
case ${1:-} in
build | write) build ;;
live)
    install_missing compile emcc
    mkdir -p build/live
    [ "$(cat build/live/emcc 2>/dev/null)" = "$(type -P emcc)" ] || type -P emcc >build/live/emcc ;;
check) build check ;;
# The book grades only its own files.
grade) if [ -n "${GRADE_OWN:-}" ]; then build check; else build check sandbox; fi ;;
grade-class) build check class sandbox ;;
pages) build check venv ;;
suite) build check suite class venv sandbox ;;
gpu) install_missing compile; gpu ;;
cuda) cuda ;;
pictures | docs | format | prose | examples | book)
    if [ "$1" = book ]; then install_missing venv book; else install_missing venv; fi
    venv
    case $1 in
    docs) into_venv Sphinx docs ;;
    pictures)
        build/venv/bin/python3 -c 'import quickjs' 2>/dev/null || {
            say "Fetching QuickJS from PyPI (1 MB) into build/venv."
            into_venv QuickJS pictures
        } ;;
    *) into_venv "What tools/requirements.txt lists for $1" "$1" ;;
    esac ;;
headers-*)
    version=${1#headers-} folder=build/cuda-headers/${1#headers-}
    [ -e "$folder/wheel" ] || {
        say "Fetching the CUDA $version headers from PyPI into $folder."
        fetch_wheels "$folder" "$1" "are no CUDA $version headers" \
            "Name a folder instead: make headers CUDA_HEADERS=/usr/local/cuda-12/include" \
            --platform manylinux1_x86_64 --platform manylinux2014_x86_64
    } ;;
backend) backend "${2:-}" ;;
esac
