#!/usr/bin/env bash
# A study by several processes under mpirun: the same bytes as by one, also with more processes than points, after all
# were killed in the middle, and after one was, the one that keeps the results among them. Usage: mpirun_test.sh MPIRUN C3SIM
set -euo pipefail
mpirun=$1 c3sim=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl=self,vader OMPI_MCA_plm=isolated
cat > "$folder/study.yaml" <<'END'
name: ranks
ask: c3
axes:
  - {of: fabric.link_rate, from: 48 GB/s, to: 128 GB/s}
  - {of: bytes, from: 32MiB, to: 2GiB, scale: log}
  - {of: gemm, value: 8192x8192x8192}
  - {of: collective, value: all_gather}
  - {of: strategy, value: conccl}
sampling: {method: sobol, points: 800}
END
sed 's/points: 800/points: 3/' "$folder/study.yaml" > "$folder/tiny.yaml"

fail() { echo "FAILED: $*"; exit 1; }
same() { cmp "$folder/one/points.csv" "$folder/$1/points.csv" && cmp "$folder/one/page.html" "$folder/$1/page.html" ||
  fail "$1 differs from one process"; }
sweep() {
  local out=$1
  shift
  "$@" "$c3sim" sweep "$folder/study.yaml" --out "$folder/$out" --resume --patience 2s > /dev/null
}
ranks=("$mpirun" --oversubscribe)

sweep one
sweep four "${ranks[@]}" -n 4
same four

"$c3sim" sweep "$folder/tiny.yaml" > "$folder/tiny.one"
"${ranks[@]}" -n 6 "$c3sim" sweep "$folder/tiny.yaml" > "$folder/tiny.six"
cmp "$folder/tiny.one" "$folder/tiny.six" || fail "more processes than points"

# The file of points grows once there are some.
wait_for_points() {
  while kill -0 "$launcher" 2> /dev/null; do
    [ "$(stat -c %s "$folder/$1/points.sqlite-wal" 2> /dev/null || echo 0)" -gt 60000 ] && return
    sleep 0.05
  done
  fail "no points in $1"
}
# Of the processes that mpirun has started, the one that this picks dies.
kill_one() { kill -9 "$(pgrep -P "$(pgrep -P "$1" | head -1)" | "$2" -1)"; }

# By default mpirun ends all when one dies, here the one that keeps the results.
sweep killed "${ranks[@]}" -n 4 & launcher=$!
wait_for_points killed
kill_one $launcher head
wait $launcher && fail "a killed run was fine"
sweep killed "${ranks[@]}" -n 4
same killed

# With --enable-recovery the others go on without one that died.
sweep survived "${ranks[@]}" --enable-recovery -n 4 & launcher=$!
wait_for_points survived
kill_one $launcher tail
wait $launcher || true # mpirun says that one of its processes died; the others must not stay
same survived

# Without the one that keeps the results nobody waits for ever.
sweep orphaned "${ranks[@]}" --enable-recovery -n 4 2> "$folder/said" & launcher=$!
wait_for_points orphaned
kill_one $launcher head
for _ in $(seq 3000); do kill -0 $launcher 2> /dev/null || break; sleep 0.1; done
kill -0 $launcher 2> /dev/null && kill $launcher && fail "orphans stay"
wait $launcher || true # mpirun --enable-recovery tells nothing by its exit code
grep -q "rank 0, which keeps the results, has not answered for 2 s" "$folder/said" || fail "nobody said why"
sweep orphaned "${ranks[@]}" -n 4
same orphaned
echo "PASSED"
