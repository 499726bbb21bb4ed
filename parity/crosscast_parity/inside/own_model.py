"""The user's model in its framework's process: what it holds, and what it computes.

The module `weights` of a backend calls `serve` with what only the framework can do. Jobs and
answers are lines of JSON, arrays are in npz files:

    {"action": "describe", "folder": ..., "last": ..., "factory": "own:build_model",
     "seed": 7, "rows": "rows.npz", "initial": "initial.npz"}
    {"action": "run", …, "weights": "w.npz", "projections": "p.npz", "result": "out.npz"}
    {"action": "modules", …}
    {"action": "train", …}
    {"action": "evaluate", …, "weights": "w.npz", "batch": 16, "result": "out.npz", "metric": ""}
    {"action": "halves", …}

A description leaves in `initial` all tensors as the factory draws them after `seed`.

A run sets weights, evaluates the model, and leaves its outputs and the gradients of the sum of all
products of outputs and projections. `loss` names a function that is called instead of the model.
`modules` also leaves what every layer got and returned, and the gradients of that. `train` calls
the model as training does, without dropout, and leaves what its layers got and its statistics.
`evaluate` leaves the first output of every batch of rows, and answers which tensors got no weights.
With the name of a metric, `loss` is its function, which may return numbers of any type.
`halves` does so with all rows and with each half of them, and leaves the outputs; it answers with
the layers whose statistics have changed.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from crosscast_parity.inside.module_calls import Calls, flat
from crosscast_parity.inside.orphans import end_with_parent
from crosscast_parity.inside.pipe import jobs
from crosscast_parity.inside.tensor_rows import STATISTICS, Part
from crosscast_parity.inside.user_code import failure_of, named, search_in

Arrays = Mapping[str, np.ndarray]


class Tensor(NamedTuple):
    """A parameter or buffer of a model. `handle`: the framework's object."""

    handle: Any
    name: str
    also: list[str]
    shape: list[int]
    dtype: str
    trainable: bool
    buffer: bool
    layer: str
    """Path of the layer that holds it."""
    kind: str
    """Class of that layer."""
    base: str
    """The framework's class that it is."""
    parts: list[Part]
    counts: bool = False
    """Whether it only counts, and no output depends on it."""

    @property
    def differentiable(self) -> bool:
        """Whether outputs have a gradient with respect to it in every framework."""
        statistics = any(part.role in STATISTICS for part in self.parts)
        return "float" in self.dtype and not self.buffer and not statistics

    def record(self) -> dict[str, Any]:
        """Return everything but the handle as plain data."""
        plain = self._asdict()
        del plain["handle"]
        return {**plain, "parts": [part._asdict() for part in self.parts]}


class Framework(Protocol):
    """What a framework does for `serve`."""

    def seed(self, number: int) -> None:
        """Seed the generator of a factory."""

    def build(self, factory: Any) -> Any:
        """Return the model of a factory."""

    def feeds(self, rows: Arrays) -> dict[str, Any]:
        """Return rows as tensors."""

    def evaluate(self, model: Any) -> None:
        """Put a model into evaluation."""

    def call(self, model: Any, feeds: dict[str, Any]) -> Any:
        """Return the outputs of the model for rows in evaluation."""

    def train(self, model: Any, feeds: dict[str, Any], loss: Any) -> Any:
        """Return the outputs of the model for rows in training, without dropout; or those of a loss
        function, unless it is None."""

    def watched(self, model: Any, calls: Calls) -> Any:
        """Return a context in which every call of a layer is told to `calls`."""

    def tensors(self, model: Any) -> list[Tensor]:
        """Return all tensors of a model."""

    def assign(self, tensor: Tensor, array: np.ndarray) -> None:
        """Overwrite a tensor."""

    def is_output(self, value: Any) -> bool:
        """Whether a value is a tensor of floating-point numbers."""

    def array(self, value: Any) -> np.ndarray:
        """Return a tensor as a float32 array, a copy."""

    def version(self, value: Any) -> int:
        """Return how often a tensor was changed in place."""

    def base(self, layer: Any) -> str:
        """Return the name of the framework's class that a layer is."""

    def gradients(
        self,
        model: Any,
        compute: Any,
        projections: list[np.ndarray],
        tensors: list[Tensor],
        inner: list[Any],
    ) -> tuple[list[Any], dict[str, np.ndarray], list[Any]]:
        """Return the outputs that a function computes, gradients by name, and those of values that
        it has appended to `inner`, None where there is none."""

    def takes(self, model: Any) -> str:
        """Return the inputs of a model in words."""


