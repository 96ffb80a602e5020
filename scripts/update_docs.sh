#!/usr/bin/env bash
# Makes what the documents say of today's predictions and parameters: docs/accuracy.md, docs/deviations.md, and the parts
# of README.md and of questions, conccl, model, tuning and uncertainty.md in docs/ between lines that name this
# script. With --check it changes nothing and fails where they are stale, but for the first two, which the tests FullShipped
# hold against today's predictions. It needs the release build.
set -euo pipefail
cd "$(dirname "$0")/.."
c3sim=build/release/c3sim
export COLUMNS=160  # width of tables

made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT

# markdown FILE.csv HEADINGS FIELD...: the named fields of a table, rounded, under HEADINGS (separated by |); rows of
# strategies that are only yardsticks are left out.
markdown() {
  awk -F, -v headings="$2" -v fields="${*:3}" '
    NR == 1 {
      for (i = 1; i <= NF; ++i) at[$i] = i
      count = split(fields, wanted, " ")
      print "| " headings " |"
      for (i = 1; i <= count; ++i) rule = rule "|---"
      print rule "|"
      next
    }
    $(at["strategy"]) == "serial" { next }
    {
      row = ""
      for (i = 1; i <= count; ++i) {
        value = $(at[wanted[i]])
        if (value ~ /^[0-9]/) value = sprintf(wanted[i] ~ /speedup/ ? "%.2f" : "%.0f", value)
        row = row "| " value " "
      }
      print row "|"
    }' "$1"
}

# answers HEADINGS KEY...: stdin's JSON results as a table of the named fields, which may say how they are shown
# (time_us/1000:.1f divides and formats; batch alone is text), under HEADINGS (separated by |).
answers() {
  python3 -c '
import json, re, sys
headings, *fields = sys.argv[1:]
print(f"| {headings} |")
print("|---" * len(fields) + "|")
for row in json.load(sys.stdin)["results"]:
    cells = []
    for field in fields:
        key, over, shown = re.fullmatch(r"(\w+)(?:/(\d+))?(?::(.+))?", field).groups()
        value = row.get(key, "")
        cells.append(format(value / int(over or 1), shown) if shown and value != "" else str(value))
    print("| " + " | ".join(cells) + " |")' "$@"
}

# excerpt PROGRAM: prints a table for README.md. The program, in Python, has rows(heading), the rows of the first table of
# docs/accuracy.md below that heading as lists of cells, and table(headings, rows), which prints them.
excerpt() {
  python3 -c '
import sys

lines = open(sys.argv[1]).read().replace("\\_", "_").split("\n")

def rows(heading):
    at = lines.index(heading)
    while not lines[at].startswith("| "):
        at += 1
    end = at
    while lines[end].startswith("|"):
        end += 1
    return [[cell.strip() for cell in line[2:-2].split(" | ")] for line in lines[at + 2:end]]

def table(headings, cells):
    print("| " + headings + " |")
    print("|---" * len(headings.split(" | ")) + "|")
    for row in cells:
        print("| " + " | ".join(row) + " |")

exec(sys.argv[2])' "$made/accuracy.md" "$1"
}

# README.md shows eight rows of the table of accuracy: those most asked about.
summary() {
  excerpt '
wanted = [
    ("GEMM beside RCCL, measured on 8 MI300X", "predict"),
    ("A second machine, nodes of 4 and 8 NVIDIA H200", "predict"),
    ("A GEMM and the collective it depends on, FiCCO\x27s design space", "predict"),
    ("Whole steps of models on one and two NVIDIA H200, and on 8 MI300X", "predict"),
    ("A third machine, a node of 8 MI355X", "predict"),
    ("GEMMs of the MI300X alone", "calibrate"),
    ("Copies and collectives on SDMA engines", "calibrate"),
    ("RCCL\x27s kernels", "calibrate"),
]
found = {(row[0], role): row for role in ("predict", "calibrate") for row in rows("## By suite, role " + role)}
table("what was measured | role | values | median error, % | p90 | within 5 / 10 / 15 %",
      [[*key, *(found[key][i] for i in (1, 2, 3, 6))] for key in wanted])'
}

