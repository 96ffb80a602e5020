#!/usr/bin/env bash
# manual_pages.sh HELP2MAN PROGRAM FOLDER: makes c3sim.1 and c3sim-COMMAND.1 of what the program says of itself with --help.
set -euo pipefail
help2man=$1 program=$2 folder=$3

export LC_ALL=C.UTF-8
version=$("$program" --version)
mapfile -t commands < <("$program" --help | sed -n '/^Subcommands:/,/^$/s/^  \([a-z0-9_]\+\)  .*/\1/p')
mkdir -p "$folder"

# page NAME COMMAND_LINE: named after the page, not the program; each example on its own line.
page() {
  local help
  help=$($2 --help)
  "$help2man" --no-info --version-string="$version" --source="$version" --name="${help%%$'\n'*}" "${@:3}" "$2" |
    sed -e "s/^\.TH .* \"1\"/.TH ${1^^} \"1\"/" -e "s/^c3sim \\\\- /$1 \\\\- /" \
      -e '/^\.SH EXAMPLES/,/^\.PP/{s/^\.IP/.PP\n.nf/;s/^\.PP$/.fi\n.PP/}' >"$folder/$1.1"
}

for command in "${commands[@]}"; do
  page "c3sim-$command" "$program $command"
done
see_also=$(printf '.BR c3sim-%s (1),\n' "${commands[@]}")
page c3sim "$program" --include=<(printf '[SEE ALSO]\n%s\n' "${see_also%,}")
