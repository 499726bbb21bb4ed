"""The processes of the frameworks, one each: describe the user's model, and compute with it."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError, Span, failure
from crosscast.recipe.document import CustomLoss, CustomModel, Recipe
from crosscast.targets.backend import harness_of
from crosscast.weights.layout import Shape, inverse
from crosscast_parity.inputs.npz import save_npz
from crosscast_parity.toy.worker import Worker, WorkerFailure
from crosscast_parity.weights.drawing import projection
from crosscast_parity.weights.model import Model, model_of
from crosscast_parity.weights.rows import ROWS, model_rows

Rows = Mapping[str, np.ndarray]
_USERS = {
    "factory": ("the factory", "model.factory", ""),
    "model": ("the model", "model.factory", "it"),
    "loss": ("the loss function", "loss.function", "the model"),
}
"""The user's code that can fail: what it is called, its field, and who takes the rows."""


@dataclass(frozen=True, slots=True)
class Computed:
    """What a model computes with some weights: outputs in order, gradients by tensor."""

    outputs: tuple[np.ndarray, ...]
    gradients: Mapping[str, np.ndarray]


@dataclass(frozen=True, slots=True)
class Halves:
    """Outputs of a model in training on some rows, and on each half of them.

    `moved`: layers whose running statistics have changed, with their classes.
    """

    whole: tuple[np.ndarray, ...]
    a: tuple[np.ndarray, ...]
    b: tuple[np.ndarray, ...]
    moved: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Recorded:
    """Calls of layers and arrays as `inside.own_model` leaves them; `computed`: of the model."""

    calls: Sequence[Mapping[str, Any]]
    arrays: Mapping[str, np.ndarray]
    computed: Computed | None


def workers_of(targets: Sequence[str], python: Mapping[str, str]) -> dict[str, Worker]:
    """Return a worker for the models of each framework; it starts at its first job.

    Args:
        targets: One of each framework.
        python: Interpreters by target, where it is not this one.

    Raises:
        DiagnosticError: CC760 for a framework whose backend has no program for it.
    """
    by_framework = {}
    for target in targets:
        name = target.partition("@")[0]
        harness = harness_of(name)
        if harness is None or not harness.has("weights"):
            raise failure("CC760", f"{name}: weights of its models cannot be matched")
        program = f"{harness.inside}.weights"
        by_framework[name] = Worker(target, python.get(target, sys.executable), program=program)
    return by_framework


