"""Weights of models in every framework are matched and proved, and mistakes are refuted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crosscast.messages.diagnostics import DiagnosticError
from crosscast.recipe.load import load
from crosscast.weights.convert import converted
from crosscast.weights.layout import Layout
from crosscast.weights.reader import read_weights
from crosscast.weights.writer import text_of
from crosscast_parity.weights.command import Request, check, match
from crosscast_parity.weights.report import as_json, found_problems, problems, summary, table
from crosscast_parity.weights.search import Found
from frameworks.names import QUICK, marked
from frameworks.own_weight_models import SOURCES, write_models
from frameworks.subprocesses import pythons, require
from tiers import cases, exhaustive

pytestmark = [pytest.mark.torch, pytest.mark.tensorflow, pytest.mark.paddle]
SILENT = {"words.attention.in_proj_bias.key", "words.k.bias"}
"""Keys have the same bias for all queries, which softmax does not see."""


def request_of(path: Path, *targets: str, rows: Path | None = None) -> Request:
    return Request(
        recipe=load(str(path)),
        folder=path.parent,
        targets=targets,
        rows=rows,
        python=pythons(*targets),
    )


@pytest.fixture(scope="module")
def matched(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Found]:
    for framework in QUICK:
        require(framework)
    folder = tmp_path_factory.mktemp("own")
    path = write_models(folder)
    found = match(request_of(path, *QUICK))
    (folder / "weights.yaml").write_text(text_of(found.known))
    return path, found


def test_layers_of_every_kind_are_matched_and_proved(matched: tuple[Path, Found]) -> None:
    path, found = matched
    assert {entry.name for entry in found.known.entries if not entry.proved} == SILENT
    assert all(set(entry.places) == set(found.known.frameworks) for entry in found.known.entries)
    assert found.known.left["torch"] == ("images.norm.num_batches_tracked",)
    assert [d.severity for d in found_problems(found)] == ["note"]
    assert read_weights(str(path.parent / "weights.yaml")).entries == found.known.entries


@exhaustive("layers of Flax, which JAX compiles one by one")
@pytest.mark.parametrize("framework", marked("jax"))
def test_layers_of_flax_are_matched_and_proved(framework: str, tmp_path: Path) -> None:
    require(framework)
    found = match(request_of(write_models(tmp_path), "torch", framework))
    assert {entry.name for entry in found.known.entries if not entry.proved} == SILENT
    assert all(set(entry.places) == {"torch", framework} for entry in found.known.entries)
    places = {entry.name: entry.places[framework] for entry in found.known.entries}
    assert places["images.up.weight"].layout == Layout(axes=(3, 2, 0, 1))
    assert [d.severity for d in found_problems(found)] == ["note"]


def test_what_no_name_tells_is_found_by_gradients(matched: tuple[Path, Found]) -> None:
    places = {entry.name: entry.places for entry in matched[1].known.entries}
    assert places["series.mix"]["tensorflow"].layout == Layout(axes=(1, 0))
    flat = places["images.flat.weight"]["tensorflow"].layout
    assert flat == Layout(expand=(16, 8, 6), axes=(2, 1, 0))
    assert places["images.flat.weight"]["paddle"].layout == Layout(axes=(1, 0))
    keys = places["words.k.weight"]
    assert keys["paddle"].layout == Layout(axes=(1, 0), part=(1, 3))
    table = places["words.embed.weight"]["torch"]
    assert table.also == ("words.head.weight",)


def test_the_report(matched: tuple[Path, Found]) -> None:
    _, found = matched
    rows = {row[0]: row[1:3] for row in table(found)}
    assert rows == {"torch": ("57", "57"), "tensorflow": ("57", "57"), "paddle": ("57", "57")}
    assert "proved: 59 of 61 canonical tensors" in summary(found.known, found.proof)
    answer = as_json(found.known, found.proof, found_problems(found), found)
    assert json.loads(json.dumps(answer)) == answer


def test_arrays_are_converted(matched: tuple[Path, Found]) -> None:
    _, found = matched
    rng = np.random.default_rng(0)
    shapes = {model.framework: model.shapes for model in found.models}
    ours = {
        name: rng.standard_normal(shape, dtype=np.float32)
        for name, shape in shapes["paddle"].items()
    }
    there = converted(ours, found.known, "paddle", "torch")
    assert {name: array.shape for name, array in there.items()} == {
        name: shape for name, shape in shapes["torch"].items() if "tracked" not in name
    }
    back = converted(there, found.known, "torch", "paddle")
    own = found.known.of("paddle")  # not the other names of tied ones, which are random, too
    assert all(np.array_equal(ours[name], back[name]) for name in own)
    for name, held in own.items():
        assert all(np.array_equal(back[name], back[o]) for _, place in held for o in place.also)


SWAPS = {
    "two square kernels": ("net/dense_5/kernel", "net/dense_6/kernel"),
    "two biases": ("net/dense_5/bias", "net/dense_6/bias"),
    "scale and another": ("net/images/batch_normalization/gamma", "net/images/conv2d_1/bias"),
    "statistics": ("batch_normalization/moving_mean", "batch_normalization/moving_variance"),
    "query and value": ("attention/query/kernel", "attention/value/kernel"),
}


@pytest.mark.parametrize(
    "swap",
    cases(list(SWAPS), quick=[], reason="swapped tensors; `make test` has other wrong models"),
)
def test_swapped_tensors_are_refuted(matched: tuple[Path, Found], swap: str) -> None:
    path, _ = matched
    one, two = SWAPS[swap]
    text = (path.parent / "weights.yaml").read_text()
    edited = text.replace(one, "@").replace(two, one).replace("@", two)
    assert edited != text
    file = path.parent / "swapped.yaml"
    file.write_text(edited)
    checked = check(request_of(path, "torch", "tensorflow"), str(file))
    assert not any(entry.proved for entry in checked.known.entries)
    assert not checked.proof.same
    lines = {d.span.text.strip() for d in checked.corrections if d.span}
    assert len(lines) == 2
    assert all(one in line or two in line for line in lines)
    found = problems(checked.known, checked.proof, corrections=checked.corrections)
    assert {d.code for d in found} == {"CC765"}


def refused(path: Path, *targets: str, rows: Path | None = None) -> list[Any]:
    with pytest.raises(DiagnosticError) as caught:
        match(request_of(path, *targets, rows=rows))
    return list(caught.value.diagnostics)


def test_a_factory_that_fails_is_shown_with_its_place(tmp_path: Path) -> None:
    broken = "def helper():\n    return missing\n\n\ndef build_model():\n    return helper()\n"
    path = write_models(tmp_path, torch=broken, paddle=broken.replace("missing", "1 / 0"))
    found = refused(path, "torch", "paddle")
    assert [d.code for d in found] == ["CC761", "CC761"]
    assert "NameError" in found[0].message
    assert found[0].span.file == "own_torch.py"
    assert (found[0].span.line, found[0].span.text) == (2, "return missing")
    assert found[0].hint == "own_torch.py:2 in helper <- own_torch.py:6 in build_model"
    assert "ZeroDivisionError" in found[1].message


DETACHED = {
    "torch": """
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(1, 1)

    def forward(self, image, ids, series):
        return self.fc(series.mean().reshape(1, 1)).detach()


