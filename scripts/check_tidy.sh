#!/usr/bin/env bash
# Runs clang-tidy over the sources of all layers, each by itself, by the command lines of the preset asan (clang's own).
set -euo pipefail
cd "$(dirname "$0")/.."

cmake --preset asan -B build/tidy -DCMAKE_UNITY_BUILD=OFF -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON >/dev/null
report=build/tidy/clang-tidy.txt
if ! run-clang-tidy-14 -quiet -p build/tidy "^$PWD/(sim|models|study|calibrate|tune|validate|cli)/" >"$report" 2>&1; then
  sed -i 's/\x1b\[[0-9;]*m//g' "$report"
  grep -E -A 3 '(warning|error):' "$report" || cat "$report"
  exit 1
fi
