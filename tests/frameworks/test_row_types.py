"""Rows of every NumPy type, byte order and layout: read as the same numbers, or refused, on all.

The first loss must be that of the file in int64 (float32), bit for bit.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from crosscast.recipe.document import BertModel, Recipe
from crosscast_parity.inputs.weights import bert_weights
from frameworks.emitted_script import emit, tiny_recipe
from frameworks.subprocesses import run_python
from tiers import Lazy, cases

pytestmark = [pytest.mark.torch, pytest.mark.tensorflow, pytest.mark.paddle]

FRAMEWORKS = ("torch", "tensorflow", "paddle")
Arrays = dict[str, np.ndarray]
ROWS, TOKENS = 6, 8

OWN = {
    "torch": """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(100, 4), nn.Linear(8, 3)

    def forward(self, ids, known, values):
        hidden = self.embed(ids) * known.float().unsqueeze(-1)
        return self.head(torch.cat([hidden.sum(1), values], -1))


build_model = Net
""",
    "paddle": """
import paddle
from paddle import nn


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(100, 4), nn.Linear(8, 3)

    def forward(self, ids, known, values):
        hidden = self.embed(ids) * known.astype("float32").unsqueeze(-1)
        return self.head(paddle.concat([hidden.sum(1), values], -1))


build_model = Net
""",
    "tensorflow": """
import keras
import numpy as np
import tensorflow as tf


class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.embed = keras.layers.Embedding(100, 4, name="embed")
        self.head = keras.layers.Dense(3, name="head")

    def call(self, inputs, training=False):
        hidden = self.embed(inputs["ids"]) * tf.cast(inputs["known"], "float32")[..., None]
        return self.head(tf.concat([tf.reduce_sum(hidden, 1), inputs["values"]], -1))


def build_model():
    model = Net()
    ids = np.zeros((1, 8), "int64")
    model({"ids": ids, "known": ids > 0, "values": np.zeros((1, 4), "float32")})
    return model
""",
}
"""The same model of a user: integers, booleans and numbers as inputs."""


def bert_rows() -> Arrays:
    rng = np.random.default_rng(0)
    lengths = rng.integers(3, TOKENS + 1, (ROWS, 1))
    return {
        "input_ids": rng.integers(4, 100, (ROWS, TOKENS)),
        "attention_mask": (np.arange(TOKENS) < lengths).astype(np.int64),
        "token_type_ids": np.tile((np.arange(TOKENS) > 3).astype(np.int64), (ROWS, 1)),
        "labels": np.arange(ROWS) % 3,
    }


def own_rows() -> Arrays:
    rows = bert_rows()
    values = np.random.default_rng(1).integers(-40, 40, (ROWS, 4)).astype(np.float32) / 8
    return {
        "ids": rows["input_ids"],
        "known": rows["attention_mask"].astype(bool),
        "values": values,
        "labels": rows["labels"],
    }


ROWS_OF = {"bert": bert_rows, "own": own_rows}
MODELS = cases(ROWS_OF, quick=["own"], reason="rows of the shipped model, too")
VALID = {
    "bert": dict.fromkeys(("input_ids", "attention_mask", "token_type_ids", "labels"), "biu"),
    "own": {"ids": "iu", "known": "biuf", "values": "f", "labels": "biuf"},
}
"""Kinds of types by array. Of the rest, numbers for `ids` and `values` are the model's matter."""
NUMBERS = np.typecodes["AllInteger"] + np.typecodes["AllFloat"] + "?"
OTHERS = ("O", "S4", "U4", "M8[s]", "m8[s]", "i4,f4")
LISTED = [np.dtype(code).newbyteorder(order) for code in (*NUMBERS, *OTHERS) for order in "<>"]
TYPES = {f"{dtype.char} {dtype.str}": dtype for dtype in LISTED}


@dataclass(frozen=True)
class Case:
    """A data file that is read as another one is, or refused with a message of these words."""

    path: Path
    same: str = ""
    words: tuple[str, ...] = ()


