#!/usr/bin/env bash
# The node that emcc runs: without an option that emcc 3.1.6 gives it and newer ones do not have.
arguments=()
for argument; do
    [ "$argument" = --experimental-wasm-bigint ] || arguments+=("$argument")
done
exec node "${arguments[@]}"
