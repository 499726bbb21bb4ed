"""Emitted TensorFlow scripts with the rarer settings: half weights, averages, tokens, Keras 2."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from crosscast_parity.inputs.weights import bert_weights, save
from frameworks.emitted_script import BFLOAT16, FLOAT16, TINY, emit, tiny_recipe, write_rows
from frameworks.script_runs import Run, apart, calls
from tiers import Lazy, cases, exhaustive

pytestmark = pytest.mark.tensorflow

DROPOUT: dict[str, Any] = {"model": TINY["model"] | {"dropout": 0.1}}
RATE = {"learning_rate": 1e-3}
FULL = {"mode": "full", "compute_dtype": "float16"}
LION = RATE | {"name": "lion", "weight_decay": 0.1, "no_decay": ["bias", "layer_norm"]}
RECOMPUTED: dict[str, Any] = {"activation_checkpointing": True}
HALF = {"ops": dict.fromkeys(("pointwise", "reductions", "embeddings", "losses"), "compute")}
PLAIN: dict[str, Any] = {"optimizer": LION, "accumulation": {"normalize_by": "token"}}
GROUPS = {"groups": [{"parameters": ["bert.embeddings.*"], "rate_factor": 0.0}]}
STORED: dict[str, Any] = DROPOUT | {"version": 2}
ROUNDED = {"ops": {"losses": "float32_stored_half", "pointwise": "float32_stored_half"}}
KERAS2 = "tensorflow@2.15"
REWRITTEN = "tensorflow@graph-rewrite"
REWRITE: dict[str, Any] = {"precision": FLOAT16, "loss_scaling": {"mode": "none"}}
VARIANTS: dict[str, dict[str, Any]] = {
    "full": DROPOUT
    | {"precision": FULL, "optimizer": RATE | {"name": "adafactor"}, "ema": {"decay": 0.5}},
    "plain": PLAIN | {"ema": {"decay": 0.5}},
    "recomputed": PLAIN | RECOMPUTED,
    "dropout": DROPOUT,
    "recomputed dropout": DROPOUT | RECOMPUTED,
    "half operations": DROPOUT | {"precision": FLOAT16 | HALF, "optimizer": RATE | {"name": "sgd"}},
    "bfloat16 losses": {"precision": BFLOAT16 | {"ops": {"losses": "compute"}}},
    "stored half": STORED | {"precision": FLOAT16, "accumulation": {"normalize_by": "token"}},
    "stored half recomputed": STORED
    | RECOMPUTED
    | {"precision": BFLOAT16 | ROUNDED, "ema": {"decay": 0.5}},
    "stored half weights": STORED | {"precision": FULL | {"compute_dtype": "bfloat16"}},
    "keras2 stored half": STORED | {"precision": FLOAT16, "optimizer": LION},
    "keras2": DROPOUT | {"precision": FLOAT16, "optimizer": RATE | GROUPS | {"name": "lamb"}},
    "keras2 recomputed": DROPOUT | RECOMPUTED,
    "rewrite": REWRITE,
    "float32": {},
    "keras3": {},
}
TARGETS = {
    "keras2": KERAS2,
    "keras2 recomputed": KERAS2,
    "keras2 stored half": KERAS2,
    "float32": KERAS2,
    "rewrite": REWRITTEN,
}
WINDOWS = 8
GPU_ONLY = "    if settings.half and not used:\n"


def let_a_cpu_do(script: Path) -> None:
    """Take out of a script with a graph rewrite that it refuses a CPU."""
    module = script.parent / "runtime" / "device.py"
    text = module.read_text()
    assert text.count(GPU_ONLY) == 1
    module.write_text(text.replace(GPU_ONLY, "    if False:\n"))


def flags_of(folder: Path) -> tuple[object, ...]:
    """Return the flags of the runs of a variant."""
    data = ("--train", folder / "train.npz", "--eval", folder / "eval.npz")
    return (*data, "--device", "cpu", "--threads", 1, "--windows", WINDOWS)


def trained(name: str, folder: Path, *runs: tuple[str, tuple[object, ...]]) -> list[Run]:
    """Call the script of a variant, which is in a folder, for every output and further flags."""
    framework = "tensorflow" if name not in TARGETS else "tf_keras"
    listed = [(folder / output, (*flags_of(folder), *more)) for output, more in runs]
    found = apart(folder / "script" / "train.py", framework, listed)
    assert [run.code for run in found] == [0] * len(runs), found
    return found


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Run]:
    """Every variant that is asked for, trained in one go."""

    def train(name: str) -> Run:
        folder = tmp_path_factory.mktemp(name.replace(" ", "-"))
        recipe = tiny_recipe(**VARIANTS[name])
        script = emit(recipe, TARGETS.get(name, "tensorflow"), folder / "script") / "train.py"
        if name == "rewrite":
            let_a_cpu_do(script)
        assert recipe.model.kind == "bert"
        save(folder / "initial.safetensors", bert_weights(recipe.model, 3, 0.02))
        write_rows(folder / "train.npz", 72)
        write_rows(folder / "eval.npz", 20, seed=1)
        (run,) = trained(name, folder, ("whole", ("--weights", folder / "initial.safetensors")))
        return run

    return Lazy(train)


@pytest.mark.parametrize(
    "name", cases(VARIANTS, quick=[], reason="resuming with types, dropout and dialects")
)
def test_resuming_changes_nothing(ran: Mapping[str, Run], name: str) -> None:
    """With a break after window 3."""
    whole = ran[name]
    folder = whole.output.parent
    first = ("--weights", folder / "initial.safetensors", "--windows", 3)
    _, parts = trained(name, folder, ("parts", first), ("parts", ("--resume",)))
    assert whole.trace == parts.trace
    assert whole.status == parts.status
    for file in ("checkpoint.safetensors", "model.safetensors"):
        first, other = load_file(whole.output / file), load_file(parts.output / file)
        assert first.keys() == other.keys()
        assert all(first[key].tobytes() == other[key].tobytes() for key in first)


def checkpoint(run: Run) -> dict[str, np.ndarray]:
    arrays: dict[str, np.ndarray] = load_file(run.output / "checkpoint.safetensors")
    return arrays


@exhaustive("half weights and averages; `make test` has test_tensorflow_frozen")
def test_checkpoints_hold_float32_weights_and_canonical_moments(ran: Mapping[str, Run]) -> None:
    arrays = checkpoint(ran["full"])
    assert {array.dtype for array in arrays.values()} == {np.dtype(np.float32)}
    kernel = "bert.encoder.layer.0.intermediate.dense.weight"
    assert arrays[f"model/{kernel}"].shape == (64, 32)
    assert arrays[f"optimizer/row_var/{kernel}"].shape == (64, 1)
    assert arrays[f"optimizer/col_var/{kernel}"].shape == (1, 32)
    words = "bert.embeddings.word_embeddings.weight"
    assert arrays[f"optimizer/row_var/{words}"].shape == (128, 1)
    assert arrays["optimizer/variance/classifier.bias"].shape == (3,)
    halves = arrays[f"model/{kernel}"].astype(np.float16).astype(np.float32)
    assert (halves != arrays[f"model/{kernel}"]).any()


@pytest.mark.parametrize(
    "name",
    cases(["full", "plain"], quick=[], reason="averages; `make test` has test_tensorflow_frozen"),
)
def test_averages_are_written_and_evaluated(ran: Mapping[str, Run], name: str) -> None:
    run = ran[name]
    averages, weights = load_file(run.output / "ema.safetensors"), run.weights
    assert averages.keys() == weights.keys()
    held = checkpoint(run)
    for key, average in averages.items():
        assert average.tobytes() == held[f"ema/{key}"].tobytes()
    assert any((averages[key] != weights[key]).any() for key in weights)
    scores = run.status["eval"]
    assert scores.keys() == {"loss", "accuracy", "ema_loss", "ema_accuracy"}
    assert 0 < abs(scores["ema_loss"] - scores["loss"]) < 0.05


@exhaustive("means of labels in the trace of a script")
def test_tokens_are_counted(ran: Mapping[str, Run]) -> None:
    assert [row["tokens"] for row in ran["plain"].trace] == [16, 16, 16, 16, 8, 16, 16, 16]


@exhaustive("recomputed layers; `make test` has tests/gotchas/test_recomputation.py")
@pytest.mark.parametrize(
    ("recomputed", "plain"), [("recomputed", "plain"), ("recomputed dropout", "dropout")]
)
def test_recomputed_activations_change_nothing(
    ran: Mapping[str, Run], recomputed: str, plain: str
) -> None:
    first, other = ran[recomputed], ran[plain]
    for key in ("loss", "grad_norm"):
        found, expected = ([row[key] for row in run.trace] for run in (first, other))
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@exhaustive("dropout of both generations of Keras")
def test_keras_2_draws_the_masks_of_keras_3(ran: Mapping[str, Run]) -> None:
    old, new = (ran[name] for name in ("keras2 recomputed", "dropout"))
    for key in ("loss", "grad_norm"):
        found, expected = ([row[key] for row in run.trace] for run in (old, new))
        np.testing.assert_allclose(found, expected, rtol=1e-5)


@exhaustive("half operations")
def test_operations_in_half_round(ran: Mapping[str, Run]) -> None:
    losses = [row["loss"] for row in ran["half operations"].trace]
    assert all(1.0 < loss < 1.2 for loss in losses)
    # A row's cross-entropy in float16 is a multiple of 2**-10, and 16 of them are averaged.
    assert all((loss * 2**14).is_integer() for loss in losses)


@exhaustive("half operations")
def test_evaluation_rounds_its_losses_as_training_does(ran: Mapping[str, Run]) -> None:
    rounded, exact = (ran[name].status["eval"]["loss"] for name in ("half operations", "plain"))
    assert (20 * rounded * 2**10).is_integer()  # 20 rows, summed in float32
    coarse = ran["bfloat16 losses"].status["eval"]["loss"]
    assert (20 * coarse * 2**7).is_integer()
    stored = ran["stored half recomputed"].status["eval"]["loss"]
    assert (20 * stored * 2**7).is_integer()
    assert not (20 * exact * 2**10).is_integer()


@exhaustive("a script for Keras 2 with groups; `make test` has test_steps")
def test_a_group_without_a_rate_stays(ran: Mapping[str, Run]) -> None:
    run = ran["keras2"]
    initial = load_file(run.output.parent / "initial.safetensors")
    for name, array in run.weights.items():
        assert (array == initial[name]).all() == name.startswith("bert.embeddings."), name


@exhaustive("float32 of both generations of Keras")
def test_keras_2_does_what_keras_3_does(ran: Mapping[str, Run]) -> None:
    old, new = (ran[name] for name in ("float32", "keras3"))
    for key in ("loss", "grad_norm"):
        found, expected = ([row[key] for row in run.trace] for run in (old, new))
        np.testing.assert_allclose(found, expected, rtol=1e-5)
    for name, array in new.weights.items():
        np.testing.assert_allclose(old.weights[name], array, rtol=0, atol=1e-6, err_msg=name)


@exhaustive("the graph rewrite where it may not run")
def test_the_graph_rewrite_would_be_float32_on_a_cpu(ran: Mapping[str, Run]) -> None:
    assert ran["rewrite"].trace == ran["float32"].trace


@pytest.mark.parametrize(
    "device", cases(["auto", "cpu"], quick=["auto"], reason="a CPU that was asked for")
)
def test_the_graph_rewrite_refuses_a_cpu(tmp_path: Path, device: str) -> None:
    script = emit(tiny_recipe(**REWRITE), REWRITTEN, tmp_path / "script") / "train.py"
    flags = ("--train", write_rows(tmp_path / "train.npz", 16), "--eval", tmp_path / "train.npz")
    (run,) = calls(script, "tf_keras", [(tmp_path / "out", (*flags, "--device", device))])
    assert (run.code, run.traceback) == (3, "")
    message = "the graph rewrite computes in half precision on a GPU only (CC371)"
    assert run.stderr == f"cannot_run: {message}\n"
    status = run.status
    assert (status["status"], status["exit_code"]) == ("cannot_run", 3)
    assert (status["message"], status["windows"]) == (message, 0)
    assert not (tmp_path / "out" / "trace.jsonl").exists()


@exhaustive("a recipe that needs no rewrite")
def test_a_float32_recipe_of_the_graph_rewrite_runs_on_a_cpu(tmp_path: Path) -> None:
    script = emit(tiny_recipe(), REWRITTEN, tmp_path / "script") / "train.py"
    assert "enable_graph_rewrite" not in script.read_text()
    flags = ("--train", write_rows(tmp_path / "train.npz", 16), "--eval", tmp_path / "train.npz")
    (run,) = calls(script, "tf_keras", [(tmp_path / "out", (*flags, "--windows", 1))])
    assert (run.code, run.traceback) == (0, ""), run