class Failed(Exception):
    """The user's code has failed. `stage`: in what."""

    def __init__(self, stage: str, error: BaseException, takes: str = "") -> None:
        super().__init__(stage)
        self.stage, self.error, self.takes = stage, error, takes


class Own:
    """The model of a process, built when a job names another one than the job before."""

    def __init__(self, framework: Framework) -> None:
        self._framework = framework
        self._model: Any = None
        self._named: tuple[str, str, int] | None = None

    def answer(self, job: Mapping[str, Any]) -> dict[str, Any]:
        """Answer a job."""
        rows = load(job["rows"])
        model = self._built(job)
        framework = self._framework
        loss = self._loss(job)
        function = loss or framework.call
        try:
            feeds = framework.feeds(rows)

            def compute() -> list[Any]:
                framework.evaluate(model)
                outputs = flat(function(model, feeds), framework)
                if not outputs:
                    raise TypeError("it returns no tensors of floating-point numbers")
                return outputs

            if job["action"] in ("run", "modules"):
                return self._run(job, compute)
            if job["action"] == "train":
                return self._train(job, feeds)
            if job["action"] == "evaluate":
                return self._evaluate(job, rows, function)
            if job["action"] == "halves":
                return self._halves(job, rows, loss)
            calls = Calls(framework)
            with framework.watched(model, calls):
                outputs = compute()
        except Failed:
            raise
        except Exception as error:
            raise Failed("call", error, framework.takes(model)) from error
        tensors = framework.tensors(model)
        np.savez(job["initial"], **{f"tensor/{t.name}": self._exact_array(t) for t in tensors})  # type: ignore[arg-type]
        return {
            "tensors": [
                {**tensor.record(), "drawn": drawn(framework.array(tensor.handle))}
                for tensor in tensors
            ],
            "order": calls.order,
            "outputs": [list(framework.array(value).shape) for value in outputs],
        }

    def _exact_array(self, tensor: Tensor) -> np.ndarray:
        if "float" in tensor.dtype:
            return self._framework.array(tensor.handle)
        return np.array(tensor.handle)  # whole numbers, exactly

    def _built(self, job: Mapping[str, Any]) -> Any:
        wanted = job["folder"], job["factory"], job["seed"]
        if self._named != wanted:
            os.chdir(job["folder"])
            search_in(job["folder"], job["last"])
            try:
                random.seed(job["seed"])
                np.random.seed(job["seed"])
                self._framework.seed(job["seed"])
                self._model = self._framework.build(named(job["factory"]))
            except BaseException as error:  # sys.exit, too
                raise Failed("factory", error) from error
            self._named = wanted
        return self._model

    def _loss(self, job: Mapping[str, Any]) -> Any:
        """Return the function that is called instead of the model, None if there is none."""
        if not job["loss"]:
            return None
        try:
            return named(job["loss"])
        except BaseException as error:
            raise Failed("loss", error) from error

    def _run(self, job: Mapping[str, Any], compute: Any) -> dict[str, Any]:
        framework, tensors = self._framework, self._with_weights(job)
        projections = [array for _, array in sorted(load(job["projections"]).items())]
        wanted = [tensor for tensor in tensors if tensor.differentiable]
        calls = Calls(framework, values=True)
        watched = framework.watched(self._model, calls)
        with watched if job["action"] == "modules" else nullcontext():
            outputs, gradients, inner = framework.gradients(
                self._model, compute, projections, wanted, calls.handles
            )
        if wanted and not gradients:
            # Not an error of the framework: it returns nothing, or complains about its own call.
            raise Failed("gradient", ValueError("no weight has a gradient"))
        result = {f"gradient/{name}": array for name, array in gradients.items()}
        for number, output in enumerate(outputs):
            result[f"output/{number:03d}"] = framework.array(output)
        result |= calls.arrays(inner)
        np.savez(job["result"], **result)  # type: ignore[arg-type]  # the names are no options
        return {"calls": calls.told()}

    def _train(self, job: Mapping[str, Any], feeds: dict[str, Any]) -> dict[str, Any]:
        framework = self._framework
        self._with_weights(job)
        calls = Calls(framework, values=True)
        with framework.watched(self._model, calls):
            framework.train(self._model, feeds, None)
        result = calls.arrays([])
        for tensor in self._statistics():
            result[f"state/{tensor.name}"] = framework.array(tensor.handle)
        np.savez(job["result"], **result)  # type: ignore[arg-type]
        return {"calls": calls.told()}

    def _evaluate(self, job: Mapping[str, Any], rows: Arrays, function: Any) -> dict[str, Any]:
        framework = self._framework
        weights = load(job["weights"])
        tensors = framework.tensors(self._model)
        missing = []
        for tensor in tensors:
            name = next((name for name in (tensor.name, *tensor.also) if name in weights), None)
            if name is not None:
                framework.assign(tensor, weights[name])
            elif "float" in tensor.dtype:
                missing.append(tensor.name)
        framework.evaluate(self._model)
        count = min(map(len, rows.values()))
        result = {}
        for start in range(0, count, job["batch"]):
            batch = {name: array[start : start + job["batch"]] for name, array in rows.items()}
            returned = function(self._model, framework.feeds(batch))
            outputs = [returned] if job.get("metric") else flat(returned, framework)
            if not outputs:
                raise TypeError("it returns no tensors of floating-point numbers")
            result[f"batch/{start:09d}"] = framework.array(outputs[0])
        np.savez(job["result"], **result)  # type: ignore[arg-type]
        return {"missing": missing}

    def _halves(self, job: Mapping[str, Any], rows: Arrays, loss: Any) -> dict[str, Any]:
        framework = self._framework
        before = [framework.array(tensor.handle) for tensor in self._statistics()]
        cut = len(next(iter(rows.values()))) // 2
        result = {}
        for name, chosen in (("whole", slice(None)), ("a", slice(cut)), ("b", slice(cut, None))):
            feeds = framework.feeds({key: array[chosen] for key, array in rows.items()})
            outputs = flat(framework.train(self._model, feeds, loss), framework)
            for number, output in enumerate(outputs):
                result[f"{name}/{number:03d}"] = framework.array(output)
        np.savez(job["result"], **result)  # type: ignore[arg-type]
        moved = {
            f"{tensor.layer} ({tensor.kind})": None
            for tensor, array in zip(self._statistics(), before)  # noqa: B905
            if not np.array_equal(framework.array(tensor.handle), array)
        }
        return {"moved": list(moved)}

    def _statistics(self) -> list[Tensor]:
        tensors = self._framework.tensors(self._model)
        return [t for t in tensors if any(part.role in STATISTICS for part in t.parts)]

    def _with_weights(self, job: Mapping[str, Any]) -> list[Tensor]:
        framework, weights = self._framework, load(job["weights"])
        tensors = framework.tensors(self._model)
        for tensor in tensors:
            if tensor.name in weights:
                framework.assign(tensor, weights[tensor.name])
        return tensors


def drawn(array: np.ndarray) -> list[float]:
    """Return mean, standard deviation and kurtosis of the values that a tensor has."""
    values = array.astype(np.float64)
    mean, std = float(values.mean()), float(values.std())
    fourth = float(((values - mean) ** 4).mean())
    return [mean, std, fourth / std**4 if std else 0.0]


def load(path: str) -> dict[str, np.ndarray]:
    """Read an npz file."""
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def serve(framework: Framework) -> None:
    """Answer jobs about the model that they name until the pipe closes."""
    end_with_parent()
    own = Own(framework)
    for job, answer_with in jobs():
        try:
            answer = own.answer(job)
        except Failed as failed:
            failure = failure_of(failed.error, Path(job["folder"]))
            answer = {"failed": {"stage": failed.stage, "takes": failed.takes, **failure}}
        answer_with(json.dumps(answer))
