#!/usr/bin/env bash
# Builds c3sim, runs the ConCCL study and holds all predictions against all measurements: prints the tables and says where
# their pages are.
set -euo pipefail
cd "$(dirname "$0")"

scripts/install_packages.sh >&2
{
  cmake --preset release
  cmake --build --preset release --target c3sim
} >&2

out=out/conccl
build/release/c3sim sweep configs/studies/conccl.yaml --out "$out"

echo
verdict=0
build/release/c3sim validate --report out/validation || verdict=$?
[ "$verdict" -le 1 ] || exit "$verdict" # 1: some cases lie outside their bands, as the table says

echo "Page of the study: $out/page.html"
echo "Page of the validation: out/validation/page.html"
