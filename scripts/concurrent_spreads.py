#!/usr/bin/env python3
"""Learns how far concurrent operations are off their predictions: concurrent_spread of a platform file.

  scripts/concurrent_spreads.py overlap h200,what_if      # four numbers for the suites of each platform, and how many values they hold

Of each kind it takes the least spread with which intervals hold seven in eight of the measured times of operations that
ran beside others, of the makespans and of these over the longer operation alone: parameters and isolated work explain
the rest (a run with concurrent_spread of 0), and how far a spread widens an interval is told by a second run with a
tenth, as what ran beside others for part of its time has part of it. Each table is then left out in turn, and the
spread of the others held against it. Predictions do not change: only intervals do.
"""

import csv
import io
import math
import pathlib
import subprocess
import sys
from collections import defaultdict

root = pathlib.Path(__file__).resolve().parent.parent
half_width_90 = 1.645  # standard deviations
tried_spread = 0.1
held_share = 7 / 8
finest = 0.002
kinds = ["kernels_beside_channels", "kernels_beside_engines", "channels_beside_kernels", "engines_beside_kernels"]


def cases(suite, spread):
    """Returns cases by name, with intervals that have this spread of all kinds."""
    words = [word for kind in kinds for word in ("--set", f"concurrent_spread.{kind}={spread}")]
    command = [root / "build/release/c3sim", "validate", suite, "--uncertainty", "40", "--format", "csv", *words]
    answer = subprocess.run(command, capture_output=True, text=True)
    if answer.returncode == 2:
        sys.exit(answer.stderr)
    return {case["case"]: case for case in csv.DictReader(io.StringIO(answer.stdout.split("\n\n")[0]))}


def kind_of(case):
    by_engines = case["trial"].startswith("conccl")
    if case["figure"] in ("GEMM", "GEMM over alone"):
        return kinds[1] if by_engines else kinds[0]
    if case["figure"] == "collective":
        return kinds[3] if by_engines else kinds[2]
    if case["figure"] in ("time", "over the longer alone") and not by_engines:  # which of the two usually ends last
        return kinds[2] if case["trial"].startswith("c3_base") else kinds[0]
    return None


def deviation(case):
    """Returns the spread of the logarithm, as the interval has it."""
    return math.log(float(case["interval_high"]) / float(case["interval_low"])) / 2 / half_width_90


def holds(case, wider, spread):
    widened = max(0.0, deviation(wider) ** 2 - deviation(case) ** 2) * (spread / tried_spread) ** 2
    off = abs(math.log(float(case["measured"]) / float(case["predicted"])))
    return off <= half_width_90 * math.sqrt(deviation(case) ** 2 + widened)


def share_held(pairs, spread):
    return sum(holds(case, wider, spread) for case, wider in pairs) / len(pairs)


def least_spread(pairs):
    spread = 0.0
    while share_held(pairs, spread) < held_share and spread < 1.0:
        spread += finest
    return spread


def main(groups):
    for suites in groups:
        by_kind = defaultdict(lambda: defaultdict(list))
        for suite in suites.split(","):
            wider = cases(suite, tried_spread)
            for name, case in cases(suite, 0).items():
                kind = kind_of(case)
                if kind is None or case["role"] != "predict" or not case["interval_low"]:
                    continue
                if case["trial"].startswith(("c3_", "conccl")):
                    by_kind[kind][name.split(":")[0]].append((case, wider[name]))
        for kind in kinds:
            tables = by_kind[kind]
            everything = [pair for pairs in tables.values() for pair in pairs]
            if not everything:
                continue
            held = tried = 0
            for left_out, pairs in tables.items():
                others = [pair for name, rest in tables.items() if name != left_out for pair in rest]
                if others:
                    tried += len(pairs)
                    held += round(share_held(pairs, least_spread(others)) * len(pairs))
            share = f"{100 * held / tried:.0f} % of {tried}" if tried else "one table only"
            print(f"{suites}: {kind}: {least_spread(everything):.3f} from {len(everything)} times; left out: {share}")


if __name__ == "__main__":
    if not sys.argv[1:]:
        sys.exit(__doc__)
    main(sys.argv[1:])
