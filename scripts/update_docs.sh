#!/usr/bin/env bash
# Makes what the documents say of accuracy from today's predictions: docs/accuracy.md, docs/deviations.md and the table in
# README.md. With --check it changes nothing and fails where they are stale. Needs the release build.
set -euo pipefail
cd "$(dirname "$0")/.."

report=$(mktemp -d)
trap 'rm -rf "$report"' EXIT
verdict=0
build/release/c3sim validate --report "$report" >"$report/tables.txt" || verdict=$?
[ "$verdict" -le 1 ] || exit "$verdict"

begin='<!-- accuracy: made by scripts/update_docs.sh -->'
end='<!-- end of accuracy -->'
awk -v begin="$begin" -v end="$end" -v table="$report/accuracy_table.md" '
  $0 == begin { print; while ((getline line < table) > 0) print line; skipping = 1; next }
  $0 == end { skipping = 0 }
  !skipping { print }' README.md >"$report/README.md"
if ! grep -qxF "$begin" README.md || ! grep -qxF "$end" README.md; then
  echo "error: README.md lacks the lines '$begin' and '$end'" >&2
  exit 1
fi

stale=0
update() {
  if [ "${mode:-}" != --check ]; then
    cp "$1" "$2"
  elif ! diff -u "$2" "$1" >&2; then
    echo "error: $2 is stale: run scripts/update_docs.sh" >&2
    stale=1
  fi
}
mode=${1:-}
update "$report/accuracy.md" docs/accuracy.md
update "$report/deviations.md" docs/deviations.md
update "$report/README.md" README.md
exit "$stale"
