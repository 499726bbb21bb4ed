"""Level L1d: the evaluation of a run, computed again from the files that it leaves."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crosscast.data.npz import Dataset
from crosscast.data.synthetic import nli_synthetic
from crosscast.recipe.document import CrossEntropy, Recipe
from crosscast.reference.rounding import round_to
from crosscast_parity.checks.check import Check
from crosscast_parity.inputs.weights import Weights, bert_weights, save
from crosscast_parity.levels.bert import Bert, _erf, row_losses
from crosscast_parity.levels.evaluation import (
    ROOM,
    check_evaluations,
    expected_evaluation,
    expected_of_losses,
)
from crosscast_parity.recipes.derived import bert_of
from crosscast_parity.recordings.status import Evaluation, read_status
from parity_fakes import make_recipe

MODEL = {"layers": 2, "hidden_size": 16, "attention_heads": 2, "intermediate_size": 32, "labels": 3}
BATCH = 4
ROWS = nli_synthetic(10, 16, 64, 3, split="eval")
HALF = {"mode": "mixed", "compute_dtype": "float16"}
Rows = dict[str, np.ndarray]


RECIPE = make_recipe(model=MODEL)
PLAIN = CrossEntropy()
WEIGHTS = bert_weights(bert_of(RECIPE), 5, style="stress")


def reported(
    weights: Weights, rows: Rows, dtype: Any = "float32", loss: CrossEntropy = PLAIN
) -> Evaluation:
    """What a correct script of a type reports: its arithmetic is that of the type."""
    logits = Bert(bert_of(RECIPE), weights, dtype).logits(rows)
    losses = row_losses(logits, rows["labels"], loss)
    right = logits.argmax(-1) == rows["labels"]
    return Evaluation(loss=float(losses.mean()), accuracy=float(right.mean()))


def judged(folder: Path, found: Evaluation | None, recipe: Recipe = RECIPE) -> dict[str, Check]:
    if not (folder / "model.safetensors").exists():
        save(folder / "model.safetensors", WEIGHTS)
    ROWS.save(folder / "eval.npz", force=True)
    checks = check_evaluations(recipe, folder, folder / "eval.npz", found)
    return {check.name: check for check in checks}


def failed(folder: Path, found: Evaluation, recipe: Recipe = RECIPE) -> set[str]:
    return {n for n, check in judged(folder, found, recipe).items() if check.result == "fail"}


def naive_logits(weights: Weights, ids: np.ndarray, types: np.ndarray) -> np.ndarray:
    """One row without padding, token by token, as the paper describes it."""
    w = {name.removeprefix("bert."): array.astype(float) for name, array in weights.items()}

    def dense(name: str, x: np.ndarray) -> np.ndarray:
        out: np.ndarray = w[f"{name}.weight"] @ x + w[f"{name}.bias"]
        return out

    def norm(name: str, x: np.ndarray) -> np.ndarray:
        y = (x - x.mean()) / math.sqrt(x.var() + 1e-12)
        out: np.ndarray = y * w[f"{name}.LayerNorm.weight"] + w[f"{name}.LayerNorm.bias"]
        return out

    tables = [w[f"embeddings.{kind}_embeddings.weight"] for kind in ("word", "position")]
    kinds = w["embeddings.token_type_embeddings.weight"]
    tokens = [
        norm("embeddings", tables[0][i] + tables[1][n] + kinds[t])
        for n, (i, t) in enumerate(zip(ids, types, strict=True))
    ]
    for number in range(2):
        layer = f"encoder.layer.{number}"
        q, k, v = (
            [dense(f"{layer}.attention.self.{part}", x) for x in tokens]
            for part in ("query", "key", "value")
        )
        after = []
        for place, x in enumerate(tokens):
            seen = []
            for head in (slice(0, 8), slice(8, 16)):
                scores = np.array([q[place][head] @ key[head] / math.sqrt(8) for key in k])
                shares = np.exp(scores) / np.exp(scores).sum()
                seen.append(sum(s * value[head] for s, value in zip(shares, v, strict=True)))
            mixed = dense(f"{layer}.attention.output.dense", np.concatenate(seen))
            x = norm(f"{layer}.attention.output", x + mixed)
            inner = dense(f"{layer}.intermediate.dense", x)
            inner = np.array([0.5 * y * (1 + math.erf(y / math.sqrt(2))) for y in inner])
            after.append(norm(f"{layer}.output", x + dense(f"{layer}.output.dense", inner)))
        tokens = after
    return dense("classifier", np.tanh(dense("pooler.dense", tokens[0])))


def test_the_forward_pass_is_that_of_bert() -> None:
    rows = ROWS.arrays()
    exact = Bert(bert_of(RECIPE), WEIGHTS).logits(rows)
    for number, mask in enumerate(rows["attention_mask"]):
        words = int(mask.sum())  # the padding behind them does not count
        wanted = naive_logits(
            WEIGHTS, rows["input_ids"][number, :words], rows["token_type_ids"][number, :words]
        )
        np.testing.assert_allclose(exact[number], wanted, rtol=1e-9, atol=1e-9)


def test_the_error_function() -> None:
    x = np.linspace(-8, 8, 4001)
    wanted = np.array([math.erf(value) for value in x])
    np.testing.assert_allclose(_erf(x), wanted, atol=1e-11)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_an_evaluation_in_the_type_of_the_recipe_passes(tmp_path: Path, dtype: str) -> None:
    precision = {"mode": "none"} if dtype == "float32" else {**HALF, "compute_dtype": dtype}
    scaling = {"mode": "none"} if dtype != "float16" else {"mode": "dynamic"}
    recipe = Recipe.model_validate(
        RECIPE.model_dump() | {"precision": precision, "loss_scaling": scaling}
    )
    found = judged(tmp_path, reported(WEIGHTS, ROWS.arrays(), dtype), recipe)
    assert {check.result for check in found.values()} == {"pass"}
    assert max(check.value or 0.0 for check in found.values()) < 0.5


def test_an_evaluation_in_half_of_a_float32_recipe_is_seen(tmp_path: Path) -> None:
    rows = ROWS.arrays()
    rounded = {name: round_to(array, "float16") for name, array in WEIGHTS.items()}
    for found in (
        reported(WEIGHTS, rows, "float16"),
        reported(WEIGHTS, rows, "bfloat16"),
        reported(rounded, rows),
    ):
        assert "evaluation loss" in failed(tmp_path, found)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("name", ["classifier.bias", "bert.embeddings.LayerNorm.bias"])
def test_weights_that_are_no_numbers_are_not_tested(
    tmp_path: Path, value: float, name: str
) -> None:
    broken = WEIGHTS | {name: np.full_like(WEIGHTS[name], value)}
    save(tmp_path / "model.safetensors", broken)
    found = judged(tmp_path, Evaluation(loss=None, accuracy=0.5))
    assert [check.result for check in found.values()] == ["not tested"]
    assert "not finite" in found["evaluation loss"].wording


def test_rows_that_are_left_out_are_seen(tmp_path: Path) -> None:
    whole = {name: array[: 2 * BATCH] for name, array in ROWS.arrays().items()}
    assert "evaluation loss" in failed(tmp_path, reported(WEIGHTS, whole))
    found = reported(WEIGHTS, whole)
    assert found.loss is not None
    over_all = replace(found, loss=found.loss * len(whole["labels"]) / len(ROWS))
    assert "evaluation loss" in failed(tmp_path, over_all)


def test_the_mean_of_batch_means_is_seen(tmp_path: Path) -> None:
    parts = [
        reported(WEIGHTS, {name: a[at : at + BATCH] for name, a in ROWS.arrays().items()})
        for at in range(0, len(ROWS), BATCH)
    ]
    losses = [part.loss for part in parts if part.loss is not None]
    found = Evaluation(loss=sum(losses) / len(losses), accuracy=parts[0].accuracy)
    assert "evaluation loss" in failed(tmp_path, found)


def test_another_metric_is_seen(tmp_path: Path) -> None:
    right = reported(WEIGHTS, ROWS.arrays())
    logits, labels = Bert(bert_of(RECIPE), WEIGHTS).logits(ROWS.arrays()), ROWS.labels
    best = np.argsort(logits, -1)
    others = (
        (best[:, -2:] == labels[:, None]).any(-1).mean(),
        (best[:, 0] == labels).mean(),
        (logits[: len(labels)].argmax(0)[labels] == labels).mean(),
    )
    for accuracy in {float(other) for other in others} - {right.accuracy}:
        assert failed(tmp_path, replace(right, accuracy=accuracy)) == {"evaluation accuracy"}
    assert len({float(other) for other in others} - {right.accuracy}) >= 2


def test_a_row_that_noise_decides_may_be_right_or_wrong() -> None:
    tied = WEIGHTS | {
        "classifier.weight": np.zeros_like(WEIGHTS["classifier.weight"]),
        "classifier.bias": np.zeros_like(WEIGHTS["classifier.bias"]),
    }
    expected = expected_evaluation(RECIPE, tied, ROWS.arrays())
    assert expected.accuracy_limit >= 1
    assert expected.loss == pytest.approx(math.log(3))


def test_labels_that_do_not_count_are_left_out() -> None:
    rows = {name: array.copy() for name, array in ROWS.arrays().items()}
    rows["labels"][7:] = -100
    seven = {name: array[:7] for name, array in ROWS.arrays().items()}
    expected = expected_evaluation(RECIPE, WEIGHTS, rows)
    assert expected.loss == pytest.approx(reported(WEIGHTS, seven).loss, abs=1e-6)


def test_averages_are_evaluated_from_their_own_file(tmp_path: Path) -> None:
    recipe = Recipe.model_validate(RECIPE.model_dump() | {"ema": {"decay": 0.9}})
    averages = bert_weights(bert_of(RECIPE), 6, style="stress")
    save(tmp_path / "ema.safetensors", averages)
    plain, of_averages = (reported(some, ROWS.arrays()) for some in (WEIGHTS, averages))
    assert failed(tmp_path, replace(plain, averages=of_averages), recipe) == set()
    assert "evaluation of averages loss" in failed(tmp_path, replace(plain, averages=plain), recipe)
    assert "evaluation of averages loss" in failed(tmp_path, plain, recipe)  # it says nothing


def test_what_cannot_be_evaluated_is_not_tested(tmp_path: Path) -> None:
    right = reported(WEIGHTS, ROWS.arrays())

    def words(found: Evaluation | None) -> str:
        (check,) = judged(tmp_path, found).values()
        assert check.result == "not tested"
        return check.wording

    assert words(None) == "the run reports none"
    save(tmp_path / "model.safetensors", {"classifier.weight": np.zeros((3, 16), np.float32)})
    assert words(right) == "model.safetensors does not hold the weights of the model"
    (tmp_path / "model.safetensors").write_text("{}")
    assert words(right).startswith("model.safetensors cannot be read")


def test_a_loss_that_is_not_finite(tmp_path: Path) -> None:
    assert "evaluation loss" in failed(tmp_path, Evaluation(loss=None, accuracy=0.1))
    broken = WEIGHTS | {"classifier.bias": np.full(3, np.nan, np.float32)}
    save(tmp_path / "model.safetensors", broken)
    (check,) = judged(tmp_path, Evaluation(loss=None, accuracy=None)).values()
    assert check.result == "not tested"


def test_status_tells_of_averages(tmp_path: Path) -> None:
    path = tmp_path / "status.json"
    told = {"loss": 1.0, "accuracy": 0.5, "ema_loss": 0.5, "ema_accuracy": None}
    path.write_text(json.dumps({"status": "finished", "eval": told}))
    averages = Evaluation(loss=0.5, accuracy=None)
    assert read_status(path).eval == Evaluation(loss=1.0, accuracy=0.5, averages=averages)


def test_rows_in_tests_end_in_a_short_batch() -> None:
    assert isinstance(ROWS, Dataset)
    assert len(ROWS) % BATCH


@pytest.mark.parametrize(
    "loss",
    [CrossEntropy(label_smoothing=0.2), CrossEntropy(class_weights=(0.5, 1.0, 3.0))],
    ids=["smoothing", "weights"],
)
def test_an_evaluation_has_the_loss_of_the_recipe(tmp_path: Path, loss: CrossEntropy) -> None:
    recipe = make_recipe(model=MODEL, loss=loss.model_dump())
    rows = ROWS.arrays()
    assert failed(tmp_path, reported(WEIGHTS, rows, loss=loss), recipe) == set()
    assert failed(tmp_path, reported(WEIGHTS, rows), recipe) == {"evaluation loss"}
    assert failed(tmp_path, reported(WEIGHTS, rows, loss=loss)) == {"evaluation loss"}


def test_what_moves_each_row_by_itself_hides_less_than_what_moves_all() -> None:
    rows, moved = np.full(2500, 4.0), 1e-3
    own = moved * np.where(np.arange(2500) % 2, 1, -1)
    assert expected_of_losses(rows, rows + own, 2500).loss_limit < moved
    assert expected_of_losses(rows, rows + moved, 2500).loss_limit >= ROOM * moved
