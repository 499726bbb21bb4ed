"""Which weights the emitted scripts spare from decay, told by the function they hold."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest

from crosscast.emit.compiler import compile_recipe
from frameworks.emitted_script import tiny_recipe

LAYERS = {name: type(name, (), {}) for name in ("LayerNorm", "RMSNorm", "Embedding", "Linear")}


@cache
def emitted_decays(target: str, *no_decay: str) -> Callable[[Any, str], bool]:
    """Return the script's own `decays`, with classes that stand in for the framework's layers."""
    optimizer = {"name": "adamw", "learning_rate": 1e-3, "no_decay": no_decay}
    (compiled,) = compile_recipe(tiny_recipe(optimizer=optimizer), [target])
    tree = ast.parse(compiled.files["train.py"].text)
    (function,) = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "decays"]
    for argument in function.args.args:
        argument.annotation = None
    space: dict[str, Any] = {"nn": SimpleNamespace(**LAYERS)}
    exec(compile(ast.Module([function], []), "decays", "exec"), space)
    found: Callable[[Any, str], bool] = space["decays"]
    return found


@pytest.mark.parametrize("target", ["torch", "paddle"])
@pytest.mark.parametrize(
    ("name", "decays"),
    [
        ("weight", True),
        ("unbiased_scale", True),
        ("bias", False),
        ("bias_ih_l0", False),
        ("in_proj_bias", False),
    ],
)
def test_a_bias_is_told_by_the_parts_of_its_name(target: str, name: str, decays: bool) -> None:
    for no_decay in (["bias"], ["bias", "layer_norm"]):
        assert emitted_decays(target, *no_decay)(LAYERS["Linear"](), name) == decays


@pytest.mark.parametrize("target", ["torch", "paddle"])
@pytest.mark.parametrize(
    ("role", "layer"), [("layer_norm", "LayerNorm"), ("embedding", "Embedding")]
)
def test_a_role_spares_its_layer_and_no_other(target: str, role: str, layer: str) -> None:
    decays = emitted_decays(target, role)
    assert not decays(LAYERS[layer](), "weight")
    assert decays(LAYERS["Linear"](), "weight")
    assert decays(LAYERS["Linear"](), "bias")
