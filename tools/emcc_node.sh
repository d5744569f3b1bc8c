#!/usr/bin/env bash
# Runs node for emcc, without an option that emcc 3.1.6 passes and newer versions of node lack.
arguments=()
for argument; do
    [ "$argument" = --experimental-wasm-bigint ] || arguments+=("$argument")
done
exec node "${arguments[@]}"
