#!/usr/bin/env bash
# Does the simulated device run nvcc's kernels as a GPU does? kernels.sh [FILE.md [SEEDS]], by
# default build/kernels.md and 5 seeds.
#
# For a machine with a GPU, a CUDA toolkit, gcc, make and python3. Each program is compiled once,
# for compute_75, without fma where the program names none: the GPU's driver compiles its PTX, and
# the simulated device runs it. FILE.md receives the table, FILE.d all that was printed. Exit status
# 0: each printed the same on both.
set -u
file=$(realpath -m "${1:-build/kernels.md}")
cd "$(dirname "$0")/../.." || exit 1
. tests/hardware/record.sh
folder=${file%.md}.d seeds=${2:-5} different=0
nvcc=$(type -P nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null) || {
    echo "nvcc was not found." >&2
    exit 1
}
rm -rf "$folder"
mkdir -p "$folder" || exit 1
make -s BACKEND=simulator simulator || exit 1

row() { # row NAME FILE.cu: one line of the table
    local name=$1 same=yes options=(-cudart=shared -fmad=false -Xcompiler -ffp-contract=off)
    options+=(-gencode "arch=compute_75,code=compute_75" -diag-suppress "177,550")
    "$nvcc" "${options[@]}" "$2" -o "$folder/$name" >"$folder/$name.log" 2>&1 || {
        echo "| $name | was not compiled | |"
        return 1
    }
    bounded 120 "$folder/$name.gpu" "$folder/$name"
    LD_LIBRARY_PATH=$PWD/build/simulator bounded 120 "$folder/$name.simulated" "$folder/$name"
    cmp -s "$folder/$name.gpu.out" "$folder/$name.simulated.out" || same=no
    echo "| $name | $same | $(tail -n 1 "$folder/$name.gpu.out") |"
    [ "$same" = yes ]
}

{
    echo "| program | the same on both | the GPU's last line |"
    echo "|---|---|---|"
    row features tests/simulator/kernels/features.cu || different=1
    for ((seed = 1; seed <= seeds; seed++)); do
        python3 tests/simulator/random_kernels.py "$seed" 40 >"$folder/random_$seed.cu"
        row "random_$seed" "$folder/random_$seed.cu" || different=1
    done
} >"$file"
cat "$file"
exit "$different"
