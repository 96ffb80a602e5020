#!/usr/bin/env bash
# install_test.sh BUILD SOURCE CMAKE CPACK: installs the build into a folder of it, and holds that everything works from there:
# commands, completions, manual pages, examples/embed, and the packages for Debian.
set -euo pipefail
build=$(realpath "$1") source=$(realpath "$2") cmake=$3 cpack=$4
prefix=$build/installed
unset C3SIM_CONFIGS CMAKE_PREFIX_PATH
fail() { echo "error: $*" >&2; exit 1; }

rm -rf "$prefix" "$build/embed" "$build/packages"
"$cmake" --install "$build" --prefix "$prefix" >/dev/null

# No file of the installation knows where it was built. A folder without configs/ is where commands are asked.
if grep -rlF -e "$source/" -e "$build/" "$prefix"; then fail "the files above hold a path of this build"; fi
mkdir -p "$build/elsewhere"
cd "$build/elsewhere"
c3sim=$prefix/bin/c3sim
pair=(--gemm 8192x57344x8192 --collective all_gather --bytes 896MiB --strategy c3_sp,conccl)
"$c3sim" c3 "${pair[@]}" --format csv >c3.csv
"$c3sim" gemm --gemm 1024x1024x1024 >/dev/null
"$c3sim" collective --collective all_gather --bytes 1MiB >/dev/null
"$c3sim" copy --from gpu0 --to gpu1 --bytes 1MiB >/dev/null
"$c3sim" platform h200 >/dev/null
"$c3sim" run "$prefix/share/c3sim/configs/experiments/sdma_handshake.yaml" >/dev/null
"$c3sim" sweep "$prefix/share/c3sim/configs/studies/sdma_engines.yaml" >/dev/null
[ "$("$c3sim" validate --list --format csv | wc -l)" -gt 5 ] || fail "no suites"
"$c3sim" validate power >/dev/null
"$prefix/bin/c3sim-measure" --list >/dev/null

# Shells find completions, and man the pages.
completions=$(bash -c 'source "$0"; COMP_LINE="c3sim co" COMP_POINT=8 COMP_WORDS=("$1" co); _c3sim; echo "${COMPREPLY[*]}"' \
  "$prefix/share/bash-completion/completions/c3sim" "$prefix/bin/c3sim")
[[ $completions == *collective* && $completions == *copy* ]] || fail "bash completes 'co' by: $completions"
head -n 1 "$prefix/share/zsh/site-functions/_c3sim" | grep -qxF '#compdef c3sim' || fail "zsh would not load _c3sim"
for page in c3sim c3sim-c3 c3sim-validate c3sim-measure; do
  grep -q '^\.SH NAME' "$prefix/share/man/man1/$page.1" || fail "no manual page $page"
done

# The example says what the command says.
"$cmake" -S "$source/examples/embed" -B "$build/embed" -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
"$cmake" --build "$build/embed" >/dev/null
"$build/embed/embed" >embed.txt
awk -F, 'NR > 1 { printf "%s %.6g us\n", $5, $6 }' c3.csv | diff - embed.txt || fail "the example predicts something else"

# Python finds the module, which finds its files and says what the program says; from any folder, as all of it.
packages=$prefix/lib/python3/dist-packages
if [ -d "$packages/c3sim" ]; then
  PYTHONPATH=$packages /usr/bin/python3 -B -c '
import c3sim
rows = c3sim.c3(gemm="8192x57344x8192", collective="all_gather", bytes="896MiB", strategy=["c3_sp", "conccl"])
print("\n".join("{strategy} {makespan_us:.6g} us".format(**row) for row in rows))
assert c3sim.validate("power").holds' | diff embed.txt - || fail "Python predicts something else"
fi

# The packages ask for the libraries that the program needs.
"$cpack" --config "$build/CPackConfig.cmake" -B "$build/packages" >/dev/null
program=$(ls "$build"/packages/c3sim_*.deb)
depends=$(dpkg-deb --field "$program" Depends)
for library in libc6 libfmt9 libsqlite3-0 libssl3 libstdc++6 libyaml-cpp; do
  [[ $depends == *$library* ]] || fail "the package does not ask for $library but for: $depends"
done
dpkg-deb --contents "$program" >program.txt
for file in usr/bin/c3sim usr/bin/c3sim-measure usr/share/c3sim/configs/platforms/mi300x.yaml usr/share/zsh/vendor-completions/_c3sim; do
  grep -q " \./$file\$" program.txt || fail "the package lacks $file"
done
dpkg-deb --contents "$build"/packages/c3sim-dev_*.deb >development.txt
grep -q ' \./usr/include/c3sim/study/c3/strategy.h$' development.txt || fail "c3sim-dev lacks headers"
if grep -q '/include/c3sim/calibrate/measure/' development.txt; then fail "c3sim-dev has headers that no program asks by"; fi
if [ -d "$packages/c3sim" ]; then
  python=$(ls "$build"/packages/python3-c3sim_*.deb)
  depends=$(dpkg-deb --field "$python" Depends)
  [[ $depends == *"c3sim (= "* && $depends == *python3* && $depends == *libyaml-cpp* ]] || fail "python3-c3sim asks for: $depends"
  dpkg-deb --contents "$python" >python.txt
  for file in __init__.py __init__.pyi py.typed "_core.*\.so"; do
    grep -q " \./usr/lib/python3/dist-packages/c3sim/$file$" python.txt || fail "python3-c3sim lacks $file"
  done
fi
