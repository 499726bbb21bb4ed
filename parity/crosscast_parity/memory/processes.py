"""Processes that measure memory: of a run, and of a trace of the user's model."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from crosscast.data.npz import read_arrays
from crosscast.emit.compiler import compile_recipe
from crosscast.memory.records import Device, Moment, TracedModel, TracedWeight
from crosscast.messages.diagnostics import Diagnostic, DiagnosticError, Span
from crosscast.messages.output import write_files
from crosscast.recipe.document import BertModel, Recipe, SyntheticData
from crosscast.targets.backend import Backend, harness_of, installed_backends
from crosscast_parity.inputs.stored import stored_rows
from crosscast_parity.processes.process import (
    MISSING_PACKAGE,
    Job,
    Outcome,
    child_environment,
    log_tail,
    signal_name,
    start,
)
from crosscast_parity.runs.workspace import place_runner
from crosscast_parity.scaling_law.shapes import Shape

Work = Literal["allocations", "trace"]
TOKEN_ARRAYS = ("input_ids", "attention_mask", "token_type_ids")
_SECONDS = 600.0
NEEDED = ("numpy", "safetensors")
"""What every emitted script imports besides its framework."""


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
    folder: Path | None = None,
    limits: Mapping[str, int] | None = None,
) -> Measured:
    """Train some windows on made-up rows of tokens and watch the allocator.

    Args:
        recipe: For one process.
        framework: A backend whose package can watch its allocator.
        python: The interpreter that has the framework.
        device: Where it runs.
        windows: How many; moments exist from the second one on.
        timeout: Seconds.
        folder: Working folder of the process, with the module of the user's model.
        limits: Number of ids by array, of which rows are made up; default: those of the BERT.

    Raises:
        DiagnosticError: CC452 if the process does not come to its end.
    """
    model, batch = recipe.model, recipe.batch
    if isinstance(model, BertModel):
        limits = {
            "input_ids": model.vocab_size,
            "token_type_ids": model.type_vocab_size,
            "labels": model.labels,
        }
    options = {
        "rows": batch.micro_batch_size * recipe.accumulation.steps,
        "micro_batch": batch.micro_batch_size,
        "length": recipe.data.sequence_length,
        "windows": windows,
        "device": device,
        "limits": dict(limits or {}),
    }
    found = _ask("allocations", recipe, framework, python, device, options, timeout, folder)
    return Measured(found["peak"], tuple(found["where"]), found["version"])


def tracer() -> Backend:
    """Return the backend whose framework traces models of users."""
    return next(
        backend
        for backend in installed_backends()
        if backend.harness is not None and backend.harness.has("trace")
    )


def trace_model(
    recipe: Recipe, python: str, *, folder: Path, timeout: float = _SECONDS
) -> TracedModel:
    """Trace a model of the user's in PyTorch, without computing anything.

    This imports and calls what `model.factory` names for PyTorch: the user's code.

    Args:
        recipe: With a custom model. Its precision matters, its batch sizes do not.
        python: The interpreter that has PyTorch and what the model needs.
        folder: Where the module of the factory lies; it is the working folder of the process.
        timeout: Seconds.

    Raises:
        DiagnosticError: CC401 if the interpreter or a package of the emitted script is missing,
            CC452 if the model cannot be traced, CC601 or CC602 if the rows cannot be read.
    """
    alone = Shape(1, recipe.accumulation.steps, recipe.batch.micro_batch_size).applied(recipe)
    inputs = _inputs(recipe, folder)
    options = {
        "folder": str(folder.absolute()),
        "inputs": inputs,
        "autocast": recipe.half,  # also with half weights, for a custom model
    }
    name = tracer().name
    found = _ask("trace", alone, name, python, "cpu", options, timeout, cwd=folder.absolute())
    tokens = inputs.get("input_ids", {}).get("shape", [0])
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
        arrays = {name: {"shape": length, "dtype": "int64"} for name in TOKEN_ARRAYS}
        return arrays | {"labels": {"shape": [], "dtype": "int64"}}
    with tempfile.TemporaryDirectory() as place:
        rows = read_arrays(stored_rows(recipe, "train", Path(place), beside=folder, count=1))
    return {
        name: {"shape": list(array.shape[1:]), "dtype": _type_in_scripts(name, array)}
        for name, array in rows.items()
    }


def _type_in_scripts(name: str, array: np.ndarray[Any, Any]) -> str:
    """Return the type to which emitted scripts cast an array of the data."""
    if name == "labels" or array.dtype.kind in "iu":
        return "int64"
    return "float32" if array.dtype.kind == "f" else str(array.dtype)


def _ask(
    work: Work,
    recipe: Recipe,
    framework: str,
    python: str,
    device: Device,
    options: Mapping[str, Any],
    timeout: float,
    cwd: Path | None = None,
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
        script, answer = root / "out" / "train.py", root / "answer.json"
        harness = harness_of(framework)
        assert harness is not None  # `measure` and `trace_model` are for such frameworks
        job = Job(
            name=work,
            command=(
                python,
                "-m",
                f"{harness.inside}.{work}",
                str(script),
                json.dumps({**options, "answer": str(answer)}),
            ),
            folder=cwd or root,
            output=root,
            timeout=timeout,
            environment=environment,
        )
        log = _finished(job)
        if work == "trace":
            return _traced(job, answer, log)
        found: dict[str, Any] = json.loads(log[-1])
        return found


def _finished(job: Job) -> list[str]:
    """Wait for a process to end well and return the last lines that it printed."""
    child = start(job)
    if isinstance(child, Outcome):
        raise _missing(child.message)
    try:
        code = child.process.wait(job.timeout)
    except subprocess.TimeoutExpired:
        code = None
    finally:
        child.kill()
    log = log_tail(job.log)
    if code is None:
        raise _failed(f"{job.name}: not ready after {job.timeout:g} s", "--timeout allows more")
    if code:
        if absent := MISSING_PACKAGE.search(log):
            raise _missing(f"{job.command[0]} has no package {absent[1]}")
        last = log.splitlines()[-1] if log.strip() else f"exit code {code}"
        words = f"ended by {signal_name(-code)}" if code < 0 else last[:300]
        raise _failed(f"{job.name}: {words}")
    return log.splitlines()


def _traced(job: Job, answer: Path, log: Sequence[str]) -> dict[str, Any]:
    """Return the results of a trace, or raise its error with the location in the user's code."""
    try:
        content: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        words = log[-1] if log else "nothing was printed"
        raise _failed(f"{job.name}: the process ended without an answer: {words[:300]}") from None
    if "found" in content:
        found: dict[str, Any] = content["found"]
        return found
    raise _stopped(content["stopped"], job)


