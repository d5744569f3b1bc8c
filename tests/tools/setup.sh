#!/usr/bin/env bash
# Finds what a command of the Makefile needs, and fetches what is missing.
#
#   setup.sh build           gcc, the C headers, CUDA headers for the simulated device
#                            (build/cuda/include)
#   setup.sh test            the same, and what the test suite needs
#   setup.sh grade           the same, and where they can be installed bubblewrap, without which
#                            a grader reports what it cannot promise, and gojq, a quicker jq
#   setup.sh docs            a Python environment for building the book (build/venv)
#   setup.sh live            emcc, which compiles for the browser (build/live/emcc)
#   setup.sh book            what looks at the finished book: a browser, epubcheck (build/venv)
#   setup.sh format          clang-format, ruff and shellcheck of the right version (build/venv)
#   setup.sh prose | similar | examples   what checks the English, compares the files of a class,
#                            and checks the examples of docs/course (build/venv)
#   setup.sh gpu             gcc, and the toolkit of nvcc for the GPU (build/gpu/include,
#                            build/gpu/lib, build/gpu/nvcc)
#   setup.sh backend [NAME]  prints "simulator (why)" or "gpu (why)"
#
# Rules: quick and silent when nothing is missing; nothing is installed twice; one sentence names
# what could not be installed, and what to type, and the exit status is 1. All files that it creates
# are in build/.
set -u
cd "$(dirname "$0")/../.." || exit 1

say() { printf '%s\n' "$*"; }
fail() { printf '%s\n' "$@" >&2; exit 1; }
found() { type -P "$1" >/dev/null; }
compiler=${CC:-gcc}
# Before /usr, /opt and /dev: the tests show it a machine that has nothing there.
root=${SETUP_ROOT:-}

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
c_headers() { echo '#include <stdio.h>' | "$compiler" -E - >/dev/null 2>&1; }

# The Debian packages that are missing for: compile, suite, sandbox, mutants, fetch, emcc, book,
# venv.
missing_packages() {
    local purpose library
    for purpose in "$@"; do
        case $purpose in
        compile)
            if ! found "$compiler"; then say gcc; say libc6-dev
            elif [ ! -e /usr/include/stdio.h ] && ! c_headers; then say libc6-dev; fi ;;
        suite)
            found bats || say bats
            for library in bats-support bats-assert bats-file; do
                bats_library $library || say $library
            done
            found jq || say jq
            gnu_parallel || say parallel
            found python3 || say python3 ;;
        sandbox)
            found bwrap || ! can_install || say bubblewrap
            found gojq || ! can_install || say gojq ;;
        mutants) found patch || say patch ;;
        fetch) python3 -m pip --version >/dev/null 2>&1 || missing_packages venv ;;
        emcc) found emcc || say emscripten ;;
        book)
            found chromium || found google-chrome || say chromium
            found epubcheck || say epubcheck ;;
        venv) python3 -c 'import ensurepip, venv' 2>/dev/null || say python3-venv ;;
        esac
    done
}

