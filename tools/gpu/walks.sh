#!/usr/bin/env bash
# Takes again on a GPU the random walks of facts/walks.txt.gz: walks.sh [FILE.md], by default
# build/walks.md.
#
# For a machine with a GPU, a CUDA toolkit, gcc and make. A walk may take SECONDS_EACH (20) seconds,
# and one that has not begun after SECONDS_ALL (480) is not taken. They come one after the other,
# since a walk is about what the device has finished when. FILE.md receives the table; FILE.d the
# walks of each profile. Exit status 0: no profile has more walks that
# differ than CHANCE (2) of its 20. Where a free is reached just as the next call is made, a race
# decides (facts/README.md), and from there on the walk is another one.
set -u
file=$(realpath -m "${1:-build/walks.md}")
cd "$(dirname "$0")/../.." || exit 1
. tools/gpu/record.sh
folder=${file%.md}.d different=0
DEADLINE=$(($(date +%s) + ${SECONDS_ALL:-480}))
rm -rf "$folder"
mkdir -p "$folder" || exit 1

# differing RECORDED NEW: a line "SEED STEP" for each recorded walk that differs, or is not there,
# and its first such step; the walk's first line is step 0
differing() {
    awk '
        /^# seed / { walk = $3; step = -1 }
        { step++ }
        FNR == NR { recorded[walk, step] = $0; steps[walk] = step; next }
        { here[walk, step] = $0 }
        END {
            for (walk = 1; walk in steps; walk++)
                for (step = 0; step <= steps[walk]; step++)
                    if (recorded[walk, step] != here[walk, step]) {
                        print walk, step
                        break
                    }
        }' "$1" "$2"
}

row() { # row NUMBER NAME: a profile's 20 walks, one line of the table
    local seed count ended=0 all
    for seed in {1..20}; do
        ! is_late || break
        CUDA_VISIBLE_DEVICES=$first_gpu bounded "${SECONDS_EACH:-20}" "$folder/walk" \
            build/gpu/simulator/tests/facts/walks "$seed" 120 "$1"
        cat "$folder/walk.out" >>"$folder/$2.txt"
        [ "$(cat "$folder/walk.status")" != 0 ] || ended=$((ended + 1))
    done
    touch "$folder/$2.txt"
    differing <(gzip -dc simulator/tests/facts/walks.txt.gz |
        awk -v number="$1" '/^# / { on = $5 == number } on') "$folder/$2.txt" >"$folder/$2.diff"
    count=$(wc -l <"$folder/$2.diff")
    [ "$count" -le "${CHANCE:-2}" ] || different=1
    all=$(awk '{ printf "%s%s from step %s", sep, $1, $2; sep = ", " }' "$folder/$2.diff")
    echo "| $2 | $ended of 20 | $count of 20 | $all |"
}

first_gpu=${CUDA_VISIBLE_DEVICES:-0} first_gpu=${first_gpu%%,*}
build gpu "$folder/build" simulator/tests/facts/walks || different=1
{
    echo "# Random walks over a pool on a GPU"
    echo
    echo "Written by tools/gpu/walks.sh: which walks differ from the recorded ones, and from" \
        "which step."
    echo
    about
    echo
    echo "| profile | walks that ended | walks that differ | seeds |"
    echo "|---|---|---|---|"
    number=0
    for name in mixed small large capped one-stream; do
        row "$number" "$name"
        number=$((number + 1))
    done
} >"$file"
rm -f "$folder"/walk.*
cat "$file"
exit "$different"
