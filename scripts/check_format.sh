#!/usr/bin/env bash
# Fails where clang-format would change a source. With --fix, changes it.
set -euo pipefail
cd "$(dirname "$0")/.."

mode=(--dry-run -Werror)
[ "${1:-}" != --fix ] || mode=(-i)
find . \( -path './.*' -o -path ./build -o -path ./out \) -prune -o -name '*.h' -print0 -o -name '*.cpp' -print0 |
  xargs -0 --no-run-if-empty clang-format-14 "${mode[@]}"
