#!/usr/bin/env bash
# Compiles a program of your own, runs it on the simulated device, and ends with its exit status.
#
#   mine.sh LIBRARY "FILE..." "FLAG..." "ARGUMENT..."
#   mine.sh check "FILE..."      only says what is wrong with the names of the files
#
# make mine calls it. The files are .cu, .c, .cpp and .cc sources of one program, or a single
# program that is built already. Blanks separate them, unless they are one path that exists. In
# FLAG and ARGUMENT a blank in quotes separates nothing. Flags that begin with -l, -L or -Wl, go to
# the linker, and so do libraries; the others go to each compiler. build/mine keeps the objects and
# the program.
set -u
# shellcheck source=tools/usage.sh
source "${BASH_SOURCE[0]%/*}/usage.sh"
takes 'check;[^;]*|[^-;][^;]*;.*;.*;.*' "$@"
# shellcheck source=tools/c_file.sh
source "${BASH_SOURCE[0]%/*}/c_file.sh"
cd "${0%/*}/.." || exit 1
library=$1 files=("$2")
[ -e "$2" ] || read -rd '' -a files <<<"$2"

refuse() {
    printf '%s\n' "$@" >&2
    exit 2
}

[ "${#files[@]}" != 0 ] || refuse \
    'make mine: name the files of your program, for example:' \
    '    make mine FILE=pipeline.cu' \
    '    make mine FILE="main.cu util.c" FLAGS="-Iinclude -O2 -lm" ARGS="64 fast"' \
    '    make mine FILE=./pipeline        # built already, with: nvcc -cudart shared'
for file in "${files[@]}"; do
    why=$(expect_c_file "$file") || [[ -f $file && $file != *.c* ]] ||
        refuse "make mine: $why FILE names the files of one program, from $PWD."
done
[ "$library" != check ] || exit 0
for text in "$3" "$4"; do
    xargs -r true <<<"$text" 2>/dev/null ||
        refuse "make mine: a line of FLAGS or ARGS ends in the middle of a quotation: $text"
done
mapfile -t flags < <(xargs -r printf '%s\n' <<<"$3")
mapfile -t arguments < <(xargs -r printf '%s\n' <<<"$4")

# A program that is built already must find the simulated device by a name of NVIDIA's libraries.
check_built() {
    local needs
    needs=$(LC_ALL=C readelf -d "$1" 2>/dev/null | sed -n 's/.*(NEEDED).*\[\(lib.*\)\]$/\1/p')
    case $needs in
    *libcudart.so.13*) ;;
    *libcudart.so.*)
        refuse "make mine: $1 is linked with $(grep -m 1 libcudart <<<"$needs"), and the" \
            "simulated device stands in for libcudart.so.13. Build $1 with a CUDA toolkit of" \
            "version 13." ;;
    *libcuda.so.1*) ;;
    *)
        refuse "make mine: $1 does not load libcudart.so.13, so no simulated device can take its" \
            "place. nvcc links the runtime statically unless it is told otherwise. Build $1 again" \
            "with: nvcc -cudart shared -g -lineinfo (in CMake: CUDA_RUNTIME_LIBRARY Shared)." ;;
    esac
}

target=(-gencode "arch=compute_90,code=compute_90")
# They come last, so that a program's own kernels.h is found.
headers=(-isystem simulator -isystem lessons)

# Splits the flags: -I FOLDER and -L FOLDER may be two words.
to_compile=() to_link=()
for ((i = 0; i < ${#flags[@]}; i++)); do
    case ${flags[i]} in
    -L | -l | -Xlinker) to_link+=("${flags[i]}" "${flags[i + 1]-}") && i=$((i + 1)) ;;
    -L* | -l* | -Wl,* | *.a | *.so | *.so.*) to_link+=("${flags[i]}") ;;
    *) to_compile+=("${flags[i]}") ;;
    esac
done

