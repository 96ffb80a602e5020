#!/usr/bin/env bash
# manual_pages.sh HELP2MAN FOLDER PROGRAM MEASURE: makes c3sim.1, c3sim-COMMAND.1 and c3sim-measure.1 of what the two programs
# say of themselves with --help.
set -euo pipefail
help2man=$1 folder=$2 program=$3 measure=$4

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
page c3sim-measure "$measure"
see_also=$(printf '.BR c3sim-%s (1),\n' "${commands[@]}" measure)
page c3sim "$program" --include=<(printf '[SEE ALSO]\n%s\n' "${see_also%,}")
