#!/usr/bin/env bash
# Runs clang-tidy over the sources of all layers, by the command lines of the preset asan (clang's own).
set -euo pipefail
cd "$(dirname "$0")/.."

cmake --preset asan >/dev/null
report=build/asan/clang-tidy.txt
if ! run-clang-tidy-14 -quiet -p build/asan "^$PWD/(sim|models|study|calibrate|validate|cli)/" >"$report" 2>&1; then
  sed -i 's/\x1b\[[0-9;]*m//g' "$report"
  grep -E -A 3 '(warning|error):' "$report" || cat "$report"
  exit 1
fi
