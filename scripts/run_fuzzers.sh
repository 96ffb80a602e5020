#!/usr/bin/env bash
# Builds every fuzz target and lets all run at once for a number of seconds (60 unless given). Inputs that break one are
# left in build/asan/fuzz/findings/, those that reached new code in build/asan/fuzz/corpus/.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}

targets=()
for source in tests/fuzz/*_fuzz.cpp; do targets+=("$(basename "$source" .cpp)"); done
cmake --preset asan
cmake --build --preset asan --target "${targets[@]}"

running=()
for target in "${targets[@]}"; do
  corpora=("build/asan/fuzz/corpus/$target")
  [ ! -d "tests/fuzz/corpus/$target" ] || corpora+=("tests/fuzz/corpus/$target")
  mkdir -p "${corpora[0]}" "build/asan/fuzz/findings/$target"
  # libFuzzer adds what it finds to the first corpus and only reads the others.
  "build/asan/$target" -max_total_time="$seconds" -timeout=60 -print_final_stats=1 \
    -artifact_prefix="build/asan/fuzz/findings/$target/" "${corpora[@]}" >"build/asan/fuzz/$target.log" 2>&1 &
  running+=("$!:$target")
done

failed=0
for entry in "${running[@]}"; do
  target=${entry#*:}
  if wait "${entry%%:*}"; then
    echo "$target: $(sed -n 's/^stat::number_of_executed_units: *//p' "build/asan/fuzz/$target.log") inputs, none broke it"
  else
    tail -n 60 "build/asan/fuzz/$target.log"
    echo "error: $target failed; the input is in build/asan/fuzz/findings/$target/" >&2
    failed=1
  fi
done
exit "$failed"
