"""The safetensors files that a run leaves, read as untrusted data."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from safetensors import SafetensorError, safe_open

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError

WEIGHTS, AVERAGES, CHECKPOINT = "model.safetensors", "ema.safetensors", "checkpoint.safetensors"
FLOATS = ("F", "BF")
"""How types of floating-point numbers begin; others count, in a custom model, and are left out."""
Tensors = dict[str, np.ndarray]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Weights and averages by name, moments by `slot/name`, all float32, and the counters."""

    weights: Tensors
    moments: Tensors
    averages: Tensors
    counters: dict[str, Any]


def read_tensors(path: Path) -> Tensors:
    """Read the float32 tensors of a file, of any values.

    Raises:
        DiagnosticError: CC710 if it is missing or no such file.
    """
    return read_file(path)[0]


def read_checkpoint(path: Path) -> Checkpoint:
    """Read the checkpoint of an emitted script.

    Raises:
        DiagnosticError: CC710 if it is missing or no such file.
    """
    tensors, metadata = read_file(path)
    parts: dict[str, Tensors] = {"model": {}, "optimizer": {}, "ema": {}}
    for key, array in tensors.items():
        part, _, name = key.partition("/")
        if part not in parts:
            _refuse(path, f"has {key!r}, which is in none of {', '.join(parts)}")
        parts[part][name] = array
    try:
        counters = json.loads(metadata.get("counters", ""))
    except (ValueError, RecursionError):
        _refuse(path, "has `counters` that are not JSON")
    if not isinstance(counters, dict):
        _refuse(path, "has `counters` that are not an object")
    return Checkpoint(parts["model"], parts["optimizer"], parts["ema"], counters)


def read_file(path: Path) -> tuple[Tensors, dict[str, str]]:
    """Read the float32 tensors of a file, and its metadata.

    Raises:
        DiagnosticError: CC710 if it is missing or no such file.
    """
    if not path.is_file():
        _refuse(path, "is missing")
    try:
        with safe_open(path, framework="numpy") as file:
            names = sorted(file.keys())
            types = {name: file.get_slice(name).get_dtype() for name in names}
            names = [name for name in names if types[name].startswith(FLOATS)]
            other = [name for name in names if types[name] != "F32"]
            if other:
                _refuse(path, f"has {other[0]} as {types[other[0]]}, not F32")
            return {name: file.get_tensor(name) for name in names}, file.metadata() or {}
    except (OSError, SafetensorError, ValueError) as error:
        _refuse(path, f"cannot be read: {error}")


def _refuse(path: Path, problem: str) -> NoReturn:
    message = f"{path.name} {problem}"
    raise DiagnosticError(Diagnostic(code="CC710", message=message))
