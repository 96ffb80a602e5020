#!/usr/bin/env python3
"""notebook_test.py NOTEBOOK ...: the code of notebooks runs from top to bottom, each in an empty folder."""
import json
import os
import sys
import tempfile
from pathlib import Path

for notebook in map(Path, sys.argv[1:]):
    cells = json.loads(notebook.read_text())["cells"]
    names = {"__name__": "__main__"}
    with tempfile.TemporaryDirectory() as folder:
        before = os.getcwd()
        os.chdir(folder)
        for cell in cells:
            if cell["cell_type"] == "code":
                exec(compile("".join(cell["source"]), f"{notebook.name} {cell['id']}", "exec"), names)
        os.chdir(before)
