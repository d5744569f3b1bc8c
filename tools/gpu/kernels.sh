#!/usr/bin/env bash
# Does the simulated device run nvcc's kernels as a GPU does? kernels.sh [FILE.md], by default
# build/kernels.md.
#
# For a machine with a GPU, a CUDA toolkit, gcc, make and python3. Each program is compiled once,
# without fma where the program names none: the GPU's driver compiles its PTX, and the simulated
# device runs it. Random kernels compare themselves with the host as well: SEEDS (10) times 40 run
# on both, and up to ALL_SEEDS (SEEDS) times 40 on the simulated device alone, as many as
# SECONDS_MOST (300) leave time for. FILE.md receives the table, FILE.d all that was printed. Exit
# status 0: each printed the same on both, and no random kernel differs.
set -u
file=$(realpath -m "${1:-build/kernels.md}")
cd "$(dirname "$0")/../.." || exit 1
. tools/gpu/record.sh
seeds=${SEEDS:-10} all_seeds=${ALL_SEEDS:-${SEEDS:-10}} most=${SECONDS_MOST:-300}
export folder=${file%.md}.d
nvcc=$(type -P nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null) || {
    echo "nvcc was not found." >&2
    exit 1
}
export nvcc
rm -rf "$folder"
mkdir -p "$folder" || exit 1
make -s BACKEND=simulator simulator || exit 1

# row NAME FILE.cu ARCHITECTURE gpu|: one line of the table, in NAME.row; without "gpu" the
# simulated device alone
row() {
    local name=$1 same=- options=(-cudart=shared -fmad=false -Xcompiler -ffp-contract=off)
    options+=(-gencode "arch=compute_$3,code=compute_$3" -diag-suppress "177,186,550")
    options+=(-std=c++20 -Ilessons)
    "$nvcc" "${options[@]}" "$2" -o "$folder/$name" >"$folder/$name.log" 2>&1 || {
        echo "| $name | was not compiled | |" >"$folder/$name.row"
        return
    }
    LD_LIBRARY_PATH=$PWD/build/simulator bounded 120 "$folder/$name.simulated" "$folder/$name"
    if [ "$4" = gpu ]; then
        bounded 120 "$folder/$name.gpu" "$folder/$name"
        same=no
        ! cmp -s "$folder/$name.gpu.out" "$folder/$name.simulated.out" || same=yes
    fi
    echo "| $name | $same | $(tail -n 1 "$folder/$name.simulated.out") |" >"$folder/$name.row"
    [[ $name == random* ]] || return 0
    rm -f "$folder/$name" "$folder/$name.cu"
}

random_row() { # random_row SEED
    local gpu=
    [ "$1" -gt "$seeds" ] || gpu=gpu
    [ "$SECONDS" -lt "$most" ] || [ "$gpu" ] || return 0
    python3 simulator/tests/unit/random_kernels.py "$1" 40 >"$folder/random_$1.cu"
    row "random_$1" "$folder/random_$1.cu" 75 "$gpu"
}

for program in simulator/tests/unit/kernels/{features,variety}.cu \
    docs/programs/migration{_before,}.cu; do
    name=${program##*/} architecture=75
    [ "$name" != variety.cu ] || architecture=90
    row "${name%.cu}" "$program" "$architecture" gpu &
done
wait
for ((seed = 1; seed <= all_seeds; seed++)); do
    while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do wait -n; done
    random_row "$seed" &
done
wait

count() { grep -c "$1" "$folder"/random_*.row | awk -F : '{ n += $2 } END { print n + 0 }'; }
{
    echo "| program | the same on both | the last line |"
    echo "|---|---|---|"
    for name in features variety migration_before migration; do cat "$folder/$name.row"; done
    echo
    echo "Random kernels: $((40 * $(count '| yes |'))) printed the same on both," \
        "$((40 * $(count '| no |'))) did not; of the simulated device" \
        "$((40 * $(count '40 kernels compared, 0 differ |'))) gave what the host gives. Files" \
        "of 40 kernels that differ: $(count '40 kernels compared, [1-9]'); that were not" \
        "compiled: $(count 'was not compiled')."
} >"$file"
cat "$file"
! grep -q '| no |\|not compiled |' "$folder"/*.row &&
    [ "$(count '40 kernels compared, 0 differ |')" = "$(count '^| random')" ]