def _stopped(failure: Mapping[str, Any], job: Job) -> DiagnosticError:
    if failure["module"] in (tracer().name, *NEEDED):
        return _missing(f"{job.command[0]} has no package {failure['module']}")
    place, span = failure["place"], None
    if place:
        text = place["text"]
        span = Span(place["file"], place["line"], 1, len(text) + 1 if text else None, text)
    hint = ""
    if failure["kind"] == "fake":
        hint = "a trace has shapes, but no numbers: the model must not read values"
    elif failure["module"]:
        hint = (
            f"modules are searched in {job.folder}, where train.py would be started, and in the "
            "interpreter, which --python torch=PATH names"
        )
    reason = (
        f"{failure['type']}: {failure['words']}"
        if failure["kind"] != "refused"
        else failure["words"]
    )
    message, path = f"the model cannot be traced: {reason}", f"model.factory.{tracer().name}"
    return DiagnosticError(
        Diagnostic(code="CC452", path=path, message=message, span=span, hint=hint)
    )


def _missing(message: str) -> DiagnosticError:
    hint = "name an interpreter that has PyTorch and safetensors: --python torch=PATH"
    return DiagnosticError(Diagnostic(code="CC401", message=message, hint=hint))


def _failed(message: str, hint: str = "") -> DiagnosticError:
    return DiagnosticError(Diagnostic(code="CC452", message=message, hint=hint))
