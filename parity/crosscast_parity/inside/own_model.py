"""A model of the user's in its framework's process: what it holds, and what it computes.

The module `weights` of a backend calls `serve` with what only the framework can do. Jobs and
answers are lines of JSON, arrays are in npz files:

    {"action": "describe", "folder": ..., "factory": "own:build_model", "rows": "rows.npz"}
    {"action": "run", …, "weights": "w.npz", "projections": "p.npz", "result": "out.npz"}

A run sets weights, evaluates the model, and leaves its outputs and the gradients of the sum of all
products of outputs and projections. `loss` names a function that is called instead of the model.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

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

    def feeds(self, rows: Arrays) -> dict[str, Any]:
        """Return rows as tensors."""

    def call(self, model: Any, feeds: dict[str, Any]) -> Any:
        """Return what the model returns for rows in evaluation."""

    def ordered(self, model: Any, compute: Any) -> tuple[Any, list[str]]:
        """Return what a function returns, and the paths of the layers that it calls, in order."""

    def tensors(self, model: Any) -> list[Tensor]:
        """Return all tensors of a model."""

    def assign(self, tensor: Tensor, array: np.ndarray) -> None:
        """Overwrite a tensor."""

    def is_output(self, value: Any) -> bool:
        """Whether a value is a tensor of floating-point numbers."""

    def array(self, value: Any) -> np.ndarray:
        """Return a tensor as a float32 array."""

    def gradients(
        self, model: Any, compute: Any, projections: list[np.ndarray], tensors: list[Tensor]
    ) -> tuple[list[Any], dict[str, np.ndarray]]:
        """Return the outputs that a function computes, and gradients by name."""

    def takes(self, model: Any) -> str:
        """Return the inputs of a model in words."""


class Failed(Exception):
    """The user's code has failed. `stage`: in what."""

    def __init__(self, stage: str, error: BaseException, takes: str = "") -> None:
        super().__init__(stage)
        self.stage, self.error, self.takes = stage, error, takes


class Own:
    """The model of a process, built when the first job needs it."""

    def __init__(self, framework: Framework) -> None:
        self._framework = framework
        self._model: Any = None

    def answer(self, job: Mapping[str, Any]) -> dict[str, Any]:
        """Answer a job."""
        rows = load(job["rows"])
        model = self._built(job)
        framework = self._framework
        try:
            function = named(job["loss"]) if job["loss"] else framework.call
            feeds = framework.feeds(rows)

            def compute() -> list[Any]:
                return flat(function(model, feeds), framework)

            if job["action"] == "run":
                return self._run(job, compute)
            outputs, order = framework.ordered(model, compute)
        except Exception as error:
            raise Failed("call", error, framework.takes(model)) from error
        return {
            "tensors": [tensor.record() for tensor in framework.tensors(model)],
            "order": order,
            "outputs": [list(framework.array(value).shape) for value in outputs],
        }

    def _built(self, job: Mapping[str, Any]) -> Any:
        if self._model is None:
            os.chdir(job["folder"])
            search_in(job["folder"])
            try:
                self._model = named(job["factory"])()
            except BaseException as error:  # sys.exit, too
                raise Failed("factory", error) from error
        return self._model

    def _run(self, job: Mapping[str, Any], compute: Any) -> dict[str, Any]:
        framework, given = self._framework, load(job["weights"])
        tensors = framework.tensors(self._model)
        for tensor in tensors:
            if tensor.name in given:
                framework.assign(tensor, given[tensor.name])
        projections = [array for _, array in sorted(load(job["projections"]).items())]
        wanted = [tensor for tensor in tensors if tensor.differentiable]
        outputs, gradients = framework.gradients(self._model, compute, projections, wanted)
        result = {f"gradient/{name}": array for name, array in gradients.items()}
        for number, output in enumerate(outputs):
            result[f"output/{number:03d}"] = framework.array(output)
        np.savez(job["result"], **result)  # type: ignore[arg-type]  # the names are no options
        return {}


def load(path: str) -> dict[str, np.ndarray]:
    """Read an npz file."""
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def flat(value: Any, framework: Framework) -> list[Any]:
    """Return the tensors of numbers in what a model returns, in order."""
    if framework.is_output(value):
        return [value]
    if isinstance(value, Mapping):
        return [found for key in value for found in flat(value[key], framework)]
    if isinstance(value, (list, tuple)):
        return [found for item in value for found in flat(item, framework)]
    return []


def serve(framework: Framework) -> None:
    """Answer jobs about the model that they name until the pipe closes."""
    end_with_parent()
    own = Own(framework)
    for job, answer_with in jobs():
        try:
            answer = own.answer(job)
        except Failed as failed:
            found = failure_of(failed.error, Path(job["folder"]))
            answer = {"failed": {"stage": failed.stage, "takes": failed.takes, **found}}
        answer_with(json.dumps(answer))
