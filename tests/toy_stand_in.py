"""A worker of the toy that needs no framework: its steps are run by the reference interpreter.

A step is a recipe as text. What the reference makes of it is right by definition, so a step of
another recipe is one that does otherwise. Run as a program by `crosscast_parity.toy.worker`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from crosscast.plan.canonical import canonical_plan
from crosscast.plan.operations import UpdateScale
from crosscast.recipe.document import Recipe
from crosscast.reference.interpreter import initial, step
from crosscast_parity.inside.toy import Session, Toy
from crosscast_parity.inside.toy_worker import serve
from crosscast_parity.processes.process import child_environment
from crosscast_parity.toy.bounds import tensors
from crosscast_parity.toy.model import ROLES
from crosscast_parity.toy.model import Toy as Numbers
from crosscast_parity.toy.worker import Worker

TESTS = Path(__file__).parent
STEP = """
from crosscast.recipe.document import Recipe

RECIPE = Recipe.model_validate_json({recipe!r})


def train_window(training, window, loss):
    {before}
    return training.window()
"""
COLUMNS = ("window", "n_micro", "rows", "tokens", "loss", "lr", "grad_norm", "scale", "skipped")


def stand_in_worker(target: str, version: str = "2.13.0") -> Worker:
    """Return a worker whose framework is the reference."""
    paths = [str(TESTS), *(str(Path(p).absolute()) for p in _given())]
    extra = {"PYTHONPATH": os.pathsep.join(paths), "STAND_IN_VERSION": version}
    variables = child_environment(threads=1, device="cpu", extra=extra)
    return Worker(target, environment=variables, program="toy_stand_in")


def _given() -> list[str]:
    return [word for word in os.environ.get("PYTHONPATH", "").split(os.pathsep) if word]


def write_step(recipe: Recipe, targets: Sequence[str], directory: Path, before: str = "") -> None:
    """Write the step of a recipe, as a compiler does; `before` is run before every window."""
    for target in targets:
        folder = directory / target
        folder.mkdir(parents=True)
        text = STEP.format(recipe=recipe.model_dump_json(), before=before or "pass")
        (folder / "step.py").write_text(text)


class Training:
    """The recipe of a step at work on the toy."""

    def __init__(self, recipe: Recipe, toy: Toy) -> None:
        self.plan = canonical_plan(recipe)
        self.toy = Numbers(toy.start, toy.windows, toy.dtype, toy.weights)  # type: ignore[arg-type]
        self.state = initial(self.plan, toy.start)

    def window(self) -> dict[str, Any]:
        """Train the next window."""
        work = self.toy.work(self.state.window)
        self.state, row = step(self.plan, self.state, work, ROLES)
        return {name: getattr(row, name) for name in (*COLUMNS, "updates")}

    def tensors(self) -> dict[str, np.ndarray]:
        """Return a copy of everything that a step moves."""
        return {name: np.array(array) for name, array in tensors(self.state).items()}

    def counters(self) -> tuple[int | None, int | None]:
        """Return the counters of the scaler."""
        scaled = self.plan.find(UpdateScale) is not None
        return (self.state.scale.good, self.state.scale.bad) if scaled else (None, None)


def start(module: ModuleType, toy: Toy) -> Session:
    training = Training(module.RECIPE, toy)
    names = {name: name for name in toy.start}
    return Session(training, None, training.tensors, training.counters, names)  # type: ignore[arg-type]


if __name__ == "__main__":
    serve(start, os.environ["STAND_IN_VERSION"], {})
