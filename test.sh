#!/usr/bin/env bash
# Builds everything and runs every test. An argument names another preset than release: ./test.sh asan
set -euo pipefail
cd "$(dirname "$0")"
preset=${1:-release}

scripts/install_packages.sh
cmake --preset "$preset"
cmake --build --preset "$preset"
ctest --preset "$preset" --parallel "$(nproc)" --output-junit junit.xml
