#!/usr/bin/env bash
# Builds everything and runs every test. An argument names another preset than release, ./test.sh asan: those are slower
# and leave out the tests labelled full.
set -euo pipefail
cd "$(dirname "$0")"
preset=${1:-release}

scripts/install_packages.sh
cmake --preset "$preset"
cmake --build --preset "$preset"

# Under sanitizers a process takes longer to start than most tests do: each program runs its tests in as many parts as there
# are cores.
if [ "$preset" = asan ]; then
  export ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1 UBSAN_OPTIONS=print_stacktrace=1
  export RC_PARAMS=seed=20260 GTEST_BRIEF=1 GTEST_FILTER='-Full*:*.Full*:*/Full*' GTEST_TOTAL_SHARDS
  GTEST_TOTAL_SHARDS=$(nproc)
  failed=0
  rm -f build/asan/junit*.xml
  for program in build/asan/*_tests; do
    parts=()
    for part in $(seq 0 $((GTEST_TOTAL_SHARDS - 1))); do
      GTEST_SHARD_INDEX=$part GTEST_OUTPUT=xml:build/asan/junit.$(basename "$program").$part.xml "$program" &
      parts+=($!)
    done
    for part in "${parts[@]}"; do wait "$part" || failed=1; done
  done
  exit "$failed"
fi
selection=()
[ "$preset" = release ] || selection=(--label-exclude full)
ctest --preset "$preset" --parallel "$(nproc)" --output-junit junit.xml "${selection[@]}"
