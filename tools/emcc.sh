#!/usr/bin/env bash
# Runs Debian's emcc with these arguments. Addresses of 64 bits need a C library that Debian does
# not ship compiled: it is compiled once, in build/live/cache, which takes some minutes.
set -u
cd "$(dirname "$0")/.." || exit 1
mkdir -p build/live/cache
# emcc's own scripts need this node, even if another one comes first in PATH.
export NODE_PATH=/usr/share/nodejs:/usr/lib/nodejs EM_NODE_JS=$PWD/tools/emcc_node.sh
# Empty, so that emcc may write to its cache, which Debian forbids by default.
export EM_CACHE=$PWD/build/live/cache EM_FROZEN_CACHE=
# The linker warns that this library declares the comparisons of 128-bit numbers in two ways.
# Nothing calls them, because a double is the longest number that is printed.
emcc "$@" 2>&1 | awk '/^cache:INFO/ { next }
    /signature mismatch: __[a-z]+tf2/ { mismatch = 1; next }
    mismatch && (/^>>>/ || !NF) { next }
    { mismatch = 0; print }' >&2
exit "${PIPESTATUS[0]}"
