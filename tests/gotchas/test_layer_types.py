"""JAX has no autocast: without types that the script sets, layers compute in float32."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from crosscast_jax.target.adaptations import JaxAdaptation as Adapt
from frameworks.emitted_script import BFLOAT16, emit, tiny_recipe
from frameworks.subprocesses import run_python
from frameworks.test_jax_types import MODEL
from gotchas.mutation import JAX, Mutation
from tiers import exhaustive

pytestmark = [pytest.mark.jax, exhaustive("types of layers in JAX, taken out")]

PROGRAM = Path(__file__).parents[1] / "frameworks" / "run_jax_types.py"
FAULTS = (
    Mutation(
        36,
        "layers have no types",
        "mixed",
        (("    set_types(model)\n", ""),),
        JAX,
        Adapt.LAYER_TYPES,
    ),
    Mutation(
        36,
        "weights stay wide",
        "full",
        (("weight if spared else weight.astype(HALF)", "weight"),),
        JAX,
        Adapt.HALF_COPIES,
    ),
)
WIDENED = {"mixed": {"conv", "attention", "inner", "logits"}, "full": {"gate"}}
"""What is half in a mode, and is float32 without the adaptation."""


@pytest.mark.parametrize("fault", [pytest.param(fault, id=fault.name) for fault in FAULTS])
def test_without_the_adaptation_it_is_float32(tmp_path: Path, fault: Mutation) -> None:
    recipe = tiny_recipe(
        version=2,
        model={"kind": "custom", "factory": {"jax": "own:build_model"}},
        precision=BFLOAT16 | {"mode": fault.recipe},
    )
    types: dict[str, dict[str, Any]] = {}
    for name in ("whole", "faulty"):
        folder = emit(recipe, JAX, tmp_path / name)
        (folder / "own.py").write_text(MODEL)
        if name == "faulty":
            script = folder / "train.py"
            script.write_text(fault.apply(script.read_text()))
        types[name] = run_python(PROGRAM, JAX, folder)["types"]
    changed = {layer for layer, kind in types["whole"].items() if types["faulty"][layer] != kind}
    assert changed == WIDENED[fault.recipe]
    assert {types["faulty"][layer] for layer in changed} == {"float32"}
