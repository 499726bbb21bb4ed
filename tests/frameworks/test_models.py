"""The emitted BERT models: clean files, one arithmetic, the same types in all frameworks."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from crosscast.recipe.bert_shapes import bert_shapes
from crosscast_parity.inputs.weights import Weights, bert_weights, save
from frameworks import bert_oracle
from frameworks.emitted_model import Model, render
from frameworks.emitted_script import BFLOAT16
from frameworks.names import FRAMEWORKS, MARKS, QUICK, marked
from frameworks.subprocesses import start
from tiers import cases, exhaustive

EACH = pytest.mark.parametrize("framework", cases(marked(), QUICK, "JAX's model"))
MODEL = Model()
# The same weights, but every LayerNorm epsilon and the number of heads show in the results.
# Paddle refuses an epsilon above 1e-3.
DROPOUT_MODEL = replace(MODEL, dropout=0.5, layer_norm_eps=1e-3, attention_heads=4)
RENDERED = {
    "tiny": MODEL,
    "tiny with dropout": replace(MODEL, dropout=0.1),
    "BERT-large": Model(30522, 1024, 24, 16, 4096, 512, 2, 2, 0.1, 1e-12, 0.02),
    "wide": Model(1_000_000, 8192, 100, 128, 32768, 131072, 16, 1000, 1e-05, 1e-05, 1.0),
    "least": Model(2, 1, 1, 1, 1, 2, 1, 2, 0.0, 0.001, 0.5),
}
STYLES = pytest.mark.parametrize("style", ["bert", "stress"])


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize(
    "name", cases(RENDERED, quick=["BERT-large", "wide", "least"], reason="models of more sizes")
)
def test_a_rendered_file_is_what_ruff_would_write(framework: str, name: str) -> None:
    model = RENDERED[name]
    text = render(framework, model)
    for command in (["check"], ["format", "--check"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--isolated", "--no-cache", "-"]
        done = subprocess.run(ruff, input=text, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stdout + done.stderr
    assert ("dropout" in text.lower()) == model.has_dropout
    assert "crosscast" not in text


@dataclass(frozen=True)
class Results:
    """What a model runner wrote; see `model_job`."""

    arrays: Weights
    types: dict[str, dict[str, list[str]]]

    def gradients(self, case: str) -> Weights:
        start = f"{case}/grad/"
        return {n.removeprefix(start): a for n, a in self.arrays.items() if n.startswith(start)}


Run = Callable[[str], Results]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Run a framework once and keep what it found."""
    done: dict[str, Results] = {}

    def results(framework: str) -> Results:
        if framework not in done:
            done[framework] = run_process(framework, tmp_path_factory.mktemp(framework))
        return done[framework]

    return results


IN_THE_MODEL = {"jax": {"precision": BFLOAT16}}
"""What a model holds that is around it elsewhere."""


def run_process(framework: str, folder: Path) -> Results:
    for name, model in (("plain", MODEL), ("dropout", DROPOUT_MODEL)):
        (folder / name).mkdir()
        (folder / name / "model.py").write_text(
            render(framework, model, **IN_THE_MODEL.get(framework, {})), "utf-8"
        )
    save(folder / "bert.safetensors", weights("bert"))
    save(folder / "stress.safetensors", weights("stress"))
    np.savez(folder / "batch.npz", **BATCH)  # type: ignore[arg-type]
    script = Path(__file__).with_name(f"run_model_{framework}.py")
    done = start(script, framework, folder)
    assert done.returncode == 0, done.stderr
    with np.load(folder / f"{framework}.npz", allow_pickle=False) as file:
        arrays = dict(file)
    return Results(arrays, json.loads((folder / f"{framework}.json").read_text("utf-8")))


def weights(style: str) -> Weights:
    return bert_weights(MODEL, 3, MODEL.init_std, "stress" if style == "stress" else "bert")


def batch() -> Weights:
    rng = np.random.default_rng(0)
    lengths = np.array([12, 7, 3, 1])
    arrays = {
        "input_ids": rng.integers(0, MODEL.vocab_size, (4, 12)),
        "attention_mask": np.arange(12) < lengths[:, None],
        "token_type_ids": rng.integers(0, MODEL.type_vocab_size, (4, 12)),
        "labels": rng.integers(0, MODEL.labels, 4),
    }
    return {name: array.astype(np.int32) for name, array in arrays.items()}


BATCH = batch()


def oracle(weights: Weights, batch: Weights, model: Model = MODEL) -> np.ndarray:
    return bert_oracle.logits(
        weights, batch, layers=model.layers, heads=model.attention_heads, eps=model.layer_norm_eps
    )


@EACH
def test_parameters_have_the_hugging_face_names_and_shapes(framework: str, run: Run) -> None:
    fresh = {n: a for n, a in run(framework).arrays.items() if n.startswith("fresh/")}
    shapes = {name.removeprefix("fresh/"): array.shape for name, array in fresh.items()}
    assert shapes == bert_shapes(MODEL)


@EACH
def test_fresh_weights_are_plain_normal_and_neutral(framework: str, run: Run) -> None:
    arrays = run(framework).arrays
    drawn = []
    for name in bert_shapes(MODEL):
        array = arrays[f"fresh/{name}"]
        if name.endswith("LayerNorm.weight"):
            assert (array == 1).all(), name
        elif name.endswith(".bias"):
            assert not array.any(), name
        else:
            drawn.append(array.ravel())
    values = np.concatenate(drawn)
    assert values.std() == pytest.approx(MODEL.init_std, rel=0.03)
    assert abs(values.mean()) < 0.03 * MODEL.init_std
    beyond = (np.abs(values) > 2 * MODEL.init_std).mean()
    assert beyond == pytest.approx(0.0455, rel=0.15)  # not truncated, not uniform
    assert len(np.unique(values)) > 0.99 * len(values)  # no two layers share their numbers


