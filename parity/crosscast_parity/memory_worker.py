"""Processes that find out about memory: what a run allocates, what a user's model would."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from crosscast.compiler import compile_recipe
from crosscast.diagnostics import Diagnostic, DiagnosticError
from crosscast.memory.records import Device, Moment, TracedModel, TracedWeight
from crosscast.output import write_files
from crosscast.recipe import BertModel, Recipe, SyntheticData
from crosscast_parity.process import Job, Outcome, child_environment, start
from crosscast_parity.workspace import place_runner

Work = Literal["allocations", "trace"]
TOKEN_ARRAYS = ("input_ids", "attention_mask", "token_type_ids")
_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Measured:
    """What the allocator of a framework gave out at most."""

    peak_bytes: int
    where: tuple[str, ...]
    """Names of the framework's operations around the highest point, outermost first."""
    version: str
    """Of the framework."""


def measure(
    recipe: Recipe,
    framework: str,
    python: str,
    *,
    device: Device = "cpu",
    windows: int = 2,
    timeout: float = _SECONDS,
) -> Measured:
    """Train some windows of the shipped BERT on made-up rows and watch the allocator.

    Args:
        recipe: With the shipped BERT, for one process.
        framework: `torch` or `paddle`.
        python: The interpreter that has the framework.
        device: Where it runs.
        windows: How many; moments exist from the second one on.
        timeout: Seconds.

    Raises:
        DiagnosticError: CC452 if the process does not come to its end.
    """
    assert isinstance(recipe.model, BertModel)
    model, batch = recipe.model, recipe.batch
    options = {
        "rows": batch.micro_batch_size * recipe.accumulation.steps,
        "micro_batch": batch.micro_batch_size,
        "length": recipe.data.sequence_length,
        "windows": windows,
        "device": device,
        "limits": {
            "input_ids": model.vocab_size,
            "token_type_ids": model.type_vocab_size,
            "labels": model.labels,
        },
    }
    found = _ask("allocations", recipe, framework, python, device, options, timeout)
    return Measured(found["peak"], tuple(found["where"]), found["version"])


def trace_model(
    recipe: Recipe, python: str, *, folder: Path, timeout: float = _SECONDS
) -> TracedModel:
    """Trace a model of the user's in PyTorch, without computing anything.

    This imports and calls what `model.factory.torch` names: the user's code.

    Args:
        recipe: With a model of one's own.
        python: The interpreter that has PyTorch and what the model needs.
        folder: Where the module of the factory lies.
        timeout: Seconds.

    Raises:
        DiagnosticError: CC452 if the process does not come to its end.
    """
    options = {
        "folder": str(folder.absolute()),
        "inputs": _inputs(recipe, folder),
        "autocast": recipe.half,  # with half weights, too, for a model of one's own
    }
    found = _ask("trace", recipe, "torch", python, "cpu", options, timeout)
    tokens = options["inputs"].get("input_ids", {}).get("shape", [0])  # type: ignore[attr-defined]
    return TracedModel(
        weights=tuple(TracedWeight(*weight) for weight in found["weights"]),
        frozen_bytes=found["frozen_bytes"],
        first=tuple(Moment(*moment) for moment in found["first"]),
        later=tuple(Moment(*moment) for moment in found["later"]),
        forward_end=Moment(*found["forward_end"]),
        outputs_per_row=found["outputs_per_row"],
        sequence_length=tokens[0] if tokens else 0,
    )


def _inputs(recipe: Recipe, folder: Path) -> dict[str, dict[str, Any]]:
    """Return shape of a row and type of every array of the data, by name."""
    if isinstance(recipe.data, SyntheticData):
        length = [recipe.data.sequence_length]
        arrays = {name: {"shape": length, "dtype": "int32"} for name in TOKEN_ARRAYS}
        return arrays | {"labels": {"shape": [], "dtype": "int32"}}
    path = folder / recipe.data.train
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {
                name: {"shape": list(file[name].shape[1:]), "dtype": str(file[name].dtype)}
                for name in file.files
            }
    except (EOFError, OSError, ValueError) as error:
        message = f"cannot read {path}: {error}"
        raise DiagnosticError(Diagnostic(code="CC601", message=message)) from None
    return arrays


def _ask(
    work: Work,
    recipe: Recipe,
    framework: str,
    python: str,
    device: Device,
    options: Mapping[str, Any],
    timeout: float,
) -> dict[str, Any]:
    """Return what the process of a framework answers about the emitted script."""
    with tempfile.TemporaryDirectory(prefix="crosscast-") as name:
        root = Path(name)
        (compiled,) = compile_recipe(recipe, [framework])
        write_files(root / "out", compiled.files)
        place_runner(root)
        environment = child_environment(threads=1, device="gpu" if device == "cuda" else "cpu")
        paths = [environment.get("PYTHONPATH", ""), str(root / "runner")]
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
        script = root / "out" / "train.py"
        module = f"crosscast_parity.inside.{work}_{framework}"
        job = Job(
            name=work,
            command=(python, "-m", module, str(script), json.dumps(options)),
            folder=root,
            output=root,
            timeout=timeout,
            environment=environment,
        )
        return _answer(job)


def _answer(job: Job) -> dict[str, Any]:
    child = start(job)
    if isinstance(child, Outcome):
        raise _failed(job, child.message)
    try:
        code = child.process.wait(job.timeout)
    except subprocess.TimeoutExpired:
        code = None
    finally:
        child.kill()
    lines = job.log.read_text(encoding="utf-8", errors="replace").splitlines()
    if code is None:
        raise _failed(job, f"not ready after {job.timeout:g} s")
    if code:
        raise _failed(job, lines[-1] if lines else f"exit code {code}")
    found: dict[str, Any] = json.loads(lines[-1])
    return found


def _failed(job: Job, reason: str) -> DiagnosticError:
    message = f"{job.name}: {reason[:300]}"
    return DiagnosticError(Diagnostic(code="CC452", message=message))
