#!/usr/bin/env python3
"""Writes into the platform files how far off times were that nothing was fitted to: `unfitted_errors`, below which no
interval is narrower. With --check it changes nothing and fails where a file is off by more than a tenth of a value.
Needs the release build.
"""

import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
KINDS = {"alone": "times of work that has the node to itself", "beside": "times of computation and communication at once",
         "steps": "times of whole steps"}


def line(row):
    """Returns the line of a platform file that says a row."""
    told = "times of all kinds" if row["of_all"] else KINDS[row["work"]]
    source = (f"c3sim validate: {row['cases']} {told} that nothing was fitted to are {row['median']:.0%} off in the median, "
              "so that nine in ten of a normal distribution lie within this factor, less one")
    return f"  {row['work']}: {{value: {row['nine_in_ten']:.2g}, source: \"{source}\", kind: measured, range: [0, 10]}}"


def main():
    check = sys.argv[1:] == ["--check"]
    answer = subprocess.run(["build/release/c3sim", "validate", "--format", "json"], cwd=ROOT, capture_output=True).stdout
    stale = []
    for platform in sorted({row["platform"] for row in json.loads(answer)["unfitted"]}):
        rows = [row for row in json.loads(answer)["unfitted"] if row["platform"] == platform]
        file = ROOT / "configs" / "platforms" / f"{platform}.yaml"
        text = file.read_text()
        for row in rows:
            pattern = re.compile(rf"^  {row['work']}: \{{value: ([\d.e+-]+), source: \"c3sim validate: .*$", re.M)
            known = pattern.search(text)
            if known is None:
                sys.exit(f"{file.relative_to(ROOT)} has no unfitted_errors.{row['work']}")
            if abs(float(known[1]) - row["nine_in_ten"]) > 0.1 * row["nine_in_ten"]:
                stale.append(f"{file.relative_to(ROOT)}: unfitted_errors.{row['work']} is {known[1]}, and ought to be {row['nine_in_ten']:.2g}")
            text = pattern.sub(lambda _: line(row), text)
        if not check:
            file.write_text(text)
    if check and stale:
        sys.exit("\n".join(stale))


if __name__ == "__main__":
    main()