# README.md shows the tables of other sources that are most asked about; docs/accuracy.md has all of them.
tables() {
  excerpt '
wanted = [
    ("collectives of NCCL", "2 to 8 H100", "predict"),
    ("NCCL, by algorithm", "4 H100", "predict"),
    ("all-reduces of vLLM and SGLang", "2 to 8 H100", "predict"),
    ("attention of prompts", "H100", "predict"),
    ("attention of decoding", "H100", "predict"),
    ("GEMMs of fp16", "MI300X", "calibrate"),
    ("batched GEMMs of fp16", "MI300X", "predict"),
    ("GEMMs of fp8 with block scales", "MI300X", "calibrate"),
    ("GEMMs of bf16", "H100", "predict"),
]
found = {tuple(row[:3]): row for row in rows("## Tables of others")}
table("what others measured | machine | role | values | repetitions differ by, % | median error, % | p90 | others publish",
      [[found[key][i] for i in (0, 1, 2, 3, 4, 5, 6, 8)] for key in wanted])'
}

# The cost of concurrency, by suite.
costs() {
  excerpt '
def percents(row, at):
    return f"{row[at]} / {row[at + 1]}" if row[at] and row[at + 1] else ""

table("what was measured | role | runs | cost, predicted over measured | of 90 % of samples | \
GEMM longer, measured / predicted, % | collective longer",
      [[row[0], row[2], row[3], row[6], f"{row[7]} to {row[8]}" if row[7] else "", percents(row, 9), percents(row, 11)]
       for row in rows("## What running at once costs") if row[1] == "all of it" and row[2] == "predict" and row[6]])'
}

# The three questions of README.md, each with some columns of its answer.
pair() {
  local question="c3 --gemm 18432x8192x16384 --collective all_to_all --bytes 2560MiB --strategy c3_base,c3_sp,conccl"
  printf '```\n$ c3sim %s\n```\n' "$question"
  # shellcheck disable=SC2086 # words
  $c3sim $question --format json | answers "strategy | both have ended [ms] | GEMM [ms] | collective [ms] | one after the \
other [ms] | speedup | ideal speedup" strategy makespan_us/1000:.2f gemm_us/1000:.2f collective_us/1000:.2f \
    serial_us/1000:.2f speedup:.2f ideal_speedup:.2f
}

# A step of a model with experts on two machines, whose fields are named after them, by what carries its collectives.
step() {
  local question="step --model qwen3-235b-a22b --phase decode --tp 8 --ep 8 --batch 64 --context 4096 --graph"
  printf '```\n$ for gpu in mi300x h100; do for by in rccl sdma one_shot; do c3sim %s --platform $gpu --collectives $by; done; done\n```\n' \
    "$question"
  python3 -c '
import json, subprocess, sys
c3sim, question = sys.argv[1:]
rows = []
for carrier in ("rccl", "sdma", "one_shot"):
    row = {"carrier": carrier}
    for machine in ("mi300x", "h100"):
        asked = [c3sim, *question.split(), "--platform", machine, "--collectives", carrier, "--format", "json"]
        answer = json.loads(subprocess.run(asked, check=True, capture_output=True).stdout)["results"][0]
        row |= {f"{machine}_{key}": value for key, value in answer.items()}
    rows.append(row)
print(json.dumps({"results": rows}))' "$c3sim" "$question" |
    answers "carrier | 8 MI300X: time [ms] | tokens/s | communication exposed [ms] | GPU [W] | 8 H100: time [ms] \
| tokens/s | communication exposed [ms] | GPU [W]" carrier mi300x_time_us/1000:.2f mi300x_tokens_per_s:.0f \
      mi300x_exposed_us/1000:.2f mi300x_power_W:.0f h100_time_us/1000:.2f h100_tokens_per_s:.0f h100_exposed_us/1000:.2f \
      h100_power_W:.0f
}

requests() {
  local question="serve configs/serve/llama_70b_prefixes.yaml --rate 6"
  printf '```\n$ c3sim %s\n```\n' "$question"
  # shellcheck disable=SC2086 # words
  $c3sim $question --format json | answers "case | requests a second, asked | first token, p99 [ms] | per token, p99 [ms] | \
requests/s, served" case rate ttft_p99_ms:.0f tpot_p99_ms:.1f requests_per_s:.2f
}

