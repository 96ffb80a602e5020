#!/usr/bin/env bash
# Fails where clang-format would change a source, and where a heading of a document has no blank, as such a tool leaves
# documents. With --fix, it changes sources.
set -euo pipefail
cd "$(dirname "$0")/.."

mode=(--dry-run -Werror)
[ "${1:-}" != --fix ] || mode=(-i)
find . \( -path './.*' -o -path ./build -o -path ./out \) -prune -o -name '*.h' -print0 -o -name '*.cpp' -print0 |
  xargs -0 --no-run-if-empty clang-format-14 "${mode[@]}"

! grep -nE '^#+[A-Z][a-z]' -- *.md docs/*.md
