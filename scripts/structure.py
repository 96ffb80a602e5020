#!/usr/bin/env python3
"""Fails where the house is not as CONTRIBUTING.md draws it: a room that includes one above it, components (header and
source as one) that include each other in a circle, a room of study with too many floors, or a second file that includes
yaml-cpp."""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LAYERS = ["sim", "models", "study", "calibrate", "tune", "validate", "python", "cli"]
# Rooms stand in order: each includes from those before it and from itself. Files of a layer that lie in no room of it
# are named by the layer.
ROOMS = ["sim", "sim/config", "models/platform", "models/machine", "models/sdma", "models", "models/kernels",
         "models/collectives", "study", "study/network", "study/program", "study/play", "study/report", "study/explain",
         "study/uncertainty", "study/c3", "study/step", "study/serve", "study/ask", "study/experiment", "study/sweep",
         "calibrate/measure", "calibrate/readers", "calibrate/fit", "calibrate/replay", "calibrate", "tune", "validate",
         "validate/ask", "python", "cli"]
# At most this many components of a room of study stand on one another: more cannot be held in the head together.
MOST_FLOORS = 7
INCLUDE = re.compile(r'^#include "((?:%s)/[^"]+)\.h"' % "|".join(LAYERS), re.M)


def room_of(component):
    """Returns the room that a component belongs to."""
    folder = Path(component).parent
    return next(str(room) for room in (folder, *folder.parents) if str(room) in ROOMS)


def sources():
    for layer in LAYERS:
        for path in sorted((ROOT / layer).rglob("*")):
            if path.suffix in (".h", ".cpp"):
                yield path


def read_includes():
    """Returns, by component, the components that its header or source includes."""
    includes = {}
    for path in sources():
        component = str(path.relative_to(ROOT).with_suffix(""))
        found = includes.setdefault(component, set())
        found.update(name for name in INCLUDE.findall(path.read_text()) if name != component)
    return includes


def circles(includes):
    """Returns each circle once, as the components on it, which can reach one another."""
    def reachable(start):
        seen, waiting = set(), [start]
        while waiting:
            for name in includes.get(waiting.pop(), ()):
                if name not in seen:
                    seen.add(name)
                    waiting.append(name)
        return seen

    reach = {component: reachable(component) for component in includes}
    return sorted({tuple(sorted(other for other in reach[component] if component in reach.get(other, ())))
                   for component in includes if component in reach[component]})


def floors(includes):
    """Returns, by component, its floor in its room, the ground being 1. No component may lie on a circle."""
    known = {}

    def floor(component):
        if component not in known:
            below = (name for name in includes.get(component, ()) if room_of(name) == room_of(component))
            known[component] = 1 + max(map(floor, below), default=0)
        return known[component]

    return {component: floor(component) for component in includes}


def faults():
    includes = read_includes()
    for component, names in sorted(includes.items()):
        for name in sorted(names):
            if name not in includes:
                yield f"{component}: includes {name}.h, which is not there"
            elif ROOMS.index(room_of(name)) > ROOMS.index(room_of(component)):
                yield f"{component}: includes {name}, of a room above it"
    found = circles(includes)
    for circle in found:
        yield "a circle of components: " + ", ".join(circle)
    for component, floor in sorted(floors(includes).items() if not found else ()):
        if component.startswith("study/") and floor > MOST_FLOORS:
            yield f"{component}: stands on floor {floor} of its room, which may have {MOST_FLOORS}"
    readers = [str(path.relative_to(ROOT)) for folder in LAYERS + ["tests"] for path in sorted((ROOT / folder).rglob("*"))
               if path.suffix in (".h", ".cpp") and "#include <yaml-cpp/" in path.read_text()]
    if len(readers) > 1:
        yield "yaml-cpp belongs in one file, and is included by " + ", ".join(readers)


if __name__ == "__main__":
    found = list(faults())
    for fault in found:
        print(f"error: {fault}", file=sys.stderr)
    sys.exit(1 if found else 0)
