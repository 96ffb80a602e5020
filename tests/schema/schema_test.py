#!/usr/bin/python3
"""Every shipped experiment obeys the schema that editors use, and slips of the pen do not."""

import copy
import json
import pathlib
import subprocess
import sys

try:
    import jsonschema
    import yaml
except ImportError:
    sys.exit(77)  # skipped

root = pathlib.Path(sys.argv[1])
schema = json.loads(subprocess.run([sys.argv[2], "schema"], check=True, capture_output=True, text=True).stdout)
jsonschema.Draft7Validator.check_schema(schema)
validator = jsonschema.Draft7Validator(schema)

failures = []
experiments = sorted((root / "configs/experiments").glob("*.yaml"))
for path in experiments:
    for error in validator.iter_errors(yaml.safe_load(path.read_text())):
        failures.append(f"{path.name}: {list(error.path)}: {error.message[:200]}")

# Each of these is one slip in a file that is right.
right = yaml.safe_load((root / "configs/experiments/layer_overlap.yaml").read_text())
slips = {
    "an unknown key": lambda file: file.update(oprations=[]),
    "an unknown key of an operation": lambda file: file["operations"][0].update(gem="1x1x1"),
    "two kinds of work": lambda file: file["operations"][0].update(delay="1us"),
    "no stream": lambda file: file["operations"][0].pop("stream"),
    "a size without a unit": lambda file: file["operations"][1]["collective"].update(bytes=4096),
    "an unknown collective": lambda file: file["operations"][1]["collective"].update(kind="allgather"),
    "an option that commands alone have": lambda file: file["operations"][1]["collective"].update(cus=8),
    "no pieces": lambda file: file["operations"][0].update(pieces=0),
    "an unknown priority": lambda file: file["operations"][0].update(priority="urgent"),
    "an unknown protocol": lambda file: file.update(protocol="steddy"),
}
# What readers take the schema takes, too.
choices = {
    "protocol": ["steady", "shot", "rounds"],
}
if list(validator.iter_errors(right)):
    failures.append("the file to slip in is wrong itself")
for key, values in choices.items():
    for value in values:
        for error in validator.iter_errors(right | {key: value}):
            failures.append(f"the schema refuses {key}: {value}: {error.message[:200]}")
for priority in ("low", "normal", "high"):
    same = copy.deepcopy(right)
    same["operations"][0].update(priority=priority)
    if list(validator.iter_errors(same)):
        failures.append(f"the schema refuses priority: {priority}")
for slip, make in slips.items():
    wrong = copy.deepcopy(right)
    make(wrong)
    if not list(validator.iter_errors(wrong)):
        failures.append(f"the schema accepts {slip}")

print(f"{len(experiments)} experiments, {len(slips)} slips")
print("\n".join(failures))
sys.exit(1 if failures or not experiments else 0)