def written(folder: Path, model: str) -> dict[str, Case]:
    """Write every type for every array, other layouts, and values that do not fit."""
    made: dict[str, Case] = {}
    plain: Any = ROWS_OF[model]()
    folder.mkdir()

    def add(name: str, change: dict[str, Any], same: str = "", *words: str) -> None:
        assert name not in made
        path = folder / f"{len(made)}.npz"
        np.savez(path, **(plain | change))
        made[name] = Case(path, same, words)

    add("plain", {}, "plain")
    for name, array in plain.items():
        kinds = VALID[model][name]
        bits = f"{name}: zeros and ones"
        add(bits, {name: (array % 2).astype(array.dtype)}, bits)
        for title, dtype in TYPES.items():
            label = f"{name}: {title}"
            if dtype.kind in kinds:
                values = array % 2 if dtype.kind == "b" else array
                add(label, {name: values.astype(dtype)}, bits if dtype.kind == "b" else "plain")
            elif model == "bert" or dtype.kind not in "biuf":
                numbers = dtype.kind in "biufc"
                values = array.astype(dtype) if numbers else np.zeros(array.shape, dtype)
                words = () if dtype.kind == "O" else (f"`{name}`",)
                add(label, {name: values}, "", *words)
        if array.ndim == 2:
            add(f"{name}: by columns", {name: np.asfortranarray(array)}, "plain")
        if "u" in kinds:
            for order in "<>":
                large = array.astype(f"{order}u8")
                large.flat[1] = 2**63 + 5
                told = [str(2**63 + 5)] if model == "own" else []
                add(f"{name}: too large {order}", {name: large}, "", f"`{name}`", *told)
        add(f"{name}: no length", {name: array.flat[0]}, "", "equal length")
    if model == "own":
        for value in (0.5, -100.5, np.nan, np.inf, -np.inf, 60000.5, 1e30, 1e300):
            for dtype in (np.float16, np.float32, np.float64, np.longdouble):
                labels = plain["labels"].astype(dtype)
                with np.errstate(over="ignore"):
                    labels[2] = value
                if labels[2] != 60000:
                    key = f"labels: {value} {np.dtype(dtype)}"
                    add(key, {"labels": labels}, "", "`labels`", str(labels[2]))
        for text in ("1e39", "-1e300", "1e400"):
            values = plain["values"].astype(np.longdouble)
            values[3, 1] = np.longdouble(text)
            add(f"values: {text}", {"values": values}, "", "`values`", str(values[3, 1]))
    return made


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Lazy[tuple[dict[str, Case], list[Any]]]:
    """What became of every file, by model and framework."""
    root = tmp_path_factory.mktemp("types")
    data = Lazy(lambda model: written(root / model, model))

    def read(key: str) -> tuple[dict[str, Case], list[Any]]:
        model, framework = key.split()
        recipe = tiny_recipe() if model == "bert" else own_recipe()
        folder = emit(recipe, framework, root / f"{model}-{framework}")
        (folder / "own.py").write_text(OWN[framework])
        if isinstance(recipe.model, BertModel):
            save_file(bert_weights(recipe.model, 3, 0.2), folder / "weights.safetensors")
        listed = folder / "paths.json"
        listed.write_text(json.dumps([str(case.path) for case in data[model].values()]))
        program = Path(__file__).with_name("run_rows.py")
        return data[model], run_python(program, framework, folder, framework, listed)

    return Lazy(read)


def own_recipe() -> Recipe:
    factory = dict.fromkeys(FRAMEWORKS, "own:build_model")
    rows = {"source": "npz", "train": "train.npz", "eval": "eval.npz"}
    return tiny_recipe(model={"kind": "custom", "factory": factory}, data=rows)


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("model", MODELS)
def test_rows_are_the_same_numbers_or_refused(found: Lazy[Any], model: str, framework: str) -> None:
    cases, results = found[f"{model} {framework}"]
    result = dict(zip(cases, results, strict=True))
    wrong = []
    for name, case in cases.items():
        got = result[name]
        if case.same:
            right = "loss" in got and got == result[case.same]
        else:
            words = (case.path.name, *case.words)
            right = got.get("code") == 2 and all(word in got["message"] for word in words)
        if not right:
            wrong.append(f"{name}: {got}")
    assert not wrong, f"{len(wrong)} of {len(cases)}:\n" + "\n".join(wrong)
    assert len({result[case.same]["loss"] for case in cases.values() if case.same}) >= 3


@pytest.mark.parametrize("model", MODELS)
def test_all_frameworks_refuse_in_the_same_words(found: Lazy[Any], model: str) -> None:
    said = []
    for framework in FRAMEWORKS:
        cases, results = found[f"{model} {framework}"]
        said.append({name: got.get("message") for name, got in zip(cases, results, strict=True)})
    assert said[0] == said[1] == said[2]
