"""What scripts of PyTorch save, and how a test reads it."""

from __future__ import annotations

from typing import Any

import numpy as np

from crosscast.messages.diagnostics import Collector
from crosscast.recipe.bert_shapes import bert_shapes
from crosscast.recipe.document import BertModel, Recipe
from crosscast.state.emitted import check
from crosscast.state.reading import GivenPosition, Reading
from crosscast.state.recipe_check import misfits
from crosscast.state.saved_file import SavedTensor
from crosscast.state.training_state import Account, TrainingState
from crosscast_torch.states.state import STATES
from state_files import HALF, small_recipe

SCALED = {
    "precision": HALF,
    "loss_scaling": "{mode: dynamic, init_scale: 1024, growth_interval: 50}",
}
SCALER = {
    "scale": 512.0,
    "growth_factor": 2.0,
    "backoff_factor": 0.5,
    "growth_interval": 50,
    "_growth_tracker": 3,
}
SETTINGS = {
    "lr": 5e-4,
    "initial_lr": 1e-3,
    "betas": [0.9, 0.999],
    "eps": 1e-8,
    "amsgrad": False,
    "maximize": False,
    "foreach": None,
    "capturable": False,
    "differentiable": False,
    "fused": None,
    "decoupled_weight_decay": True,
}
Tree = dict[str, Any]


def tensor(array: Any, dtype: str = "float32") -> SavedTensor:
    return SavedTensor(np.asarray(array, np.float32), dtype)


def tree_of(recipe: Recipe, prefix: str = "", updates: int = 6) -> Tree:
    """What a usual script saves: two groups, decay on all but biases and LayerNorm."""
    assert isinstance(recipe.model, BertModel)
    shapes = bert_shapes(recipe.model)
    exempt = [n for n in shapes if n.endswith("bias") or "LayerNorm" in n]
    decayed = [n for n in shapes if n not in exempt]
    order = {name: number for number, name in enumerate([*decayed, *exempt])}
    state = {
        number: {
            "step": tensor(float(updates)),
            "exp_avg": tensor(np.full(shapes[name], number)),
            "exp_avg_sq": tensor(np.full(shapes[name], number + 0.5)),
        }
        for name, number in order.items()
    }
    cut = len(decayed)
    groups = [
        SETTINGS | {"weight_decay": 0.01, "params": list(range(cut))},
        SETTINGS | {"weight_decay": 0.0, "params": list(range(cut, len(order)))},
    ]
    return {
        "model": {prefix + n: tensor(np.full(s, order[n] + 0.25)) for n, s in shapes.items()},
        "optimizer": {"state": state, "param_groups": groups},
        "scheduler": {"last_epoch": updates, "_step_count": updates + 1, "base_lrs": [1e-3]},
    }


def read(
    tree: Any, recipe: Recipe | None = None, **given: int
) -> tuple[TrainingState, Collector, Account]:
    collect, account = Collector(), Account()
    recipe = recipe or small_recipe()
    state = STATES.read(tree, Reading("x.pt", recipe, account, collect), GivenPosition(**given))
    if not collect.errors:
        assert [*check(state), *misfits(state, recipe)] == []
    return state, collect, account


def codes(collect: Collector) -> list[str]:
    return [error.code for error in collect.errors]
