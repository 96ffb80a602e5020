#!/usr/bin/env bash
# Builds c3sim and runs the ConCCL study: prints its table beside the paper's figures and says where the picture is.
set -euo pipefail
cd "$(dirname "$0")"

scripts/install_packages.sh >&2
{
  cmake --preset release
  cmake --build --preset release --target c3sim
} >&2

out=out/conccl
build/release/c3sim run configs/experiments/conccl.yaml --out "$out"

picture=$(find "$out" -name '*.svg' -o -name '*.png' | sort | head -n 1)
if [ -z "$picture" ]; then
  echo "error: the study left no picture in $out" >&2
  exit 1
fi
echo
echo "Picture: $picture"
