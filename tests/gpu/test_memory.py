"""Predicted against measured peak memory of emitted PyTorch scripts on a GPU."""

from __future__ import annotations

import statistics
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import pytest

from crosscast.memory.estimate import estimate
from crosscast.memory.records import Device
from crosscast.recipe.document import Recipe
from crosscast.targets.backend import find_target
from crosscast_parity.memory.processes import measure
from frameworks.test_memory_torch import BFLOAT16, FLOAT32, OTHERS, recipe
from gpu.gpu_runs import python
from recipe_texts import FLOAT16

pytestmark = pytest.mark.torch

MEDIAN, WORST = 0.05, 0.10
SGD = "{name: sgd, learning_rate: 1e-3}"
UNFUSED = "{torch: {fused_optimizer: false}}"
ADAM = "{name: adam, learning_rate: 1e-3, weight_decay: 0.01}"
RECIPES: dict[str, Recipe] = {
    f"{preset} {rows} x {length} {name} {again}": recipe(preset, rows, length, dtype, again=again)
    for preset, rows, length in (("mini", 8, 128), ("small", 16, 128), ("base", 16, 128))
    for name, dtype in (("float32", FLOAT32), ("float16", FLOAT16), ("bfloat16", BFLOAT16))
    for again in (False, True)
} | {
    **{f"other {number}": of for number, of in enumerate(OTHERS)},
    "foreach sgd": recipe("tiny", 2, 32, optimizer=SGD, overrides=UNFUSED),
    "foreach sgd decay": recipe(
        "tiny", 2, 32, optimizer=SGD[:-1] + ", weight_decay: 0.01}", overrides=UNFUSED
    ),
    "foreach adam decay": recipe("tiny", 2, 32, optimizer=ADAM, overrides=UNFUSED),
    "fused adam decay": recipe("tiny", 2, 32, optimizer=ADAM),
    "lion": recipe("tiny", 2, 32, optimizer="{name: lion, learning_rate: 1e-4}"),
}


@cache
def gpu_model() -> Device:
    """Return what estimates call this GPU."""
    capability = "import torch; print(torch.cuda.get_device_capability() >= (9, 0))"
    return "hopper" if python("-c", capability, cwd=Path()).strip() == "True" else "cuda"


def error(of: Recipe) -> float:
    """Return predicted over measured peak, minus one."""
    predicted = estimate(of, find_target("torch"), device=gpu_model()).peak_bytes
    return predicted / measure(of, "torch", sys.executable, device="cuda").peak_bytes - 1


def test_peaks_on_a_gpu_are_predicted() -> None:
    with ThreadPoolExecutor(8) as pool:
        errors = dict(zip(RECIPES, pool.map(error, RECIPES.values()), strict=True))
    for name, found in errors.items():
        print(f"{name}: {found:+.2%}")
    sizes = [abs(found) for found in errors.values()]
    assert statistics.median(sizes) <= MEDIAN, errors
    assert max(sizes) <= WORST, errors