class Processes:
    """One process for each framework.

    They end with the block, except for `workers` that are given, which others use afterwards.
    Models get the first `most` rows, unless a call says otherwise.
    """

    def __init__(
        self,
        recipe: Recipe,
        targets: Sequence[str],
        folder: Path,
        rows: Rows,
        *,
        python: Mapping[str, str],
        timeout: float,
        workers: Mapping[str, Worker] | None = None,
        most: int | None = ROWS,
    ) -> None:
        self._recipe, self._folder, self._rows = recipe, folder.absolute(), rows
        self._most = most
        self._timeout = timeout
        self._own = workers_of(targets, python) if workers is None else {}
        self._workers = self._own if workers is None else workers
        self._place = tempfile.TemporaryDirectory(prefix="crosscast-")
        self._files = Path(self._place.name)

    def __enter__(self) -> Processes:
        few = {name: array[: self._most] for name, array in self._rows.items()}
        save_npz(self._files / "rows.npz", model_rows(few, self._recipe))
        save_npz(self._files / "all.npz", few)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for worker in self._own.values():
            worker.stop()
        self._place.cleanup()

    def describe(self) -> list[Model]:
        """Return the models, of all frameworks at once.

        Raises:
            DiagnosticError: CC401 where a package is missing, CC761 for a factory or a model that
                fails, CC762 for rows that a model does not take.
        """
        answers = self._ask(
            {
                name: {"action": "describe", "initial": str(self._initial(name))}
                for name in self._workers
            }
        )
        return [model_of(name, answer) for name, answer in answers.items()]

    def drawn(self, framework: str, seed: int) -> dict[str, np.ndarray]:
        """Return all tensors of a model as its factory draws them with another seed.

        Raises:
            DiagnosticError: CC761 and CC762, as `describe`.
        """
        initial = str(self._initial(framework))
        self._ask({framework: {"action": "describe", "initial": initial, "seed": seed}})
        return self.initial(framework)

    def initial(self, framework: str) -> dict[str, np.ndarray]:
        """Return all tensors of a model that was described, as its factory draws them."""
        with np.load(self._initial(framework), allow_pickle=False) as file:
            return {name.removeprefix("tensor/"): file[name] for name in file.files}

    def _initial(self, framework: str) -> Path:
        return self._files / f"{framework}-initial.npz"

    def compute(
        self, weights: Mapping[str, Mapping[str, np.ndarray]], models: Sequence[Model]
    ) -> dict[str, Computed]:
        """Return the results of the models, by framework, with weights by framework and tensor.

        Outputs with channels last are turned to those of the first model with channels first, or
        the other way around.
        """
        jobs, axes = self._run("run", weights, models)
        self._ask(jobs)
        return {name: _computed(job["result"], axes[name]) for name, job in jobs.items()}

    def record(
        self, action: str, weights: Mapping[str, Mapping[str, np.ndarray]], models: Sequence[Model]
    ) -> dict[str, Recorded]:
        """Return the inputs and outputs of every layer, by framework.

        Args:
            action: `modules`, with gradients, or `train`, a call as in training without dropout.
                After `train` no model has dropout any more.
            weights: By framework and tensor.
            models: All of them.
        """
        jobs, axes = self._run(action, weights, models)
        answers = self._ask(jobs)
        recorded = {}
        for name, job in jobs.items():
            with np.load(job["result"], allow_pickle=False) as file:
                arrays = {key: file[key] for key in file.files}
            computed = _computed(job["result"], axes[name]) if action == "modules" else None
            recorded[name] = Recorded(answers[name]["calls"], arrays, computed)
        return recorded

    def evaluate(
        self,
        framework: str,
        weights: Mapping[str, np.ndarray],
        batch: int,
        metric: str = "",
        rows: int = 0,
    ) -> list[np.ndarray]:
        """Return the first output of a model in evaluation, or its loss, by batch of rows.

        With the name of a metric of the recipe, return its values. `rows`: how many rows there
        are, if not the usual ones; only with a custom loss, which takes all arrays.

        Raises:
            DiagnosticError: CC761 and CC762 as above, CC710 for weights that lack a tensor.
        """
        files = {key: str(self._files / f"{framework}-{key}.npz") for key in ("weights", "result")}
        save_npz(files["weights"], weights)
        job = {"action": "evaluate", "batch": batch, **files}
        if rows:
            chosen = {name: array[:rows] for name, array in self._rows.items()}
            save_npz(self._files / "chosen.npz", chosen)
            job |= {"rows": str(self._files / "chosen.npz")}
        if metric:
            function = self._recipe.metrics.custom[metric][framework]
            every = str(self._files / "all.npz")
            job |= {"metric": metric, "loss": function, "rows": every}
        answers = self._ask({framework: job})
        missing = answers[framework]["missing"]
        if missing:
            raise failure("CC710", f"{missing[0]} is missing, a tensor of the model")
        with np.load(files["result"], allow_pickle=False) as file:
            return [file[name] for name in sorted(file.files)]

    def halves(self) -> dict[str, Halves]:
        """Return the results of described models in training, for all rows and for both halves.

        After this no model has dropout any more.
        """
        jobs = {
            name: {"action": "halves", "result": str(self._files / f"{name}-halves.npz")}
            for name in self._workers
        }
        by_framework = {}
        for name, answer in self._ask(jobs).items():
            with np.load(jobs[name]["result"], allow_pickle=False) as file:
                arrays = {key: file[key] for key in sorted(file.files)}
            whole, a, b = (
                tuple(array for key, array in arrays.items() if key.startswith(f"{part}/"))
                for part in ("whole", "a", "b")
            )
            by_framework[name] = Halves(whole, a, b, tuple(answer["moved"]))
        return by_framework

    def _run(
        self, action: str, weights: Mapping[str, Mapping[str, np.ndarray]], models: Sequence[Model]
    ) -> tuple[dict[str, dict[str, str]], dict[str, list[tuple[int, ...] | None]]]:
        """Return the jobs that run models with weights, and how outputs are to be turned."""
        jobs, axes = {}, {}
        for model in models:
            name = model.framework
            files = {
                key: str(self._files / f"{name}-{key}.npz")
                for key in ("weights", "projections", "result")
            }
            save_npz(files["weights"], weights[name])
            axes[name] = turned_outputs(models[0].outputs, model.outputs)
            factors = {
                f"{n:03d}": projection(n, models[0].outputs[n]).transpose(inverse(order))
                if order
                else projection(n, model.outputs[n])
                for n, order in enumerate(axes[name])
            }
            save_npz(files["projections"], factors)
            jobs[name] = {"action": action, **files}
        return jobs, axes

    def _ask(self, jobs: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
        """Send jobs to all processes, then wait for all answers; every failure is reported."""
        replies, problems = {}, []
        for name, job in jobs.items():
            self._workers[name].send({**self._common(name), **job})
        for name in jobs:
            try:
                answer = self._workers[name].receive(self._timeout)
            except WorkerFailure as error:
                problems.append(_ended(name, error))
                continue
            if "failed" in answer:
                metric = jobs[name].get("metric", "")
                problems.append(self._failed(name, answer["failed"], metric))
            replies[name] = answer
        if problems:
            raise DiagnosticError(*problems)
        return replies

    def _common(self, name: str) -> dict[str, Any]:
        model, loss = self._recipe.model, self._recipe.loss
        assert isinstance(model, CustomModel)  # `command.targets_of_models` has looked
        function = loss.function[name] if isinstance(loss, CustomLoss) else ""
        return {
            "folder": str(self._folder),
            "last": str(self._folder / name),
            "factory": model.factory[name],
            "seed": self._recipe.seed,
            "rows": str(self._files / "rows.npz"),
            "loss": function,
        }

    def _failed(self, name: str, failed: Mapping[str, Any], metric: str) -> Diagnostic:
        reason = f"{failed['type']}: {failed['words']}"
        hint = " <- ".join(reversed(failed["frames"]))
        called = "loss" if isinstance(self._recipe.loss, CustomLoss) else "model"
        stage = failed["stage"]
        subject, path, taker = _USERS[called if stage in ("call", "gradient") else stage]
        if metric and stage in ("call", "loss"):
            subject, path, taker = f"metric {metric}", f"metrics.custom.{metric}", "the model"
        if stage == "gradient":
            message = f"{name}: {subject} returns nothing that has a gradient for a weight"
            hint = "look for detach, no_grad, stop_gradient, argmax, or a conversion to NumPy"
            return Diagnostic(code="CC766", message=message, path=f"{path}.{name}", hint=hint)
        if stage != "call":
            if failed["module"]:
                hint = (
                    f"modules are searched in {self._folder}, in the interpreter, and in "
                    f"{self._folder / name}"
                )
            message = f"{name}: {subject} fails: {reason}"
            return _problem("CC761", message, failed["place"], f"{path}.{name}", hint)
        rows = self._rows if metric else model_rows(self._rows, self._recipe)
        types = ", ".join(f"{n} {a.dtype}{list(a.shape)}" for n, a in rows.items())
        message = (
            f"{name}: {subject} fails on rows {types}; {taker} takes {failed['takes']}: {reason}"
        )
        return _problem("CC762", message, failed["place"], f"{path}.{name}", hint)


def _problem(code: str, message: str, place: Mapping[str, Any], path: str, hint: str) -> Diagnostic:
    span = None
    if place:
        text = place["text"]
        span = Span(place["file"], place["line"], 1, len(text) + 1 if text else None, text)
    return Diagnostic(code=code, path=path, message=message, span=span, hint=hint)


def _ended(name: str, error: WorkerFailure) -> Diagnostic:
    if error.kind == "cannot_run":
        hint = f"name an interpreter that has it: --python {name}=PATH"
        return Diagnostic(code="CC401", message=f"{name}: {error.why}", hint=hint)
    last = error.log.strip().splitlines()[-1:]
    message = f"{name}: the process of the model: {': '.join([error.why, *last])}"
    return Diagnostic(code="CC761", message=message, path=f"model.factory.{name}")


def turned_outputs(first: Sequence[Shape], own: Sequence[Shape]) -> list[tuple[int, ...] | None]:
    """Return for each output the axes that move its channels to where the first model has them.

    None for an output that has the shape of the first model's, or another one altogether.
    """
    turns: list[tuple[int, ...] | None] = []
    for number, shape in enumerate(own):
        count = len(shape)
        orders = ((0, count - 1, *range(1, count - 1)), (0, *range(2, count), 1))
        first_shape = first[number] if number < len(first) else shape
        fits = [o for o in orders if count > 2 and tuple(shape[axis] for axis in o) == first_shape]
        turns.append(fits[0] if fits and first_shape != shape else None)
    return turns


def _computed(path: str, axes: Sequence[tuple[int, ...] | None]) -> Computed:
    with np.load(path, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    outputs = [array for name, array in sorted(arrays.items()) if name.startswith("output/")]
    turned = [
        array if order is None else array.transpose(order)
        for array, order in zip(outputs, axes, strict=True)
    ]
    gradients = {n[9:]: array for n, array in arrays.items() if n.startswith("gradient/")}
    return Computed(tuple(turned), gradients)
