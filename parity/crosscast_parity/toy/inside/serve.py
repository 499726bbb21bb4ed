"""The worker's side of the pipe: one job a line, one answer a line. Imports no framework.

A job names a folder with `step.py` (emitted text) and `toy.npz`; the answer holds the trace rows
and the scaler's counters, and `steps.npz` in that folder the state after every window. This runs in
whatever Python (3.9 or newer) and NumPy the framework's version needs, so it imports nothing of
crosscast.
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

Arrays = dict[str, np.ndarray]

NAMES = {
    "kernel": "dense.weight",
    "bias": "shift.bias",
    "gamma": "norm.weight",
    "beta": "norm.bias",
    "embeddings": "table.weight",
}
"""The toy's parameters and what they are called in models of torch and Paddle."""


class Toy(NamedTuple):
    """What `toy.model` wrote: starting weights and the micro-batches by window."""

    dtype: str
    """In which the model computes."""
    weights: str
    """In which the model holds its weights, but for those of its normalization layer."""
    start: Arrays
    windows: list[list[Arrays]]


class Session(NamedTuple):
    """An emitted step at work: its state, and how to look at it from outside."""

    state: Any
    loss: Callable[..., Any]
    tensors: Callable[[], Arrays]
    """Parameters, moments and averages by `slot/parameter`; copies."""
    counters: Callable[[], tuple[int | None, int | None]]
    """Clean and overflowed attempts that the scaler has counted, None where it does not tell."""
    names: dict[str, str]
    """What the framework calls the parameters of the toy."""


Start = Callable[[ModuleType, Toy], Session]
Action = Callable[[ModuleType, dict[str, Any]], dict[str, Any]]
"""Answers a job that is about an imported step."""


def load_toy(folder: Path) -> Toy:
    """Read `toy.npz`."""
    with np.load(folder / "toy.npz", allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    dtype, weights = str(arrays.pop("dtype")), str(arrays.pop("weights"))
    start: Arrays = {}
    windows: dict[int, dict[int, Arrays]] = {}
    for key, array in arrays.items():
        place, _, name = key.partition("/")
        if place == "start":
            start[name] = array
        else:
            index, _, name = name.partition("/")
            windows.setdefault(int(place), {}).setdefault(int(index), {})[name] = array
    ordered = [[work[i] for i in sorted(work)] for _, work in sorted(windows.items())]
    return Toy(dtype, weights, start, ordered)


def import_step(folder: Path) -> ModuleType:
    """Import `step.py` under a name of its own, as a dataclass in it needs."""
    name = f"step_{folder.name.replace('-', '_')}"
    spec = importlib.util.spec_from_file_location(name, folder / "step.py")
    if spec is None or spec.loader is None:
        raise FileNotFoundError(folder / "step.py")
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_windows(step: ModuleType, session: Session, toy: Toy, folder: Path) -> dict[str, Any]:
    """Train all windows of the toy and write what every one of them left."""
    rows, counters = [], []
    arrays: dict[str, Any] = {}
    for number, window in enumerate(toy.windows):
        rows.append(step.train_window(session.state, window, session.loss))
        counters.append(session.counters())
        for key, array in session.tensors().items():
            arrays[f"{number}/{key}"] = array
    np.savez(folder / "steps.npz", **arrays)
    return {"rows": rows, "counters": counters, "names": session.names}


def plain(value: Any) -> Any:
    """Return rows as JSON can hold them; nan and infinities become text."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    return value


def serve(start: Start, version: str, actions: Mapping[str, Action]) -> None:
    """Answer jobs until the pipe closes. The job `version` is about no step.

    Args:
        start: Makes a session of an imported step and a toy.
        version: Of the framework.
        actions: Other jobs than training windows, by their name.
    """
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a framework prints must not look like an answer
    for line in sys.stdin:
        job = json.loads(line)
        if job["action"] == "version":
            print(json.dumps({"version": version}), file=channel, flush=True)
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
        print(text, file=channel, flush=True)


def fitting(kind: Callable[..., Any], offered: dict[str, Any]) -> Any:
    """Call a dataclass with those of the offered values that it has a field for."""
    fields = kind.__dataclass_fields__  # type: ignore[attr-defined]
    return kind(**{name: value for name, value in offered.items() if name in fields})
