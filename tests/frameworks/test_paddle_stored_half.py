"""Emitted Paddle scripts of recipes that say what is stored in half, and of fused attention.

Paddle has no half kernels on CPUs: they are emulated. PyTorch's scripts are the other side.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from crosscast_parity.inputs.weights import bert_weights, save
from crosscast_parity.levels.masks import compare_masks
from frameworks import observe_runs
from frameworks.emitted_script import BFLOAT16, FLOAT16, TINY, emit, tiny_recipe, write_rows
from frameworks.masked_runs import asked, given, masked
from frameworks.paddle_lab import DYNAMIC, same
from frameworks.script_runs import Run
from tiers import Lazy, cases

pytestmark = [pytest.mark.torch, pytest.mark.paddle]

WINDOWS = 4
UNITS = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "none": 2.0**-20}
"""Rounding in half; without it what several roundings make."""
MODEL = TINY["model"] | {"dropout": 0.1}
EXPLICIT = {"model": MODEL | {"attention": "explicit"}}
OTHER = {"matmul": "float32_stored_half", "pointwise": "float32_stored_half", "residual": "float32"}
CLASSES = ("matmul", "pointwise", "reductions", "embeddings", "losses")
ROUNDED = dict.fromkeys(CLASSES, "float32_stored_half")
REDUCED = {"pointwise": "float32_stored_half", "embeddings": "half"}
SCALED: dict[str, Any] = {"loss_scaling": DYNAMIC}
RECIPES: dict[str, dict[str, Any]] = {
    "copies": {"precision": BFLOAT16},
    "scaled copies": {"precision": FLOAT16, **SCALED, **EXPLICIT},
    "lookups in half": {"precision": BFLOAT16 | {"ops": {"embeddings": "half"}}},
    "other types": {"precision": FLOAT16 | {"ops": OTHER}, **SCALED, **EXPLICIT},
    "float32 layers": {"precision": BFLOAT16 | {"ops": dict(REDUCED, reductions="float32")}},
    "all rounded": {"precision": FLOAT16 | {"ops": ROUNDED}, **SCALED},
    "keras": {"precision": BFLOAT16 | {"policy": "keras"}},
    "autocast": {"precision": FLOAT16 | {"policy": "autocast"}, **SCALED},
    "half weights": {"precision": BFLOAT16 | {"mode": "full"}},
    "float32 stream": {"precision": FLOAT16 | {"policy": "float32_stream"}, **SCALED},
    "recomputed": {"precision": BFLOAT16, "activation_checkpointing": True, "ema": {"decay": 0.9}},
    "float32": {},
}
"""With dropout, and fused attention unless they say otherwise."""
HALF = dict.fromkeys(("linear", "layer_norm", "gelu", "tanh", "dropout"), "half")
FLOAT32 = dict.fromkeys(("layer_norm", "gelu", "tanh", "dropout"), "float32")
PRODUCTS = dict.fromkeys(("linear", "matmul", "softmax", "layer_norm", "add"), "float32")
FUSED = "scaled_dot_product_attention"
TYPES: dict[str, dict[str, str]] = {
    "copies": HALF | {FUSED: "half", "embedding": "float32", "add": "float32 half"},
    "scaled copies": HALF
    | {"matmul": "half", "softmax": "half", "embedding": "float32", "div": "half"},
    "lookups in half": HALF | {FUSED: "half", "embedding": "float32", "add": "half"},
    "other types": HALF | PRODUCTS,
    "float32 layers": FLOAT32 | {"linear": "half", FUSED: "half", "add": "half"},
    "all rounded": HALF | {"linear": "float32", FUSED: "float32", "add": "float32 half"},
    "keras": HALF | {FUSED: "half", "embedding": "float32", "add": "half"},
    "autocast": HALF | {"layer_norm": "float32", FUSED: "half", "add": "float32"},
    "half weights": HALF | {FUSED: "half", "embedding": "half", "add": "float32 half"},
    "float32 stream": FLOAT32 | {"linear": "half", FUSED: "half", "add": "float32"},
    "recomputed": HALF | {FUSED: "half", "embedding": "float32"},
    "float32": FLOAT32 | {"linear": "float32", FUSED: "float32", "add": "float32"},
}
"""What operations return; a cast is an operation of its own."""
NAMES = cases(RECIPES, quick=["copies", "scaled copies"], reason="more types of operations")
CALLS = [(4, 8, 32), (4, 2, 8, 8), (4, 8, 32), (4, 8, 32), (4, 32)]
"""What dropout gets in a micro-batch, in order; the second call is that of attention."""


class Pair:
    """Scripts of both frameworks, trained from the same weights with the same masks."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        train, evaluate = folder / "train.npz", folder / "eval.npz"
        start = folder / "weights.safetensors"
        model: Any = tiny_recipe(version=2, model=MODEL).model
        save(start, bert_weights(model, 3, 0.02))
        data = ("--train", write_rows(train, 44), "--eval", write_rows(evaluate, 10, seed=1))
        self.flags = (*data, "--weights", start, "--windows", WINDOWS)
        self.runs = Lazy(self._trained)

    def _trained(self, name: str) -> dict[str, Run]:
        """Train with PyTorch, and with Paddle in one go and in parts."""
        recipe = tiny_recipe(**{"version": 2, "model": MODEL} | RECIPES[name])
        found: dict[str, Run] = {}
        for framework in ("torch", "paddle"):
            folder = self.folder / f"{name} {framework}"
            script = emit(recipe, framework, folder) / "train.py"
            runs = [asked(script, folder / "whole", self.flags, manifest=True, record=[0])]
            if framework == "paddle":
                runs.append(asked(script, folder / "parts", self.flags, resume=2))
            made = masked(framework, folder, runs, emulate=name != "float32")
            found |= {f"{framework} {run}": result for run, result in made.items()}
        return found


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    return Pair(tmp_path_factory.mktemp("stored"))


