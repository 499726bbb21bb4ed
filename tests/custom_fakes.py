"""Custom models of two frameworks that exist in words only, for tests of the harness."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from crosscast.messages.diagnostics import Collector
from crosscast.recipe.derive import derive
from crosscast.recipe.document import Recipe
from crosscast.recipe.versions import upgraded
from crosscast.weights.document import Entry, Place, WeightsMap
from crosscast.weights.layout import SAME, Layout
from crosscast_parity.inputs.custom import CustomModels, Trained

RNG = np.random.default_rng(4)
TURNED = Layout(axes=(1, 0))
KERNEL = RNG.normal(size=(3, 2)).astype(np.float32)
BIAS = RNG.normal(size=3).astype(np.float32)


def own_recipe(**sections: Any) -> Recipe:
    document = {
        "version": 1,
        "name": "own",
        "model": {"kind": "custom", "factory": {"torch": "own:build", "paddle": "own:build"}},
        "data": {"source": "npz", "train": "rows.npz", "eval": "rows.npz"},
        "loss": {"kind": "mse", "target": "y"},
        "batch": {"micro_batch_size": 8, "global_batch_size": 64},
        "optimizer": {"name": "sgd", "learning_rate": 0.1},
        "schedule": {"name": "linear", "total_steps": 100, "warmup_steps": 50},
        **sections,
    }
    written = upgraded(document) if document["version"] == 1 else document
    return Recipe.model_validate(derive(written, Collector()))


def entry(name: str, shape: tuple[int, ...], **places: Place) -> Entry:
    return Entry(name=name, shape=shape, places=places)


KNOWN = WeightsMap(
    frameworks=("torch", "paddle"),
    entries=(
        entry(
            "weight",
            (3, 2),
            torch=Place(name="dense.weight", layout=SAME),
            paddle=Place(name="dense.weight", layout=TURNED),
        ),
        entry(
            "bias_ih",
            (3,),
            torch=Place(name="dense.bias", layout=SAME),
            paddle=Place(name="dense.bias", layout=Layout(term=(0, 2))),
        ),
        entry(
            "bias_hh",
            (3,),
            torch=Place(name="dense.other", layout=SAME, frozen=True),
            paddle=Place(name="dense.bias", layout=Layout(term=(1, 2))),
        ),
    ),
)
START = {"weight": KERNEL, "bias_ih": BIAS, "bias_hh": 2 * BIAS}
TORCH = Trained(
    arrays={
        "dense.weight": 0 * KERNEL,
        "dense.bias": 0 * BIAS,
        "dense.other": 0 * BIAS,
        "steps": np.array(5, np.int64),
    },
    roles={"dense.weight": frozenset(), "dense.bias": frozenset({"bias"})},
    counters=frozenset({"steps"}),
)
PADDLE = Trained(
    arrays={"dense.weight": 0 * KERNEL.T, "dense.bias": 0 * BIAS},
    roles={"dense.weight": frozenset(), "dense.bias": frozenset({"bias"})},
    counters=frozenset(),
)
CUSTOM = CustomModels(
    known=KNOWN,
    models={"torch": TORCH, "paddle": PADDLE},
    start=START,
    drawn={name: array + 1 for name, array in START.items()},
    statistics=frozenset(),
    folder=Path(),
)