# The first section of docs/questions.md: a question with its answer, and of an explanation the tables that say most.
tour() {
  local question="c3 --gemm 18432x8192x16384 --collective all_to_all --bytes 2560MiB --strategy c3_base,c3_sp,conccl"
  local command
  command="c3sim ${question% --strategy*} \\
    --strategy ${question#*--strategy }"
  # shellcheck disable=SC2086 # words
  printf '```\n$ %s\n%s\n```\n' "$command" "$($c3sim $question)"
  # shellcheck disable=SC2086 # words
  printf '```\n$ %s --explain\n...\n%s\n```\n' "$command" \
    "$($c3sim $question --explain | awk -v RS= '/^Where the time went|^Why operations/ { print $0 "\n" }')"
}

# The next table tells how often intervals hold measurements of concurrent work.
coverage() {
  printf '`c3sim validate overlap --uncertainty`: %s\n' \
    "$($c3sim validate overlap --uncertainty | grep -o '[0-9]* of [0-9]* measured values lie .* in the mean\.')"
}

# A what-if: the best points and the sentences of a study.
engines() {
  local study=configs/studies/sdma_engines.yaml
  printf '```\n$ c3sim sweep %s --out out/engines\n...\n%s\n```\n' "$study" \
    "$($c3sim sweep $study | awk -v RS= '/^The best points/ { print $0 "\n" } /^How many/')"
}

# The part of tuning about engines, and the input of the library's tuner for one collective.
tuner() {
  local question="tune --gemm 8192x57344x8192,8192x8192x28672 --collective all_gather,all_reduce --bytes 64MiB,896MiB"
  # shellcheck disable=SC2086 # words
  printf '```\n$ c3sim %s \\\n    --out out/tuned\n...\n%s\n' "${question}" \
    "$($c3sim $question --out "$made/tuned" | awk -v RS= '/^Collectives alone/ { print $0 }')"
  printf '$ grep allreduce out/tuned/rccl_tuner_gfx942.csv\n%s\n```\n' "$(grep allreduce "$made/tuned/rccl_tuner_gfx942.csv")"
}

# This table shows the best schedule of each GEMM of FiCCO.
ficco() {
  local study=configs/studies/ficco.yaml
  printf '```\n$ c3sim sweep %s\n%s\n...\n```\n' "$study" \
    "$($c3sim sweep $study | awk -v RS= '/^The best schedule/ { print $0 }')"
}

# A step of a model, its all-reduces by kernels and by engines.
steps() {
  local question="step --model llama3-70b --phase decode --tp 8 --batch 64 --context 4096 --graph"
  # shellcheck disable=SC2086 # words
  printf '```\n$ c3sim %s\n%s\n' "$question" "$($c3sim $question)"
  local way
  for way in "sdma --prelaunch" one_shot; do
    # shellcheck disable=SC2086 # words
    printf '$ c3sim %s --collectives %s\n%s\n...\n' "$question" "$way" "$($c3sim $question --collectives $way | head -2)"
  done
  printf '```\n'
}

# A trace of PyTorch's profiler: what it says of communication, and what copy engines would make of it.
traced() {
  local file=validate/reference/h200_workloads/traces/fsdp_llama8b_2gpu_1x2048_2048_bf16.json.gz
  printf '```\n$ c3sim read %s\n%s\n...\n' "$file" "$($c3sim read "$file" | head -4)"
  printf '$ c3sim replay %s --collectives sdma --uncertainty\n%s\n...\n```\n' "$file" \
    "$($c3sim replay "$file" --collectives sdma --uncertainty | head -2)"
}

# A step whose collectives are tuned one by one.
carriers() {
  local question="tune --step --model llama3-70b --phase decode --tp 8 --batch 64 --context 4096 --graph --platform h200"
  # shellcheck disable=SC2086 # words
  printf '```\n$ c3sim %s\n...\n%s\n```\n' "$question" \
    "$($c3sim $question | awk '/^With a carrier/ { shown = 1 } /^What was not/ { shown = 0 } /^tp 8, tuned/ { shown = 1 }
      /ways were simulated/ { shown = 0 } shown { print }')"
}

# Requests over time, with cached prefixes and without.
serving() {
  local question="serve configs/serve/llama_70b_prefixes.yaml --rate 2,4,6"
  # shellcheck disable=SC2086 # words
  printf '```\n$ c3sim %s --out out/serve\n%s\n```\n' "$question" "$($c3sim $question)"
}

# Every fitted parameter of all platforms is listed, except what a fit says of itself. A list below each table says what
# the numbers in the column of sources mean.
fitted() {
  local platform
  for platform in mi300x h200 h100 mi355x; do
    printf 'Platform %s:\n\n' "$platform"
    $c3sim platform "$platform" --format json | python3 -c '
import json, sys
sources = []
print("| parameter | value | error | range | fitted to |\n|---|---|---|---|---|")
for row in json.load(sys.stdin)["results"]:
    if row["kind"] == "fitted" and not row["parameter"].startswith(("fitted_to", "correlations")):
        if row["source"] not in sources:
            sources.append(row["source"])
        number = sources.index(row["source"]) + 1
        print("| `{parameter}` | {value} | {error} | {low} to {high} | {number} |".format(number=number, **row))
print("\nFitted to:\n")
for number, source in enumerate(sources, 1):
    print(f"{number}. {source}")
print()'
  done
}

# This part lists the types of config.json that are read.
architectures() {
  python3 -c '
import json, textwrap
types = [row["type"] for row in json.load(open("configs/architectures.json"))["architectures"]]
print("\n".join(textwrap.wrap(", ".join(f"`{one}`" for one in types) + ".", 120)))'
}

# Each of three protocols runs one small collective.
protocols() {
  local question="collective --collective all_gather --bytes 64KiB --platform h200"
  echo '```'
  local protocol
  for protocol in steady stream graph; do
    # shellcheck disable=SC2086 # words
    printf '$ c3sim %s --protocol %s\n%s\n' "$question" "$protocol" "$($c3sim $question --protocol $protocol)"
  done
  echo '```'
}

# fill FILE PART: FILE with its part of that name made anew, from $made/PART.
fill() {
  local begin="<!-- $2: made by scripts/update_docs.sh -->" end="<!-- end of $2 -->"
  if ! grep -qxF -- "$begin" "$1" || ! grep -qxF -- "$end" "$1"; then
    echo "error: $1 lacks the lines '$begin' and '$end'" >&2
    exit 1
  fi
  awk -v begin="$begin" -v end="$end" -v part="$made/$2" '
    $0 == begin { print; while ((getline line < part) > 0) print line; skipping = 1; next }
    $0 == end { skipping = 0 }
    !skipping { print }' "$1" >"$made/filled"
  mv "$made/filled" "$1"
}

mode=${1:-}
if [ "$mode" = --check ]; then
  cp docs/{accuracy,deviations}.md "$made"
else
  verdict=0
  $c3sim validate --report "$made" >/dev/null || verdict=$?
  [ "$verdict" -le 1 ] || exit "$verdict" # 1: some cases lie outside their bands
fi
$c3sim sweep configs/studies/conccl.yaml --out "$made/study" >/dev/null
summary >"$made/summary"
costs >"$made/costs"
tables >"$made/tables"
pair >"$made/pair"
step >"$made/step"
requests >"$made/requests"
tour >"$made/tour"
coverage >"$made/coverage"
engines >"$made/engines"
tuner >"$made/tuner"
ficco >"$made/ficco"
steps >"$made/steps"
serving >"$made/serving"
traced >"$made/traced"
carriers >"$made/carriers"
fitted >"$made/fitted"
architectures >"$made/architectures"
protocols >"$made/protocols"
scripts/claims_by_mechanism.py conccl >"$made/claims"
for table in "Where the time went" "Why operations are slower"; do
  grep -q "^$table" "$made/tour" || { echo "error: --explain prints no table '$table' for the tour" >&2; exit 1; }
done
markdown "$made/study/by_strategy.csv" \
  "strategy | % of ideal, predicted | published | speedup, predicted | published | highest, predicted | published" \
  strategy fraction_of_ideal_percent published_fraction_of_ideal_percent speedup published_speedup highest_speedup \
  published_highest_speedup >"$made/strategies"
markdown "$made/study/by_class.csv" \
  "collective | strategy | G-long, % of ideal | C-long | GC-equal | published, from | to | speedup | published" \
  collective strategy G-long_percent C-long_percent GC-equal_percent published_lowest_percent \
  published_highest_percent speedup published_speedup >"$made/classes"

cp README.md docs/{questions,conccl,model,tuning,uncertainty}.md "$made"
for part in summary tables costs pair step requests; do fill "$made/README.md" "$part"; done
for part in tour steps architectures serving engines tuner ficco traced protocols; do fill "$made/questions.md" "$part"; done
fill "$made/tuning.md" carriers
fill "$made/uncertainty.md" coverage
fill "$made/conccl.md" strategies
fill "$made/conccl.md" classes
fill "$made/conccl.md" claims
fill "$made/model.md" fitted

stale=0
update() {
  if [ "$mode" != --check ]; then
    cp "$made/$1" "$2"
  elif ! diff -u "$2" "$made/$1" >&2; then
    echo "error: $2 is stale: run scripts/update_docs.sh" >&2
    stale=1
  fi
}
update accuracy.md docs/accuracy.md
update deviations.md docs/deviations.md
update README.md README.md
update questions.md docs/questions.md
update uncertainty.md docs/uncertainty.md
update conccl.md docs/conccl.md
update model.md docs/model.md
update tuning.md docs/tuning.md
exit "$stale"