def half_of(name: str) -> str:
    half: str = RECIPES[name].get("precision", {}).get("compute_dtype", "none")
    return half


@pytest.mark.parametrize("name", NAMES)
def test_operations_return_what_the_recipe_says(pair: Pair, name: str) -> None:
    manifest = observe_runs.manifest(pair.runs[name]["paddle whole"].output / "observed")
    found = {
        operation: {entry["out"].replace(half_of(name), "half") for entry in entries}
        for of_kind in manifest["operations"].values()
        for operation, entries in of_kind.items()
    }
    expected = TYPES[name] | {"cross_entropy": "float32"}
    for operation, types in expected.items():
        assert found[operation] == set(types.split()), operation
    fused = FUSED in expected
    assert (FUSED in found, "softmax" in found, "matmul" in found) == (fused, not fused, not fused)
    attention = manifest["operations"]["matmul"].get(FUSED, [])
    assert [entry["count"] for entry in attention] == [1] * fused


def test_nothing_but_ids_sum_and_logits_is_cast_behind_half_copies(pair: Pair) -> None:
    manifest = observe_runs.manifest(pair.runs["copies"]["paddle whole"].output / "observed")
    casts = manifest["operations"]["casts"]["cast"]
    found = {(*entry["in"], entry["out"]): entry["count"] for entry in casts}
    assert found == {("float32", "bfloat16"): 1, ("bfloat16", "float32"): 1}


@pytest.mark.parametrize("name", NAMES)
def test_training_agrees_with_pytorch(pair: Pair, name: str) -> None:
    runs, unit = pair.runs[name], UNITS[half_of(name)]
    ours, theirs = runs["paddle whole"], runs["torch whole"]
    for row, other in zip(ours.trace, theirs.trace, strict=True):
        assert row["loss"] == pytest.approx(other["loss"], rel=unit / 4)
        assert row["grad_norm"] == pytest.approx(other["grad_norm"], rel=4 * unit)
    evaluated, expected = (run.status["eval"]["loss"] for run in (ours, theirs))
    assert evaluated == pytest.approx(expected, rel=unit / 4)


@pytest.mark.parametrize("name", NAMES)
def test_dropout_is_given_the_masks_of_pytorch(pair: Pair, name: str) -> None:
    ours, theirs = (given(pair.runs[name][run]) for run in ("paddle whole", "torch whole"))
    assert [call.shape for call in ours.calls] == CALLS
    check = compare_masks(ours, theirs)
    assert check.result == "pass", check


@pytest.mark.parametrize("name", NAMES)
def test_resuming_changes_nothing(pair: Pair, name: str) -> None:
    whole, parts = (pair.runs[name][run] for run in ("paddle whole", "paddle parts"))
    same(whole, parts)