build_model = Net
""",
    "tensorflow": """
import keras


class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.fc = keras.layers.Dense(1)
        self.fc.build((None, 1))

    def call(self, inputs):
        mean = keras.ops.mean(inputs["series"])
        return keras.ops.stop_gradient(self.fc(keras.ops.reshape(mean, (1, 1))))


build_model = Net
""",
}
DETACHED["paddle"] = (
    DETACHED["torch"]
    .replace("torch import", "paddle import")
    .replace("Module", "Layer")
    .replace("reshape(1, 1)", "reshape([1, 1])")
)


@pytest.mark.parametrize(
    "targets",
    cases(
        ["torch,paddle", "tensorflow,torch"],
        quick=["torch,paddle"],
        reason="models without gradients in Keras",
    ),
)
def test_models_without_gradients_are_refused(tmp_path: Path, targets: str) -> None:
    """Gradients that are missing on both sides would be the same."""
    names = targets.split(",")
    found = refused(write_models(tmp_path, **DETACHED), *names)
    assert [(d.code, d.path) for d in found] == [
        ("CC766", f"model.factory.{name}") for name in names
    ]


def test_rows_that_the_model_does_not_take(tmp_path: Path) -> None:
    path = write_models(tmp_path)
    np.savez(tmp_path / "other.npz", image=np.zeros((4, 1, 8, 8)), words=np.zeros((4, 2), "int32"))
    found = refused(path, "torch", "paddle", rows=tmp_path / "other.npz")
    assert [d.code for d in found] == ["CC762", "CC762"]
    message = found[0].message
    assert "image float32[4, 1, 8, 8], words int64[4, 2]" in message
    assert "it takes (image, ids, series)" in message


def test_models_that_do_not_fit_name_what_is_left_over(tmp_path: Path) -> None:
    paddle = (
        SOURCES["paddle"]
        .replace("return self.second(", "return self.third(")
        .replace(
            "self.first, self.second = nn.Linear(6, 6), nn.Linear(6, 6)",
            "self.first, self.third = nn.Linear(6, 6), nn.Linear(6, 7)",
        )
    )
    found = match(request_of(write_models(tmp_path, paddle=paddle), "torch", "paddle"))
    texts = [d.message for d in found_problems(found) if d.code == "CC764"]
    assert texts == [
        "torch: without counterpart: second.weight [6, 6], second.bias [6]",
        "paddle: without counterpart: third.weight [6, 7], third.bias [7]",
    ]
    assert not any(entry.proved for entry in found.known.entries)


def test_models_that_differ_a_little_are_matched_but_not_proved(tmp_path: Path) -> None:
    """A wrong epsilon, activation or padding must not hide which weight is which."""
    torch = SOURCES["torch"].replace("torch.tanh(self.first(x))", "torch.sigmoid(self.first(x))")
    path = write_models(tmp_path, torch=torch)
    found = match(request_of(path, "torch", "paddle"))
    assert not found.proof.same
    assert {d.code for d in found_problems(found)} == {"CC765"}
    for entry in found.known.entries:
        ours, theirs = (entry.places[f].name for f in ("torch", "paddle"))
        if not ours.startswith(("words.", "images.norm.running")):
            assert ours == theirs
