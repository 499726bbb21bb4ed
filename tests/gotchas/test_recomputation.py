"""Recomputed activations: the gradients of a model that keeps them, and less memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crosscast_parity.inputs.weights import bert_weights, save
from frameworks.emitted_model import Model
from frameworks.emitted_script import TINY, emit, tiny_recipe
from frameworks.subprocesses import run_python
from gotchas.mutation import ALL, JAX, PADDLE, TENSORFLOW, TORCH, Mutation
from tiers import cases, exhaustive

SHAPE: dict[str, Any] = TINY["model"] | {
    "dropout": 0.2,
    "max_positions": 96,
    "layers": 3,
    "attention_heads": 4,
}
ROWS, LENGTH = 96, 96
FUSED = {TENSORFLOW: 1e-6, JAX: 5e-6}
HALVES = {TORCH: ("float16", "bfloat16"), TENSORFLOW: ("float16", "bfloat16"), PADDLE: (), JAX: ()}
_KEEPS_NO_STATE = (("use_reentrant=False", "use_reentrant=False, preserve_rng_state=False"),)
FAULTS = {
    TORCH: Mutation(2, "random state is not restored", "bert", _KEEPS_NO_STATE, TORCH),
    PADDLE: Mutation(2, "random state is not restored", "bert", _KEEPS_NO_STATE, PADDLE),
    TENSORFLOW: Mutation(
        2,
        "dropout of Keras",
        "bert",
        (
            (
                "class EncoderLayer(",
                "STOCK = layers.Dropout(DROPOUT, seed=3)\n\n\nclass EncoderLayer(",
            ),
            (
                "    draws = tf.random.stateless_uniform(tf.shape(x), seed + [0, number])\n"
                "    return tf.where(draws < DROPOUT, tf.zeros_like(x), x / (1.0 - DROPOUT))\n",
                "    return STOCK(x, training=True)\n",
            ),
            (
                "        self.seed.assign_add([0, MASKS])\n",
                "        STOCK.seed_generator.state.assign(tf.cast(seed, tf.uint32))\n",
            ),
        ),
        TENSORFLOW,
    ),
}


@dataclass(frozen=True)
class Result:
    """What one micro-batch gave: see `run_recomputation`."""

    loss: float
    kept: int
    calls: list[int]
    gradients: dict[str, np.ndarray]


Trained = Callable[[str, str, str], Result]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """Train a variant (kept, recomputed, or one of them with the fault) in a dtype, once."""
    done: dict[tuple[str, str, str], Result] = {}

    def result(target: str, variant: str, dtype: str) -> Result:
        key = (target, variant, dtype)
        if key not in done:
            done[key] = run(*key, tmp_path_factory.mktemp(variant.replace(" ", "-")))
        return done[key]

    return result


def run(target: str, variant: str, dtype: str, folder: Path) -> Result:
    recipe = tiny_recipe(
        version=2,
        model=SHAPE | {"attention": "fused" if variant == "fused attention" else "explicit"},
        activation_checkpointing=variant.startswith("recomputed"),
    )
    assert recipe.model.kind == "bert"
    path = emit(recipe, target, folder) / "model.py"
    # Restoring the state is a matter of recomputation; drawing from a seed is not.
    if variant == "recomputed faulty" or (variant == "kept faulty" and target == TENSORFLOW):
        path.write_text(FAULTS[target].apply(path.read_text()))
    save(folder / "weights.safetensors", bert_weights(recipe.model, 3, 0.1))
    rng = np.random.default_rng(0)
    ids = rng.integers(0, SHAPE["vocab_size"], (ROWS, LENGTH)).astype(np.int32)
    ones = np.ones_like(ids)
    labels = (ids[:, 0] % 3).astype(np.int32)
    batch = {"input_ids": ids, "attention_mask": ones, "token_type_ids": ones, "labels": labels}
    np.savez(folder / "batch.npz", **batch)  # type: ignore[arg-type]
    program = Path(__file__).with_name("run_recomputation.py")
    found = run_python(program, target, target, folder, dtype)[f"{folder}/{dtype}"]
    with np.load(folder / f"{dtype}.npz", allow_pickle=False) as file:
        return Result(**found, gradients=dict(file))


def difference(result: Result, other: Result) -> float:
    """Return the largest difference of a gradient, by the largest gradient."""
    assert result.gradients.keys() == other.gradients.keys()
    assert len(result.gradients) == len(bert_weights(Model(layers=SHAPE["layers"]), 0, 1.0))
    largest = max(float(np.abs(array).max()) for array in other.gradients.values())
    pairs = [(array, other.gradients[name]) for name, array in result.gradients.items()]
    return max(float(np.abs(a - b).max()) for a, b in pairs) / largest


def marked(*values: str) -> Any:
    return pytest.param(*values, marks=getattr(pytest.mark, values[0]))


EACH = cases(
    [marked(name) for name in ALL],
    quick=[name for name in ALL if name != JAX],
    reason="recomputation in half precision, and in JAX",
)
TYPES = cases(
    [marked(name, dtype) for name in ALL for dtype in ("float32", *HALVES[name])],
    quick=[(name, "float32") for name in ALL if name != JAX],
    reason="recomputation in half precision, and in JAX",
)


@pytest.mark.parametrize(("target", "dtype"), TYPES)
def test_gradients_are_those_without_recomputation(
    trained: Trained, target: str, dtype: str
) -> None:
    recomputed, kept = trained(target, "recomputed", dtype), trained(target, "kept", dtype)
    assert recomputed.loss == kept.loss
    # Compilers may fuse operations of one of them and not of the other.
    assert difference(recomputed, kept) <= FUSED.get(target, 0.0)


@exhaustive("the mistake planted: other masks in recomputation")
@pytest.mark.parametrize("target", [marked(name) for name in FAULTS])
def test_with_other_masks_they_are_not(trained: Trained, target: str) -> None:
    faulty, kept = trained(target, "recomputed faulty", "float32"), "kept faulty"
    expected = trained(target, kept, "float32")
    assert faulty.loss == pytest.approx(expected.loss, rel=1e-6)  # so the loss does not reveal it
    assert difference(faulty, expected) > 1e-2


@pytest.mark.parametrize("target", EACH)
def test_only_inputs_of_layers_are_kept(trained: Trained, target: str) -> None:
    recomputed, kept = trained(target, "recomputed", "float32"), trained(target, "kept", "float32")
    assert recomputed.calls == [SHAPE["layers"]] * 2
    assert kept.calls == [SHAPE["layers"], 0]
    assert 0 < recomputed.kept < 0.5 * kept.kept


@exhaustive("attention of JAX, computed again")
@pytest.mark.jax
def test_attention_computed_again_keeps_less(trained: Trained) -> None:
    """The scores of all heads are most of what an explicit attention keeps."""
    fused, kept = (trained(JAX, variant, "float32") for variant in ("fused attention", "kept"))
    assert fused.loss == pytest.approx(kept.loss, rel=1e-6)
    assert difference(fused, kept) < 1e-5
    assert 0 < fused.kept < 0.7 * kept.kept
