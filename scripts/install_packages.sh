#!/usr/bin/env bash
# Installs the packages of packages.txt that are missing. Does nothing, and needs no rights, where all are there.
set -euo pipefail
cd "$(dirname "$0")/.."

missing=()
mapfile -t packages < <(sed 's/#.*//; /^[[:space:]]*$/d' packages.txt)
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done
[ "${#missing[@]}" -gt 0 ] || exit 0

if [ "$(id -u)" -eq 0 ]; then
  as_root=()
elif command -v sudo >/dev/null; then
  as_root=(sudo)
else
  echo "error: these packages are missing and need root or sudo to install: ${missing[*]}" >&2
  exit 1
fi

echo "installing: ${missing[*]}"
apt_get() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y "$@" </dev/null; }
apt_get update
apt_get install --no-install-recommends "${missing[@]}"
