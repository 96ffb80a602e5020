#!/usr/bin/env python3
"""Learns how far concurrent operations are off their predictions: concurrent_spread of a platform file.

  scripts/concurrent_spreads.py overlap h200      # four numbers for each suite, and how many values they hold

Of every measured time of an operation that ran beside others, and of every makespan beside channels, it asks for the
least spread with which the 90 % interval would hold it: beyond what parameters and isolated work explain (a run with
concurrent_spread of 0), and as far as a spread widens that interval (the same with a spread of a tenth), since what ran
beside others for part of its time has part of it (less than half tells nothing). The spread of a kind is the conformal quantile of these: the
ceil(0.9 (n + 1))-th of n. Each table is then left out in turn, and the spread of the others held against it. Predictions
do not change: only intervals do.
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
least_share = 0.5
kinds = ["kernels_beside_channels", "kernels_beside_engines", "channels_beside_kernels", "engines_beside_kernels"]


def cases(suite, spread):
    """By name, with intervals that have this spread of all kinds."""
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
    if case["figure"] == "time" and not by_engines:  # of whom as a rule ends last
        return kinds[2] if case["trial"].startswith("c3_base") else kinds[0]
    return None


def deviation(case):
    """Of the logarithm, as the interval has it."""
    return math.log(float(case["interval_high"]) / float(case["interval_low"])) / 2 / half_width_90


def needed(case, wider):
    """The spread that this case asks for, or None where it tells nothing."""
    share = math.sqrt(max(0.0, deviation(wider) ** 2 - deviation(case) ** 2)) / tried_spread
    off = abs(math.log(float(case["measured"]) / float(case["predicted"]))) / half_width_90
    unexplained = math.sqrt(max(0.0, off * off - deviation(case) ** 2))
    return unexplained / share if share >= least_share else None


def quantile(values):
    place = math.ceil(0.9 * (len(values) + 1))
    return sorted(values)[min(place, len(values)) - 1]


def main(suites):
    for suite in suites:
        by_kind = defaultdict(lambda: defaultdict(list))
        wider = cases(suite, tried_spread)
        for name, case in cases(suite, 0).items():
            kind = kind_of(case)
            if kind is None or case["role"] != "predict" or not case["interval_low"]:
                continue
            if not case["trial"].startswith(("c3_", "conccl")):
                continue
            spread = needed(case, wider[name])
            if spread is not None:
                by_kind[kind][case["case"].split("/")[1].split(":")[0]].append(spread)
        for kind in kinds:
            tables = by_kind[kind]
            everything = [value for values in tables.values() for value in values]
            if not everything:
                continue
            held = tried = 0
            for left_out, values in tables.items():
                others = [value for name, rest in tables.items() if name != left_out for value in rest]
                if others:
                    tried += len(values)
                    held += sum(value <= quantile(others) for value in values)
            share = f"{100 * held / tried:.0f} % of {tried}" if tried else "one table only"
            print(f"{suite}: {kind}: {quantile(everything):.3f} from {len(everything)} times; left out: {share}")


if __name__ == "__main__":
    if not sys.argv[1:]:
        sys.exit(__doc__)
    main(sys.argv[1:])
