"""Processes that measure memory: of a run, and of a trace of the user's model."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from crosscast.emit.compiler import compile_recipe
from crosscast.memory.records import Device, Moment, TracedModel, TracedWeight
from crosscast.messages.diagnostics import Diagnostic, DiagnosticError, Span
from crosscast.messages.output import write_files
from crosscast.recipe.document import BertModel, Recipe
from crosscast.targets.backend import Backend, find_target, installed_backends
from crosscast_parity.inputs.npz import save_npz
from crosscast_parity.memory.rows import Rows, sample_rows
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
_WORDS = {
    "trace": ("trace", "the model cannot be traced"),
    "allocations": ("short run", "the short run that measures memory failed"),
}
"""The name of the work, and what is said if the user's code stops it."""
_SECONDS = 600.0
NEEDED = ("numpy", "safetensors")
"""What every emitted script imports besides its framework."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What the allocator of a framework gave out at most, or its compiler would ask for."""

    peak_bytes: int
    where: tuple[str, ...]
    """Names of the framework's operations around the highest point, outermost first."""
    version: str
    """Of the framework."""
    sizes: Mapping[str, int] = field(default_factory=dict)
    """As `inside.windows.known_sizes` returns them; nothing where a trace tells them."""
    widened: bool = False
    """Whether what the recipe computes in half precision was computed in float32."""
    holds_window: bool = False
    """Whether the rows of all micro-batches of a window are on the device at once."""
    planned: bool = False
    """Whether nothing ran: a compiler planned the memory."""


def measure(
    recipe: Recipe,
    framework: str,
    python: str,
    *,
    device: Device = "cpu",
    windows: int = 2,
    timeout: float = _SECONDS,
    folder: Path = Path(),
    rows: Rows | None = None,
) -> Measured:
    """Train some windows and watch the allocator.

    Args:
        recipe: For one process.
        framework: A target whose package can watch its allocator.
        python: The interpreter that has the framework.
        device: Where it runs.
        windows: How many; moments exist from the second one on.
        timeout: Seconds.
        folder: Working folder of the process, with the modules of the user's model.
        rows: For a custom model, which trains on them over and over; a BERT's are made up.

    Raises:
        DiagnosticError: CC401 if the interpreter or a package of the emitted script is missing,
            CC452 if the process does not come to its end.
    """
    model, batch = recipe.model, recipe.batch
    options: dict[str, Any] = {
        "rows": batch.micro_batch_size * recipe.accumulation.steps,
        "micro_batch": batch.micro_batch_size,
        "windows": windows,
        "device": device,
    }
    if isinstance(model, BertModel):
        options["length"] = recipe.data.sequence_length
        options["limits"] = {
            "input_ids": model.vocab_size,
            "token_type_ids": model.type_vocab_size,
            "labels": model.labels,
        }
    answer = _ask("allocations", recipe, framework, python, options, timeout, folder, rows)
    return Measured(
        answer["peak"],
        tuple(answer["where"]),
        answer["version"],
        answer.get("sizes", {}),
        widened=answer.get("widened", False),
        holds_window=answer.get("holds_window", False),
        planned=answer.get("planned", False),
    )


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
    inputs = {
        name: {"shape": list(array.shape[1:]), "dtype": str(array.dtype)}
        for name, array in sample_rows(recipe, folder).items()
    }
    options = {
        "inputs": inputs,
        "autocast": recipe.half,  # also with half weights, for a custom model
        "device": "cpu",
    }
    answer = _ask("trace", alone, tracer().name, python, options, timeout, folder)
    tokens = inputs.get("input_ids", {}).get("shape", [0])
    return TracedModel(
        weights=tuple(TracedWeight(*weight) for weight in answer["weights"]),
        frozen_bytes=answer["frozen_bytes"],
        first=tuple(Moment(*moment) for moment in answer["first"]),
        later=tuple(Moment(*moment) for moment in answer["later"]),
        forward_end=Moment(*answer["forward_end"]),
        outputs_per_row=answer["outputs_per_row"],
        sequence_length=tokens[0] if tokens else 0,
    )


