#!/usr/bin/env bash
# Builds c3sim and runs the ConCCL study: prints its table beside the paper's figures and says where its page is.
set -euo pipefail
cd "$(dirname "$0")"

scripts/install_packages.sh >&2
{
  cmake --preset release
  cmake --build --preset release --target c3sim
} >&2

out=out/conccl
build/release/c3sim run configs/experiments/conccl.yaml --out "$out"

echo
echo "Page: $out/page.html"