can_install() {
    found apt-get && { [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null; }
}

install_missing() {
    local packages administrator=()
    mapfile -t packages < <(missing_packages "$@")
    [ "${#packages[@]}" != 0 ] || return 0
    found apt-get ||
        fail "Missing: ${packages[*]} (these are Debian's names). Install them, then run make \
again."
    if [ "$(id -u)" != 0 ]; then administrator=(sudo); fi
    local line=("${administrator[@]}" apt-get install -y --no-install-recommends "${packages[@]}")
    if [ "$(id -u)" != 0 ] && ! sudo -n true 2>/dev/null; then
        fail "Missing: ${packages[*]}. Type this, then run make again:" "    ${line[*]}"
    fi
    say "Missing: ${packages[*]}. Installing: ${line[*]}"
    mkdir -p build
    {
        "${administrator[@]}" apt-get update && DEBIAN_FRONTEND=noninteractive "${line[@]}"
    } >build/apt.log 2>&1 </dev/null ||
        fail "$(grep -E '^[EW]:' build/apt.log | head -n 3)" \
            "The packages could not be installed (the whole log: build/apt.log). When there is \
a network connection, run make again, or type:" "    ${line[*]}"
    mapfile -t packages < <(missing_packages "$@")
    [ "${#packages[@]}" = 0 ] || fail "apt-get ran, but this is still missing: ${packages[*]}."
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

venv() {
    [ -e build/venv/bin/pip ] || python3 -m venv build/venv ||
        fail "python3 -m venv build/venv failed; its message is above."
}

fetch_headers() {
    local python=python3
    if ! python3 -m pip --version >/dev/null 2>&1; then
        venv
        python=build/venv/bin/python3
    fi
    say "Fetching the CUDA 13.0 headers from PyPI (3 MB) into build/cuda."
    mkdir -p build/cuda
    rm -rf build/cuda/wheel build/cuda/arriving
    if ! $python -m pip install --retries 1 --timeout 20 --no-deps --only-binary :all: \
        --require-hashes --target build/cuda/arriving \
        --requirement tests/tools/cuda-headers.txt >build/cuda/pip.log 2>&1; then
        rm -rf build/cuda/arriving
        fail "$(grep '^ERROR' build/cuda/pip.log | head -n 3)" \
            "There are no CUDA 13 headers on this machine, and they could not be fetched from PyPI \
(the whole log: build/cuda/pip.log)." \
            "When there is a network connection, run make again; or install a CUDA 13 toolkit and \
set CUDA_HOME to its folder."
    fi
    mv build/cuda/arriving build/cuda/wheel
    chosen=$(realpath build/cuda/wheel/nvidia/cu13/include)
    headers_serve "$chosen" ||
        fail "The headers that were fetched to build/cuda/wheel are incomplete. Remove build/cuda \
and run make again."
}

# build/cuda/include is a link to the headers in use. build/cuda/found holds their place and is
# rewritten only when that changes: what is built depends on it. build/cuda/searched holds the
# CUDA_HOME for which the search was made.
headers_known() {
    [ -e build/cuda/include/crt/host_defines.h ] && [ -e build/cuda/found ] &&
        [ "$(cat build/cuda/searched 2>/dev/null)" = "${CUDA_HOME:-none}" ]
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
    ln -sfn "$chosen" build/cuda/include
    [ "$(cat build/cuda/found 2>/dev/null)" = "$chosen" ] || say "$chosen" >build/cuda/found
    say "${CUDA_HOME:-none}" >build/cuda/searched
}

build() { # build PURPOSE...: the compiler, the headers, and packages for more
    check_cuda_home
    if headers_known; then install_missing compile "$@"; return; fi
    search_headers
    local fetch=()
    [ -n "$chosen" ] || fetch=(fetch)
    install_missing compile "$@" "${fetch[@]}"
    [ -n "$chosen" ] || fetch_headers
    use_headers
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
    local no_nvcc="no nvcc was found in CUDA_HOME, PATH, /usr/local/cuda or /opt/cuda"
    local no_gpu="neither nvidia-smi nor /dev shows a GPU"
    case $1 in
    '')
        if ! nvcc_path >/dev/null; then say "simulator ($no_nvcc)"
        elif ! gpu_there; then say "simulator ($no_gpu)"
        else say "gpu (a GPU and nvcc were found)"; fi ;;
    simulator) say "simulator (BACKEND=simulator)" ;;
    gpu)
        if ! nvcc_path >/dev/null; then
            say "BACKEND=gpu, but $no_nvcc; install a CUDA toolkit or set CUDA_HOME," \
                "or leave BACKEND out."
            exit 1
        elif ! gpu_there; then
            say "BACKEND=gpu, but $no_gpu; leave BACKEND out, or use BACKEND=simulator."
            exit 1
        fi
        say "gpu (BACKEND=gpu)" ;;
    *)
        say "BACKEND=$1 is not valid; use BACKEND=simulator or BACKEND=gpu, or leave it out."
        exit 1 ;;
    esac
}

gpu() {
    local nvcc toolkit include library version
    check_cuda_home
    nvcc=$(nvcc_path) || fail "nvcc was not found."
    if [ -e build/gpu/nvcc ] && [ "$(cat build/gpu/nvcc)" = "$nvcc" ] &&
        [ -e build/gpu/include/cuda_runtime_api.h ]; then
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
        "/usr/lib/$("$compiler" -dumpmachine)"; do
        [ ! -e "$library/libcudart.so" ] || break
    done
    [ -e "$library/libcudart.so" ] ||
        fail "libcudart.so was not found beside $nvcc. Install the whole toolkit, or use \
BACKEND=simulator."
    mkdir -p build/gpu
    ln -sfn "$include" build/gpu/include
    ln -sfn "$library" build/gpu/lib
    say "$nvcc" >build/gpu/nvcc
}

case ${1:-} in
build) build ;;
live)
    install_missing compile emcc
    mkdir -p build/live
    [ "$(cat build/live/emcc 2>/dev/null)" = "$(type -P emcc)" ] || type -P emcc >build/live/emcc ;;
test) build suite mutants ;;
grade) build suite mutants sandbox ;;
gpu) install_missing compile; gpu ;;
docs)
    install_missing venv mutants
    say "Fetching Sphinx and its theme from PyPI into build/venv."
    venv
    build/venv/bin/python3 -m pip install --quiet --disable-pip-version-check \
        --requirement docs/requirements.txt && touch build/venv/docs ;;
format | prose | similar | examples | book)
    if [ "$1" = book ]; then install_missing venv book; else install_missing venv; fi
    venv
    build/venv/bin/python3 -m pip install --quiet --disable-pip-version-check --require-hashes \
        --requirement "tests/tools/$1.txt" ;;
backend) backend "${2:-}" ;;
*) fail "setup.sh: the argument must be build, test, grade, docs, live, book, format, prose, \
similar, examples, gpu or backend." ;;
esac
