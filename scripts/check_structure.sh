#!/usr/bin/env bash
# Fails where the folders are not as CONTRIBUTING.md draws them: see structure.py.
exec "$(dirname "$0")/structure.py"