@EACH
@STYLES
def test_float32_logits_and_loss_are_those_of_the_oracle(
    framework: str, style: str, run: Run
) -> None:
    arrays = run(framework).arrays
    expected = oracle(weights(style), BATCH)
    np.testing.assert_allclose(arrays[f"{style}/float32/logits"], expected, rtol=0, atol=2e-6)
    loss = bert_oracle.cross_entropy(expected, BATCH["labels"])
    assert float(arrays[f"{style}/float32/loss"]) == pytest.approx(loss, abs=2e-6)


@EACH
@STYLES
def test_float32_gradients_are_slopes_of_the_oracle(framework: str, style: str, run: Run) -> None:
    gradients = run(framework).gradients(f"{style}/float32")
    base = {name: array.astype(np.float64) for name, array in weights(style).items()}
    size, rng = 1e-5, np.random.default_rng(1)
    for name, gradient in gradients.items():
        direction = rng.standard_normal(gradient.shape)
        ends = [base | {name: base[name] + sign * size * direction} for sign in (1.0, -1.0)]
        up, down = (bert_oracle.cross_entropy(oracle(w, BATCH), BATCH["labels"]) for w in ends)
        slope = float((gradient * direction).sum())
        tolerance = 1e-4 * float(np.linalg.norm(gradient)) + 1e-7
        assert slope == pytest.approx((up - down) / (2 * size), abs=tolerance), name


@STYLES
@pytest.mark.parametrize(
    "frameworks",
    [
        pytest.param(QUICK, marks=MARKS, id="quick"),
        pytest.param(FRAMEWORKS, marks=[*MARKS, exhaustive("JAX's model")], id="all"),
    ],
)
def test_float32_gradients_agree_between_frameworks(
    style: str, frameworks: tuple[str, ...], run: Run
) -> None:
    first, *others = (flat(run(name).gradients(f"{style}/float32")) for name in frameworks)
    for other in others:
        assert relative(other, first) < 5e-6


def flat(arrays: Weights) -> np.ndarray:
    return np.concatenate([arrays[name].ravel() for name in bert_shapes(MODEL)])


def relative(value: np.ndarray, expected: np.ndarray) -> float:
    return float(np.linalg.norm(value - expected) / np.linalg.norm(expected))


@EACH
def test_rows_of_padding_only_stay_finite(framework: str, run: Run) -> None:
    padding = BATCH | {"attention_mask": np.zeros_like(BATCH["attention_mask"])}
    found = run(framework).arrays["padding/logits"]
    np.testing.assert_allclose(found, oracle(weights("stress"), padding), rtol=0, atol=2e-6)


HALF_OPERATIONS = {
    "torch": {"linear", "matmul", "cuda linear", "cuda matmul"},
    "tensorflow": {"Dense", "matmul"},
    "jax": {"matmul"},
    "paddle": {"matmul"},  # this build of Paddle adds the bias in an operation of its own
}
FLOAT32_OPERATIONS = {
    "torch": {
        f"{device}{name}"
        for device in ("", "cuda ")
        for name in ("add", "div", "embedding", "gelu", "layer_norm", "softmax", "stream", "tanh")
    },
    "jax": {"embedding", "gelu", "layer_norm", "softmax", "tanh"},
    "tensorflow": {"Embedding", "LayerNormalization", "gelu", "softmax", "stream", "tanh"},
    "paddle": {"add", "embedding", "gelu", "layer_norm", "scale", "softmax", "stream", "tanh"},
}


@EACH
def test_types_of_operations(framework: str, run: Run) -> None:
    types = run(framework).types
    assert types.keys() >= {"float32", "bfloat16"}
    for dtype, found in types.items():
        expected = {name: [dtype] for name in HALF_OPERATIONS[framework]}
        expected |= {name: ["float32"] for name in FLOAT32_OPERATIONS[framework]}
        assert {name: found[name] for name in expected} == expected, dtype


@pytest.mark.parametrize(("dtype", "width"), [("float16", 1.0), ("bfloat16", 8.0)])
@pytest.mark.parametrize(
    "framework",
    cases(marked("torch", "tensorflow", "jax"), (*QUICK[:1], "tensorflow"), "JAX's model"),
)
def test_half_results_are_float32_results_within_half_rounding(
    framework: str, dtype: str, width: float, run: Run
) -> None:
    results = run(framework)
    half, full = (results.arrays[f"stress/{kind}/logits"] for kind in (dtype, "float32"))
    assert 1e-5 < np.abs(half - full).max() < 4e-3 * width
    half, full = (flat(results.gradients(f"stress/{kind}")) for kind in (dtype, "float32"))
    assert 1e-5 < relative(half, full) < 6e-3 * width


@EACH
def test_dropout_acts_in_training_only(framework: str, run: Run) -> None:
    arrays = run(framework).arrays
    without = oracle(weights("stress"), BATCH, DROPOUT_MODEL)
    np.testing.assert_allclose(arrays["dropout/eval"], without, rtol=0, atol=2e-6)
    first, second = arrays["dropout/train 1"], arrays["dropout/train 2"]
    assert np.isfinite([first, second]).all()
    assert min(np.abs(a - b).max() for a, b in ((first, second), (first, without))) > 1e-2
