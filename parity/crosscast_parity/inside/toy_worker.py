"""The worker's side of the pipe: one job a line, one answer a line. Imports no framework.

A job names a folder with `step.py` (emitted text) and `toy.npz`; the answer holds the trace rows
and the scaler's counters, and `steps.npz` in that folder the state after every window.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from crosscast_parity.inside.pipe import jobs
from crosscast_parity.inside.toy import Session, Toy, load_toy, plain, run_windows

Start = Callable[[ModuleType, Toy], Session]
Action = Callable[[ModuleType, dict[str, Any]], dict[str, Any]]
"""Answers a job that is about an imported step."""


def import_step(folder: Path) -> ModuleType:
    """Import `step.py` under a name of its own, as a dataclass in it needs."""
    name = f"step_{folder.name.replace('-', '_')}"
    spec = importlib.util.spec_from_file_location(name, folder / "step.py")
    if spec is None or spec.loader is None:
        raise FileNotFoundError(folder / "step.py")
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def serve(start: Start, version: str, actions: Mapping[str, Action]) -> None:
    """Answer jobs until the pipe closes. The job `version` is about no step.

    Args:
        start: Makes a session of an imported step and a toy.
        version: Of the framework.
        actions: Other jobs than training windows, by their name.
    """
    for job, answer_with in jobs():
        if job["action"] == "version":
            answer_with(json.dumps({"version": version}))
            continue
        folder, began = Path(job["folder"]), time.monotonic()
        try:
            step = import_step(folder)
            action = actions.get(job["action"])
            if action is None:
                toy = load_toy(folder)
                answer = run_windows(step, start(step, toy), toy, folder)
            else:
                answer = action(step, job)
            answer["seconds"] = time.monotonic() - began
            text = json.dumps(plain(answer))
        except Exception:
            text = json.dumps({"error": traceback.format_exc(limit=-6)})
        finally:
            sys.modules.pop(f"step_{folder.name.replace('-', '_')}", None)
        answer_with(text)
