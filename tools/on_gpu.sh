#!/usr/bin/env bash
# Runs a program on this machine's GPU: on_gpu.sh PROGRAM [ARGUMENT...]
#
# Its output and exit status are the program's. When a call of it failed because there is no GPU
# that it could have used, a sentence says why, and how the same program runs without one.
# shellcheck source=tools/usage.sh
source "${BASH_SOURCE[0]%/*}/usage.sh"
takes '[^;]+(;.*)?' "$@"
printed=build/gpu/printed.$$
trap 'rm -f "$printed"' EXIT
exec 3>&1
"$@" 2>&1 >&3 3>&- | tee "$printed" >&2
status=${PIPESTATUS[0]}
error=$(grep -oE -m 1 'cudaError(InsufficientDriver|NoDevice|System\w+|InitializationError)\b' \
    "$printed" | head -n 1)
case $error in
'') exit "$status" ;;
cudaErrorInsufficientDriver)
    why="the GPU's driver is older than the toolkit of $(<build/gpu/nvcc), or there is none" ;;
cudaErrorNoDevice) why="the driver shows no GPU; CUDA_VISIBLE_DEVICES may hide it" ;;
*) why="the driver cannot be used" ;;
esac
echo "$error: $why. BACKEND=simulator runs this without a GPU." >&2
exit "$status"