def _ask(
    work: Work,
    recipe: Recipe,
    target: str,
    python: str,
    options: Mapping[str, Any],
    timeout: float,
    folder: Path,
    rows: Rows | None = None,
) -> dict[str, Any]:
    """Return the answer of a framework's process about the emitted script."""
    with tempfile.TemporaryDirectory(prefix="crosscast-") as name:
        root = Path(name)
        (compiled,) = compile_recipe(recipe.without_tracking(), [target])
        write_files(root / "out", compiled.files)
        place_runner(root)
        asked = {**options, "folder": str(folder.absolute()), "answer": str(root / "answer.json")}
        if rows is not None:
            asked["file"] = str(root / "rows.npz")
            save_npz(asked["file"], rows)
        device = "gpu" if options["device"] == "cuda" else "cpu"
        environment = child_environment(threads=1, device=device)
        paths = [environment.get("PYTHONPATH", ""), str(root / "runner")]
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
        backend = find_target(target).backend
        assert backend.harness is not None  # `measure` and `trace_model` are for such frameworks
        module, script = f"{backend.harness.inside}.{work}", str(root / "out" / "train.py")
        job = Job(
            name=work,
            command=(python, "-m", module, script, json.dumps(asked)),
            folder=folder.absolute(),
            output=root,
            timeout=timeout,
            environment=environment,
        )
        return _Question(work, backend.name, job).answered(root / "answer.json")


@dataclass(frozen=True, slots=True)
class _Question:
    """What the process of a framework is asked."""

    work: Work
    framework: str
    job: Job

    def answered(self, file: Path) -> dict[str, Any]:
        """Wait for the answer; or raise the error, with its location in the user's code."""
        log, name = self._finished(), _WORDS[self.work][0]
        try:
            content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            last = log[-1] if log else "nothing was printed"
            words = f"the process ended without an answer: {last[:300]}"
            raise _failed(f"{name}: {words}") from None
        if "found" in content:
            answer: dict[str, Any] = content["found"]
            return answer
        raise self._stopped(content["stopped"])

    def _finished(self) -> list[str]:
        """Wait for the process to end well and return the last lines that it printed."""
        job, name = self.job, _WORDS[self.work][0]
        child = start(job)
        if isinstance(child, Outcome):
            raise self._missing(child.message)
        try:
            code = child.process.wait(job.timeout)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            child.kill()
        log = log_tail(job.log)
        if code is None:
            hint = "--timeout allows more"
            raise _failed(f"{name}: not ready after {job.timeout:g} s", hint)
        if code:
            if absent := MISSING_PACKAGE.search(log):
                raise self._missing(f"{job.command[0]} has no package {absent[1]}")
            last = log.splitlines()[-1] if log.strip() else f"exit code {code}"
            words = f"ended by {signal_name(-code)}" if code < 0 else last[:300]
            raise _failed(f"{name}: {words}")
        return log.splitlines()

    def _stopped(self, failure: Mapping[str, Any]) -> DiagnosticError:
        if failure["module"] in (self.framework, *NEEDED):
            return self._missing(f"{self.job.command[0]} has no package {failure['module']}")
        place, span = failure["place"], None
        if place:
            text = place["text"]
            span = Span(place["file"], place["line"], 1, len(text) + 1 if text else None, text)
        hint = ""
        if failure["kind"] == "fake":
            hint = "a trace has shapes, but no numbers: the model must not read values"
        elif failure["module"]:
            hint = (
                f"modules are searched in {self.job.folder}, where train.py would be started, "
                f"and in the interpreter, which --python {self.framework}=PATH names"
            )
        reason = failure["words"]
        if failure["kind"] != "refused":
            reason = f"{failure['type']}: {reason}"
        message, path = f"{_WORDS[self.work][1]}: {reason}", f"model.factory.{self.framework}"
        return DiagnosticError(
            Diagnostic(code="CC452", path=path, message=message, span=span, hint=hint)
        )

    def _missing(self, message: str) -> DiagnosticError:
        needed = f"{self.framework} and safetensors: --python {self.framework}=PATH"
        hint = f"name an interpreter that has {needed}"
        return DiagnosticError(Diagnostic(code="CC401", message=message, hint=hint))


def _failed(message: str, hint: str = "") -> DiagnosticError:
    return DiagnosticError(Diagnostic(code="CC452", message=message, hint=hint))
