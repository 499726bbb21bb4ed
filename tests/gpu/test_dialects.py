"""Half precision of the older PyTorch dialects: the same training as torch.amp on the same GPU.

Their scripts refuse to compute in half precision on a CPU (CC316), so nothing else runs them.
Newer releases of PyTorch still have what they call; what only an old release does is not seen.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from frameworks.emitted_script import BFLOAT16, FLOAT16, tiny_recipe
from gpu.gpu_runs import OWN, rows, script, train, weights

pytestmark = pytest.mark.torch

OLD = ("torch@torch.cuda.amp", "torch@torch.cuda.amp-1.6")
NOT_FUSED = {"overrides": {"torch": {"fused_optimizer": False}}}
"""torch.cuda.amp has no fused optimizers, which round otherwise."""
DYNAMIC = {"mode": "dynamic", "init_scale": 2.0**22, "growth_interval": 2}
"""Overflows in the first windows, grows in the later ones."""
RECIPES: dict[str, dict[str, Any]] = {
    "float16": {"precision": FLOAT16, "loss_scaling": DYNAMIC},
    "bounds": {"precision": FLOAT16, "loss_scaling": DYNAMIC | {"max_scale": 2.0**17}},
    "hysteresis": {"precision": FLOAT16, "loss_scaling": DYNAMIC | {"hysteresis": 2}},
    "static": {"precision": FLOAT16, "loss_scaling": {"mode": "static", "scale": 1024.0}},
    "bfloat16": {"precision": BFLOAT16},
    "half-weights": {
        "precision": {"mode": "full", "compute_dtype": "float16"},
        "loss_scaling": DYNAMIC,
    },
}
CASES = [
    (name, target, own)
    for name in RECIPES
    for target in OLD
    for own in (False, True)
    if not (name == "bfloat16" and target == "torch@torch.cuda.amp-1.6")  # refused: CC318
]


@pytest.mark.parametrize(("name", "target", "own"), CASES)
def test_older_dialects_train_alike(name: str, target: str, own: bool, tmp_path: Path) -> None:
    recipe = tiny_recipe(**RECIPES[name] | (OWN if own else {}) | NOT_FUSED)
    folders = [script(recipe, each, tmp_path / each) for each in ("torch", target)]
    for folder in folders:
        train(folder, "out", "--windows", 12)
    new, old = (rows(folder, "out") for folder in folders)
    assert len(new) == 12
    if name in ("float16", "bounds", "hysteresis", "half-weights"):
        assert {row["skipped"] for row in new} == {False, True}
    for mine, other in zip(new, old, strict=True):
        for key in ("scale", "skipped", "updates", "lr", "rows"):
            assert mine[key] == other[key], (mine, other)
        assert mine["loss"] == pytest.approx(other["loss"], rel=1e-4)
    assert weights(folders[0], "out").keys() == weights(folders[1], "out").keys()
