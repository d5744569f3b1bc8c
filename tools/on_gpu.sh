#!/usr/bin/env bash
# Runs a program on this machine's GPU: on_gpu.sh PROGRAM [ARGUMENT...]
#
# Its output and exit status are the program's. When it fails, and there is no GPU that it could
# have used, a sentence says why, and how the same program runs without one.
# shellcheck source=tools/usage.sh
source "${BASH_SOURCE[0]%/*}/usage.sh"
takes '[^;]+(;.*)?' "$@"
"$@"
status=$?
# 2: a wrong argument; 77: this machine cannot run it.
case $status in 0 | 2 | 77) exit $status ;; esac
asks=build/gpu/driver
if [ ! -x $asks ] || [ build/gpu/made_for -nt $asks ]; then
    # shellcheck disable=SC2086  # CC may be two words
    ${CC:-gcc} tools/driver.c -isystem build/gpu/include -Lbuild/gpu/lib -lcudart \
        -Wl,-rpath,"$PWD/build/gpu/lib" -o $asks.$$ 2>/dev/null && mv $asks.$$ $asks
fi
error=$($asks 2>/dev/null)
case $error in
'') exit $status ;;
cudaErrorInsufficientDriver)
    why="the GPU's driver is older than the toolkit of $(<build/gpu/nvcc), or there is none" ;;
cudaErrorNoDevice) why="the driver shows no GPU; CUDA_VISIBLE_DEVICES may hide it" ;;
*) why="the driver cannot be used" ;;
esac
echo "cudaGetDeviceCount returns $error: $why. BACKEND=simulator runs this without a GPU." >&2
exit $status
