"""Executes programs given as JSON (name to text) and writes what each left in `result`.

Runs in Paddle 1.8 as well, with Python 3.7: `run_paddle_dynamic.py PROGRAMS RESULTS`.
"""

from __future__ import annotations

import json
import sys
import traceback
from pathlib import Path
from typing import Any

import numpy


def plain(value: Any) -> Any:
    """Return numbers and lists of what a program left."""
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "numpy"):
        value = value.numpy()
    return numpy.asarray(value).astype("float64").reshape(-1).tolist()


def main(programs: str, results: str) -> None:
    """Run every program and write what it left, or why it failed."""
    found = {}
    for name, text in sorted(json.loads(Path(programs).read_text(encoding="utf-8")).items()):
        variables: dict[str, Any] = {"__name__": "__main__"}
        try:
            exec(compile(text, name, "exec"), variables)
            found[name] = plain(variables["result"])
        except Exception:
            found[name] = traceback.format_exc()[-700:]
    Path(results).write_text(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
