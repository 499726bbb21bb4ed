"""The user's model on their own rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from crosscast.messages.diagnostics import failure
from crosscast.recipe.document import CustomLoss, Recipe
from crosscast_parity.inputs.custom import TWIN, spread_rows
from crosscast_parity.inputs.npz import save_npz
from crosscast_parity.inputs.shared import FEW_ROWS, Inputs
from crosscast_parity.inputs.weights import perturb, save
from crosscast_parity.recipes.derived import changed, comparable, shortened, with_slower_steps
from crosscast_parity.scaling_law.problems import TWINS
from crosscast_parity.scaling_law.shapes import Shape
from crosscast_parity.weights.fingerprints import distance
from crosscast_parity.weights.model import Model
from crosscast_parity.weights.proof import OUTPUTS
from crosscast_parity.weights.rows import ROWS, sample_rows
from crosscast_parity.weights.workers import Halves, Processes

TIMEOUT = 300.0
"""Seconds that the process of a model has for an answer."""
NAMED = 3
"""Layers that are named in a message."""


@dataclass(frozen=True, slots=True)
class OwnModel:
    """The model that a factory builds, as it is. `place`: folder of the recipe."""

    place: Path

    @property
    def rows(self) -> str:
        """What the rows are called."""
        return "of your rows"

    @property
    def run(self) -> Mapping[str, Any]:
        """What a run needs: it finds the user's modules, and dropout is switched off."""
        return {"folder": str(self.place.absolute()), "dropout": False}

    def derive(self, recipe: Recipe, shape: Shape, windows: int) -> tuple[Recipe, tuple[str, ...]]:
        """Return the recipe with rates for smaller windows, and what was changed."""
        single = changed(comparable(recipe)[0], shape.changes())
        changes = ["dropout: none in the layers of your model (masks differ)"]
        whole = recipe.batch.global_batch_size
        if shape.rows < whole:
            single = with_slower_steps(single, whole)
            ours, theirs = single.optimizer.learning_rate, recipe.optimizer.learning_rate
            words = f"{ours:.4g} instead of {theirs:.4g}, for windows of {shape.rows} rows"
            changes.append(f"optimizer.learning_rate: {words}")
        return shortened(single, windows), tuple(changes)

    def data(self, recipe: Recipe, train_rows: int) -> dict[str, Any]:
        """Return nothing: the data stay the recipe's, of which scripts are given some rows."""
        return {}

    def write(
        self, recipe: Recipe, train_rows: int, folder: Path, target: str, python: str
    ) -> Inputs:
        """Write rows spread over the user's, and the weights that the factory draws.

        Raises:
            DiagnosticError: CC749 if rows of a micro-batch meet in the model, CC601 and CC602 for
                the rows, CC401, CC761 and CC762 for a model that fails.
        """
        folder.mkdir(parents=True, exist_ok=True)
        sample = repeated(sample_rows(recipe, ROWS, self.place), ROWS)
        train = self._rows(recipe, "train", train_rows, folder)
        few = self._rows(recipe, "eval", FEW_ROWS, folder)
        pythons = {target: python}
        with Processes(
            recipe, [target], self.place, sample, python=pythons, timeout=TIMEOUT
        ) as processes:
            (model,) = processes.describe()
            initial = processes.initial(model.framework)
            (halves,) = processes.halves().values()
        refuse_meeting_rows(halves, recipe)
        weights, *twins = write_weights(model, initial, recipe.seed, folder)
        return Inputs(
            train=train,
            brief=train,
            eval=few,
            few=few,
            held=few,
            weights=weights,
            stress=weights,
            twins=tuple(twins),
            count=sum(initial[name].size for name in model.trained),
        )

    def _rows(self, recipe: Recipe, split: str, count: int, folder: Path) -> Path:
        path = folder / f"{split}.npz"
        save_npz(path, repeated(spread_rows(recipe, split, count, folder, self.place), count))
        return path


def repeated(rows: Mapping[str, np.ndarray], count: int) -> dict[str, np.ndarray]:
    """Return so many rows, from the start again where there are fewer.

    Raises:
        DiagnosticError: CC602 if there are none.
    """
    held = min(map(len, rows.values()), default=0)
    if not held:
        raise failure("CC602", "the data have no rows")
    return {name: array[np.arange(count) % held] for name, array in rows.items()}


def write_weights(
    model: Model, initial: Mapping[str, np.ndarray], seed: int, folder: Path
) -> list[Path]:
    """Write the initial weights of a model, and perturbed ones; return the files.

    Frozen tensors and buffers, such as masks, are not perturbed.
    """
    trained = {name: initial[name] for name in sorted(model.trained)}
    paths = []
    for number in range(TWINS + 1):
        moved = perturb(trained, seed + number, TWIN) if number else {}
        arrays = model.with_aliases({**initial, **moved})
        paths.append(folder / (f"twin-{number}.safetensors" if number else "weights.safetensors"))
        save(paths[-1], arrays)
    return paths


def refuse_meeting_rows(outputs: Halves, recipe: Recipe) -> None:
    """Refuse a model that computes with all rows of a micro-batch together.

    Raises:
        DiagnosticError: CC749, with the layers that have statistics of them.
    """
    if outputs.moved:
        layers = ", ".join(outputs.moved[:NAMED])
        more = len(outputs.moved) - NAMED
        layers += f" and {more} more" if more > 0 else ""
        raise failure("CC749", f"every micro-batch has its own statistics in {layers}")
    custom = isinstance(recipe.loss, CustomLoss)
    means = custom and recipe.accumulation.normalize_by == "microbatch"
    if _half_distance(outputs, means) > OUTPUTS:
        subject = "your loss function" if custom else "your model"
        message = f"what {subject} returns for a row depends on the other rows of its micro-batch"
        raise failure("CC749", f"{message}, or on chance")


def _half_distance(halves: Halves, means: bool) -> float:
    """Return how far outputs for all rows are from those for each half."""
    if not len(halves.whole) == len(halves.a) == len(halves.b):
        return np.inf
    return max(
        (
            _distance(*arrays, means)
            for arrays in zip(halves.whole, halves.a, halves.b, strict=True)
        ),
        default=0.0,
    )


def _distance(whole: np.ndarray, a: np.ndarray, b: np.ndarray, means: bool) -> float:
    """Compare row by row, or else sums; `means`: the mean of a micro-batch is its loss."""
    if means:
        return distance(whole.mean(), (a.mean() + b.mean()) / 2)
    if whole.ndim and a.shape == b.shape and whole.shape == (2 * len(a), *a.shape[1:]):
        return distance(whole, np.concatenate([a, b]))
    return distance(whole.sum(), a.sum() + b.sum())
