#!/usr/bin/env bash
# Builds everything and runs every test. An argument names another preset than release, ./test.sh asan: those are slower
# and leave out the tests labelled full.
set -euo pipefail
cd "$(dirname "$0")"
preset=${1:-release}

scripts/install_packages.sh
cmake --preset "$preset"
cmake --build --preset "$preset"
selection=()
[ "$preset" = release ] || selection=(--label-exclude full)
ctest --preset "$preset" --parallel "$(nproc)" --output-junit junit.xml "${selection[@]}"
