"""States of own models out of what scripts of PyTorch save."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

from crosscast.messages.diagnostics import DiagnosticError
from crosscast.recipe.yaml_text import recipe_text
from crosscast.state.convert import show
from crosscast.state.sources import Request
from state_files import OWN, small_recipe
from torch_states import SETTINGS, read, tensor

TIED = """\
version: 1
frameworks: [torch, paddle]
tensors:
  - {name: table, shape: [2, 2], torch: {name: table, also: [out]}, paddle: table}
  - {name: still, shape: [2], torch: {name: still, frozen: true}, paddle: still}
  - {name: last, shape: [2], torch: last, paddle: last}
left:
  torch: [mask]
"""


@pytest.mark.parametrize("optimized", [("table", "last"), ("table", "still", "last")])
def test_whose_moment_is_which_in_a_model_of_ones_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, optimized: tuple[str, ...]
) -> None:
    recipe = small_recipe(
        model=OWN, optimizer="{name: adamw, learning_rate: 1e-3, weight_decay: 0.01, no_decay: []}"
    )
    shapes = {"table": (2, 2), "mask": (3,), "still": (2,), "out": (2, 2), "last": (2,)}
    state = {
        number: {
            "step": tensor(6.0),
            "exp_avg": tensor(np.full(shapes[name], number)),
            "exp_avg_sq": tensor(np.full(shapes[name], number)),
        }
        for number, name in enumerate(optimized)
        if name != "still"
    }
    group = SETTINGS | {"weight_decay": 0.01, "params": list(range(len(optimized)))}
    tree = {
        "model": {name: tensor(np.ones(shape)) for name, shape in shapes.items()},
        "optimizer": {"state": state, "param_groups": [group]},
        "scheduler": {"last_epoch": 6},
    }
    monkeypatch.setattr(
        "crosscast.state.saved_file.saved_file", lambda *_, folders: nullcontext(tree)
    )
    (tmp_path / "last.pt").write_bytes(b"zip")
    (tmp_path / "recipe.yaml").write_text(recipe_text(recipe))
    request = Request(str(tmp_path / "last.pt"), recipe=str(tmp_path / "recipe.yaml"))
    with pytest.raises(DiagnosticError, match=r"CC961.* parameters in a group of 5"):
        show(request)
    (tmp_path / "weights.yaml").write_text(TIED)
    moments = show(request).state.moments["exp_avg"]
    assert {name: array.flat[0] for name, array in moments.items()} == {
        name: number for number, name in enumerate(optimized) if name != "still"
    }


def test_own_models_keep_their_names() -> None:
    recipe = small_recipe(
        model=OWN, optimizer="{name: adamw, learning_rate: 1e-3, weight_decay: 0.01, no_decay: []}"
    )
    names = {"module.a.weight": (2, 3), "module.a.bias": (2,), "module.n.running_mean": (2,)}
    weights = {n: tensor(np.ones(s)) for n, s in names.items()}
    slots = {
        number: {
            "step": tensor(6.0),
            "exp_avg": tensor(np.ones(s)),
            "exp_avg_sq": tensor(np.ones(s)),
        }
        for number, s in enumerate([(2, 3), (2,)])
    }
    group = SETTINGS | {"weight_decay": 0.01, "params": [0, 1]}
    tree = {"model": weights, "optimizer": {"state": slots, "param_groups": [group]}}
    state, collect, _ = read(tree, recipe)
    assert collect.diagnostics == []
    assert set(state.weights) == {"a.weight", "a.bias", "n.running_mean"}
    assert set(state.moments["exp_avg"]) == {"a.weight", "a.bias"}