read -ra linker <<<"${CC:-gcc}"   # CC may be two words, such as "ccache gcc"
compile() { # compile FILE OBJECT
    local compiler=("${linker[@]}")
    case $1 in
    *.cu)
        "$(cat build/nvcc/nvcc)" -g -lineinfo -Xcompiler -gdwarf-4,-fno-omit-frame-pointer \
            "${target[@]}" "${to_compile[@]}" "${headers[@]}" -c "$1" -o "$2" ;;
    *.c | *.cpp | *.cc | *.cxx)
        [[ $1 == *.c ]] || read -ra compiler <<<"${CXX:-g++}"
        type -P "${compiler[0]}" >/dev/null ||
            refuse "make mine: $1 needs ${compiler[0]}, which is not installed."
        "${compiler[@]}" -g -gdwarf-4 -fno-omit-frame-pointer "${to_compile[@]}" \
            "${headers[@]}" -isystem build/cuda/include -c "$1" -o "$2" ;;
    *) refuse "make mine: $1 is neither a source (.cu, .c, .cpp, .cc) nor a program." ;;
    esac
}

case " ${files[*]} " in
*.cu\ *)
    nvcc=$(cat build/nvcc/nvcc) from=
    version=$("$nvcc" --version | sed -n 's/.*release \([0-9.]*\),.*/\1/p')
    [[ $nvcc != "$PWD"/build/* ]] || from=", NVIDIA's from PyPI"
    echo "Compiler: ${nvcc#"$PWD"/} ($version$from)" >&2 ;;
esac
if [ "${#files[@]}" = 1 ] && [ -x "${files[0]}" ] &&
    [ "$(head -c 4 "${files[0]}" | tail -c 3)" = ELF ]; then
    program=${files[0]}
    check_built "$program"
else
    name=$(basename "${files[0]}")
    program=build/mine/${name%.*} objects=()
    rm -rf "$program" "$program.objects"   # a compiler may write nothing (-fsyntax-only)
    mkdir -p "$program.objects" || exit 1
    for file in "${files[@]}"; do
        object=$program.objects/${#objects[@]}-$(basename "$file").o
        compile "$file" "$object" || {
            echo "make mine: $file does not compile. Begin with the first error above." >&2
            [[ $file != *.cu ]] || echo "What CUDA 13 no longer has, and what to write instead," \
                "is in docs/your_program.rst, \"Written for an older CUDA\"." >&2
            exit 1
        }
        objects+=("$object")
    done
    # With -rdc=true, the files' device code is linked first, with what lets kernels launch others.
    if [[ " ${to_compile[*]} " =~ \ -(rdc|-relocatable-device-code)[=\ ]true\  ]]; then
        "$nvcc" -dlink "${target[@]}" "${objects[@]}" -lcudadevrt \
            -o "$program.objects/linked.o" || {
            echo "make mine: the device code cannot be linked. See the first error above." >&2
            exit 1
        }
        objects+=("$program.objects/linked.o")
        to_link+=("-L${nvcc%/bin/*}/lib64" "-L${nvcc%/bin/*}/lib" -lcudadevrt)
    fi
    # It comes with g++, and a program in C needs neither.
    [[ $("${linker[@]}" -print-file-name=libstdc++.so) != /* ]] || to_link+=(-lstdc++)
    "${linker[@]}" "${objects[@]}" "$library" "${to_link[@]}" -lm -pthread -o "$program" || {
        printf '%s\n' "make mine: the program cannot be linked. A source that is missing goes" \
            "into FILE, and a library into FLAGS, as -lNAME. cuBLAS, cuFFT and others of NVIDIA's" \
            "that have only machine code for GPUs link, but cannot run here." >&2
        exit 1
    }
fi
[[ $program == */* ]] || program=./$program
export LD_LIBRARY_PATH=$PWD/${library%/*}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export SIM_SUMMARY=${SIM_SUMMARY-on}
exec "$program" "${arguments[@]}"
