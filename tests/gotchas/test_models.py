"""Without its explicit constants and types the emitted BERT is another model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crosscast_parity.inputs.weights import Weights, bert_weights, save
from frameworks import bert_oracle
from frameworks.emitted_model import Model
from frameworks.emitted_script import BFLOAT16, TINY, emit, tiny_recipe
from frameworks.subprocesses import run_python
from gotchas.mutation import ALL, JAX, PADDLE, TENSORFLOW, TORCH, Mutation

SHAPE = Model(vocab_size=128)
FAULTS = (
    Mutation(11, "epsilon of Keras", "bert", (("eps=LAYER_NORM_EPS", "eps=1e-3"),), TORCH),
    Mutation(11, "epsilon of Keras", "bert", (("epsilon=LAYER_NORM_EPS, ", ""),), TENSORFLOW),
    Mutation(11, "epsilon of Keras", "bert", (("epsilon=LAYER_NORM_EPS", "epsilon=1e-3"),), PADDLE),
    Mutation(11, "gelu by tanh", "bert", (("F.gelu(", 'nn.GELU("tanh")('),), TORCH),
    Mutation(11, "gelu by tanh", "bert", (("tf.nn.gelu(", "keras.ops.gelu("),), TENSORFLOW),
    Mutation(11, "gelu by tanh", "bert", (("F.gelu(", "nn.GELU(True)("),), PADDLE),
    Mutation(
        11, "epsilon of Keras", "bert", (('"epsilon": LAYER_NORM_EPS', '"epsilon": 1e-3'),), JAX
    ),
    Mutation(11, "gelu by tanh", "bert", ((", approximate=False", ""),), JAX),
    Mutation(
        18,
        "padding row is zero",
        "bert",
        (
            (
                "nn.Embedding(VOCAB_SIZE, HIDDEN_SIZE)",
                "nn.Embedding(VOCAB_SIZE, HIDDEN_SIZE, padding_idx=0)",
            ),
        ),
        PADDLE,
    ),
)
TYPE_FAULTS = (
    Mutation(19, "gelu in half", "bert", (('["dense"](x).float())', '["dense"](x))'),), TORCH),
    Mutation(
        19,
        "gelu in half",
        "bert",
        (("= float32(self.intermediate_dense(x))", "= self.intermediate_dense(x)"),),
        TENSORFLOW,
    ),
    Mutation(
        19, "gelu in half", "bert", (('["dense"](x).astype(jnp.float32)', '["dense"](x)'),), JAX
    ),
    Mutation(
        19,
        "softmax in half",
        "bert",
        (("q, k).astype(jnp.float32)", "q, k)"), ("+ mask", "+ mask.astype(HALF)")),
        JAX,
    ),
)
FLOAT32 = {
    TORCH: ("gelu", "cuda gelu", "softmax"),
    TENSORFLOW: ("gelu", "softmax"),
    JAX: ("gelu", "softmax"),
}


def weights() -> Weights:
    return bert_weights(SHAPE, 3, SHAPE.init_std, "stress")


def batch() -> Weights:
    rng = np.random.default_rng(0)
    ids = rng.integers(0, SHAPE.vocab_size, (4, 12))
    ids[:, 5] = 0  # the padding row, where it is not masked
    arrays = {
        "input_ids": ids,
        "attention_mask": np.arange(12) < np.array([12, 9, 8, 7])[:, None],
        "token_type_ids": rng.integers(0, SHAPE.type_vocab_size, (4, 12)),
    }
    return {name: array.astype(np.int32) for name, array in arrays.items()}


Results = Callable[[str], dict[str, dict[str, Any]]]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """All models of a framework, whole and faulty, in one process."""
    done: dict[str, dict[str, dict[str, Any]]] = {}

    def of(target: str) -> dict[str, dict[str, Any]]:
        if target not in done:
            done[target] = run_all(target, tmp_path_factory.mktemp(target))
        return done[target]

    return of


def run_all(target: str, root: Path) -> dict[str, dict[str, Any]]:
    recipe = tiny_recipe(precision=BFLOAT16, model=TINY["model"] | {"layers": SHAPE.layers})
    faults = [m for m in (*FAULTS, *TYPE_FAULTS) if m.target == target]
    folders = ["whole", *(m.name for m in faults)]
    for name in folders:
        model = emit(recipe, target, root / name) / "model.py"
        for fault in faults:
            if fault.name == name:
                model.write_text(fault.apply(model.read_text()))
        save(root / name / "weights.safetensors", weights())
        np.savez(root / name / "batch.npz", **batch())  # type: ignore[arg-type]
    program = Path(__file__).with_name("run_models.py")
    found = run_python(program, target, target, *(root / name for name in folders))
    return {name: found[str(root / name)] for name in folders}


def error(result: dict[str, Any]) -> float:
    """Return the largest error of a logit against the oracle, by the largest logit."""
    expected = bert_oracle.logits(
        weights(), batch(), layers=SHAPE.layers, heads=SHAPE.attention_heads, eps=1e-12
    )
    return float(np.abs(np.array(result["logits"]) - expected).max() / np.abs(expected).max())


def marked(mutation: Mutation) -> Any:
    return pytest.param(mutation, marks=getattr(pytest.mark, mutation.target), id=mutation.name)


@pytest.mark.parametrize(
    "target", [pytest.param(name, marks=getattr(pytest.mark, name)) for name in ALL]
)
def test_the_whole_model_is_the_oracle(results: Results, target: str) -> None:
    whole = results(target)["whole"]
    assert error(whole) < 1e-5
    for operation in FLOAT32.get(target, ()):
        assert whole["types"][operation] == ["float32"], operation


@pytest.mark.parametrize("fault", [marked(m) for m in FAULTS])
def test_without_the_constant_it_is_not(results: Results, fault: Mutation) -> None:
    assert error(results(fault.target)[fault.name]) > 1e-4


@pytest.mark.parametrize("fault", [marked(m) for m in TYPE_FAULTS])
def test_without_the_casts_types_are_others(results: Results, fault: Mutation) -> None:
    types = results(fault.target)[fault.name]["types"]
    assert any(types[operation] != ["float32"] for operation in FLOAT32[fault.target])
