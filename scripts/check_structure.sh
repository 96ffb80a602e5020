#!/usr/bin/env bash
# Fails where a layer names one above it, or where a second file includes yaml-cpp.
set -euo pipefail
cd "$(dirname "$0")/.."
failed=0

# forbid <layer> <layers above it, joined by \|>
forbid() {
  if grep -rns --include='*.h' --include='*.cpp' "\b\($2\)\(/\|::\)" "$1"; then
    echo "error: $1/ names a layer above it" >&2
    failed=1
  fi
}
forbid sim 'models\|study\|calibrate\|validate\|cli'
forbid models 'study\|calibrate\|validate\|cli'
forbid study 'calibrate\|validate\|cli'
forbid calibrate 'validate\|cli'
forbid validate 'cli'

mapfile -t readers < <(grep -rls --include='*.h' --include='*.cpp' '#include <yaml-cpp/' sim models study calibrate validate cli tests)
if [ "${#readers[@]}" -gt 1 ]; then
  echo "error: yaml-cpp belongs in one file, and is included by: ${readers[*]}" >&2
  failed=1
fi
exit "$failed"
