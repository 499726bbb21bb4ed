"""Imports the modules of a folder; prints the names that each of them defines."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

folder = Path(sys.argv[1])
sys.path[:0] = [str(folder), str(folder.parent)]
found = {}
for file in sorted(folder.glob("*.py")):
    module = importlib.import_module(f"{folder.name}.{file.stem}")
    found[file.stem] = sorted(
        name
        for name, value in vars(module).items()
        if getattr(value, "__module__", "") == module.__name__
    )
print(json.dumps(found))
