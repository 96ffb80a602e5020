#!/usr/bin/env python3
"""Prints, as Markdown, every claim of a paper with its prediction, its interval, and its value without each mechanism.

  scripts/claims_by_mechanism.py conccl

A prediction without a mechanism is shown where it differs by more than a hundredth of itself; in bold where the claim
then holds and did not, in italics where it no longer does. Needs the release build.
"""

import csv
import io
import pathlib
import re
import subprocess
import sys

c3sim = pathlib.Path(__file__).resolve().parent.parent / "build/release/c3sim"


def ask(*words):
    answer = subprocess.run([c3sim, "validate", *words], capture_output=True, text=True)
    if answer.returncode not in (0, 1):  # 1: some claim lies outside its band
        sys.exit(answer.stderr)
    return answer.stdout


def claims(suites, *words):
    blocks = ask(*suites, *words, "--format", "csv").split("\n\n")
    table = next(block for block in blocks if block.startswith("# claims"))
    return {row["claim"]: row for row in csv.DictReader(io.StringIO(table.split("\n", 1)[1]))}


def mechanisms():
    return re.search(r"--without ([\w|]+)\|all", ask("--help")).group(1).split("|")


def differs(one, other):
    pairs = zip(one.split(" to "), other.split(" to "))
    return any(abs(float(a) - float(b)) > 0.01 * max(abs(float(a)), abs(float(b))) for a, b in pairs)


def without(claim, rows):
    """Returns "clock 0.85, **cu_loss 0.81**": the claim without each mechanism that matters to it."""
    words = []
    for mechanism, others in rows.items():
        other = others[claim["claim"]]
        if not claim["predicted"] or not differs(claim["predicted"], other["predicted"]):
            continue
        mark = "" if other["verdict"] == claim["verdict"] else "**" if other["verdict"] == "holds" else "*"
        words.append(f"{mark}{mechanism} {other['predicted']}{mark}")
    return ", ".join(words)


def main(suites):
    rows = {mechanism: claims(suites, "--without", mechanism) for mechanism in mechanisms()}
    print("| claim | published | band | predicted | 90 % interval | |")
    print("|---|---|---|---|---|---|")
    told = claims(suites, "--uncertainty", "20").values()
    for claim in told:
        band = f"{float(claim['low']):g} to {float(claim['high']):g}"
        interval = claim["interval"].lstrip("'")  # with which CSV marks a text that is no formula
        print(f"| `{claim['claim']}` | {claim['published']} | {band} | {claim['predicted']} | {interval} "
              f"| {claim['verdict']} |")
    print("\nWithout a mechanism:\n")
    for claim in told:
        if words := without(claim, rows):
            print(f"- `{claim['claim']}`: {words}")


if __name__ == "__main__":
    if not sys.argv[1:]:
        sys.exit(__doc__)
    main(sys.argv[1:])
