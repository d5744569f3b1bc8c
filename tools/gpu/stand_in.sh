#!/usr/bin/env bash
# The simulated device in the place of a GPU, to try the recorders of this folder where there is
# none: stand_in.sh FOLDER COMMAND... runs a command of the workbook in FOLDER, a new copy of it,
# such as make gpu walks.
#
# There a program "for the GPU" is a script that starts the same one built for the simulated device,
# without its checker, since the probes do what no program should; nvidia-smi lists GPUS (2) GPUs,
# CUDA_VISIBLE_DEVICES=0 leaves one of them, and compute-sanitizer finds nothing. What is printed
# there is no evidence of anything: no recording is ever made of it.
set -eu
# shellcheck source=tools/usage.sh
source "${BASH_SOURCE[0]%/*}/../usage.sh"
takes '[^-;][^;]*;[^-;][^;]*(;.*)?' "$@"
real=$(realpath "$(dirname "$0")/../..")
copy=$(realpath -m "$1")
shift
[ ! -e "$copy" ] || { echo "stand_in.sh: $copy is there already." >&2; exit 2; }
mkdir -p "$copy/build/gpu" "$copy/bin" "$real/build/simulator"
for name in "$real"/*; do
    [ "${name##*/}" = build ] || ln -s "$name" "$copy"
done
# What a test changes there is a copy: the recorders, and what is recorded.
rm "$copy"/{tests,tools,simulator}
mkdir -p "$copy"/{tests,tools,simulator/tests}
ln -s "$real"/tests/* "$copy/tests"
ln -s "$real"/tools/* "$copy/tools"
ln -s "$real"/simulator/[!t]* "$copy/simulator"
ln -s "$real"/simulator/tests/* "$copy/simulator/tests"
for name in tools/gpu simulator/tests/facts; do
    rm "$copy/$name"
    cp -r "$real/$name" "$copy/$name"
done
ln -s "$real/build/simulator" "$copy/build/simulator"
command=$(type -P make)

cat >"$copy/bin/make" <<END
#!/usr/bin/env bash
# make gpu PART... here; make BACKEND=gpu build/gpu/PROGRAM...; anything else as it stands
[ "\$1" != gpu ] || exec tools/gpu/record.py "\${@:2}"
goals=() wanted=() mutants=()
for word; do
    case \$word in
    build/gpu/*) wanted+=("\${word#build/gpu/}") goals+=("build/simulator/\${word#build/gpu/}") ;;
    BACKEND=gpu) goals+=(BACKEND=simulator) ;;
    *) goals+=("\$word") ;;
    esac
done
"$command" -C "$real" "\${goals[@]}" || exit
for name in "\${wanted[@]}"; do
    mkdir -p "$copy/build/gpu/\${name%/*}"
    cat >"$copy/build/gpu/\$name" <<WRAPPER
#!/bin/sh
[ -z "\\\${CUDA_VISIBLE_DEVICES##*,*}" ] || export SIM_DEVICES=1
SIM_CHECK=off exec "$real/build/simulator/\$name" "\\\$@"
WRAPPER
    chmod +x "$copy/build/gpu/\$name"
done
END
cat >"$copy/bin/nvidia-smi" <<END
#!/bin/sh
case \$1 in
-L) for i in \$(seq ${GPUS:-2}); do echo "GPU \$i: simulated"; done ;;
*) echo "simulated, none" ;;
esac
END
cat >"$copy/bin/compute-sanitizer" <<END
#!/bin/sh
[ "\$1" = --version ] && { echo "Version none"; exit; }
for word; do
    case \$word in */build/gpu/* | build/gpu/*) break ;; esac
    shift
done
"\$@" && echo "========= ERROR SUMMARY: 0 errors"
END
chmod +x "$copy"/bin/*
cd "$copy"
PATH=$copy/bin:$PATH exec "$@"
