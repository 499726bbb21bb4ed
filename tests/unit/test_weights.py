from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from crosscast.messages.codes import CODES
from crosscast.messages.diagnostics import DiagnosticError
from crosscast.recipe.bert_shapes import bert_shapes
from crosscast_parity.inputs.weights import Style, Weights, bert_weights, load, perturb, save


@dataclass(frozen=True)
class Sizes:
    vocab_size: int = 64
    hidden_size: int = 32
    layers: int = 2
    intermediate_size: int = 48
    max_positions: int = 16
    type_vocab_size: int = 2
    labels: int = 3


SIZES = Sizes()


def code_of(path: Path, shapes: dict[str, tuple[int, ...]] | None = None) -> str:
    with pytest.raises(DiagnosticError) as caught:
        load(path, shapes)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code in CODES
    assert path.name in diagnostic.message
    return diagnostic.code


def test_names_and_shapes_are_those_of_hugging_face_bert() -> None:
    shapes = bert_shapes(SIZES)
    assert len(shapes) == 5 + 16 * SIZES.layers + 4
    assert shapes["bert.embeddings.word_embeddings.weight"] == (64, 32)
    assert shapes["bert.embeddings.position_embeddings.weight"] == (16, 32)
    assert shapes["bert.embeddings.token_type_embeddings.weight"] == (2, 32)
    assert shapes["bert.encoder.layer.1.attention.self.query.bias"] == (32,)
    assert shapes["bert.encoder.layer.0.intermediate.dense.weight"] == (48, 32)
    assert shapes["bert.encoder.layer.0.output.dense.weight"] == (32, 48)
    assert shapes["bert.encoder.layer.1.output.LayerNorm.weight"] == (32,)
    assert shapes["bert.pooler.dense.weight"] == (32, 32)
    assert shapes["classifier.weight"] == (3, 32)


@pytest.mark.parametrize("style", ["bert", "stress"])
def test_weights_are_float32_of_the_model_shapes_and_depend_only_on_the_seed(style: Style) -> None:
    first, again = (bert_weights(SIZES, 5, style=style) for _ in range(2))
    other = bert_weights(SIZES, 6, style=style)
    assert {name: array.shape for name, array in first.items()} == bert_shapes(SIZES)
    assert {array.dtype for array in first.values()} == {np.dtype("float32")}
    for name, array in first.items():
        np.testing.assert_array_equal(array, again[name])
    assert not np.array_equal(first["classifier.weight"], other["classifier.weight"])


def test_bert_style_is_plain_normal_with_zero_biases_and_neutral_layer_norm() -> None:
    weights = bert_weights(replace(SIZES, vocab_size=4096), 0, 0.05)
    table = weights["bert.embeddings.word_embeddings.weight"]
    assert table.std() == pytest.approx(0.05, rel=0.02)
    assert np.abs(table).max() > 3 * 0.05  # not truncated
    for name, array in weights.items():
        if name.endswith("LayerNorm.weight"):
            assert (array == 1).all()
        elif name.endswith(".bias"):
            assert (array == 0).all()


def test_stress_style_has_unit_activations_and_no_neutral_values() -> None:
    weights = bert_weights(
        replace(SIZES, hidden_size=512, intermediate_size=1024), 0, 0.05, "stress"
    )
    layer = "bert.encoder.layer.0"
    expected = {
        "bert.embeddings.word_embeddings.weight": (0.0, 0.5),
        f"{layer}.attention.self.query.weight": (0.0, 512**-0.5),
        f"{layer}.output.dense.weight": (0.0, 1024**-0.5),
        f"{layer}.intermediate.dense.bias": (0.0, 0.2),
        f"{layer}.output.LayerNorm.weight": (1.0, 0.2),
        f"{layer}.output.LayerNorm.bias": (0.0, 0.2),
    }
    for name, (mean, std) in expected.items():
        assert weights[name].mean() == pytest.approx(mean, abs=0.04), name
        assert weights[name].std() == pytest.approx(std, rel=0.15), name


def test_kernels_of_one_shape_differ() -> None:
    weights = bert_weights(SIZES, 0)
    query, key = (
        weights[f"bert.encoder.layer.0.attention.self.{p}.weight"] for p in ("query", "key")
    )
    assert not np.array_equal(query, key)


def test_perturb_moves_entries_by_about_one_unit_in_the_last_place() -> None:
    weights = bert_weights(SIZES, 0)
    noisy = perturb(weights, 1)
    name = "bert.embeddings.word_embeddings.weight"
    moved = np.abs(noisy[name] / weights[name] - 1)
    assert 0 < moved.max() < 1e-6
    assert 0.2 < (moved > 0).mean() < 0.9
    assert not noisy["classifier.bias"].any()
    assert {array.dtype for array in noisy.values()} == {np.dtype("float32")}


def test_perturb_is_scaled_by_relative_and_reproducible() -> None:
    weights = bert_weights(SIZES, 0)
    name = "classifier.weight"
    large = perturb(weights, 1, relative=1e-3)[name]
    assert (large / weights[name] - 1).std() == pytest.approx(1e-3, rel=0.3)
    np.testing.assert_array_equal(large, perturb(weights, 1, relative=1e-3)[name])
    assert not np.array_equal(large, perturb(weights, 2, relative=1e-3)[name])
    np.testing.assert_array_equal(perturb(weights, 1, relative=0.0)[name], weights[name])


def test_save_and_load_round_trip_bits(tmp_path: Path) -> None:
    weights = bert_weights(SIZES, 0, style="stress")
    save(tmp_path / "w.safetensors", weights)
    loaded = load(tmp_path / "w.safetensors", bert_shapes(SIZES))
    assert loaded.keys() == weights.keys()
    for name, array in weights.items():
        np.testing.assert_array_equal(loaded[name], array)


def test_save_keeps_the_values_of_a_transposed_view(tmp_path: Path) -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    save(tmp_path / "w.safetensors", {"kernel": array.T})
    np.testing.assert_array_equal(load(tmp_path / "w.safetensors")["kernel"], array.T)


def test_save_reports_a_path_it_cannot_write(tmp_path: Path) -> None:
    with pytest.raises(DiagnosticError) as caught:
        save(tmp_path / "missing" / "w.safetensors", bert_weights(SIZES, 0))
    assert caught.value.diagnostics[0].code == "CC502"


def header_file(header: bytes, body: bytes = b"") -> bytes:
    return len(header).to_bytes(8, "little") + header + body


def entry(shape: list[int], begin: int, end: int) -> bytes:
    record = {"dtype": "F32", "shape": shape, "data_offsets": [begin, end]}
    return json.dumps({"w": record}).encode()


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"\x80\x04}q\x00.", id="pickle"),
        pytest.param(b"\xff" * 64, id="huge header length"),
        pytest.param(header_file(b"not json"), id="header is not JSON"),
        pytest.param(header_file(entry([2], 0, 8)), id="data cut off"),
        pytest.param(header_file(entry([3], 0, 8), b"\0" * 8), id="shape and bytes disagree"),
        pytest.param(header_file(entry([2], 8, 16), b"\0" * 16), id="hole before the data"),
        pytest.param(header_file(entry([2**40, 2**40], 0, 8), b"\0" * 8), id="size overflows"),
    ],
)
def test_load_refuses_what_is_not_safetensors(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "bad.safetensors"
    path.write_bytes(content)
    assert code_of(path) == "CC710"


def test_load_refuses_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    assert code_of(tmp_path / "none.safetensors") == "CC710"
    assert code_of(tmp_path) == "CC710"


@pytest.mark.parametrize("dtype", ["float16", "float64", "int32"])
def test_load_refuses_another_type_than_float32(tmp_path: Path, dtype: str) -> None:
    path = tmp_path / "w.safetensors"
    save_file({"w": np.zeros(3, dtype)}, path)
    assert code_of(path) == "CC711"


def test_load_refuses_bfloat16_which_numpy_does_not_know(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    path.write_bytes(header_file(entry([2], 0, 4).replace(b"F32", b"BF16"), b"\0" * 4))
    assert code_of(path) == "CC711"


def test_load_refuses_a_file_without_tensors(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    save_file({}, path)
    assert code_of(path) == "CC711"


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_load_refuses_values_that_are_not_finite(tmp_path: Path, value: float) -> None:
    path = tmp_path / "w.safetensors"
    save(path, {"w": np.array([0, value], np.float32)})
    assert code_of(path) == "CC711"


def without(name: str, weights: Weights) -> Weights:
    return {key: array for key, array in weights.items() if key != name}


@pytest.mark.parametrize("change", ["missing", "unknown", "transposed", "other model"])
def test_load_refuses_weights_of_another_model(tmp_path: Path, change: str) -> None:
    weights = bert_weights(SIZES, 0)
    kernel = "bert.encoder.layer.0.intermediate.dense.weight"
    changed = {
        "missing": without(kernel, weights),
        "unknown": weights | {"cls.bias": np.zeros(3, np.float32)},
        "transposed": weights | {kernel: weights[kernel].T},
        "other model": bert_weights(replace(SIZES, layers=3), 0),
    }[change]
    path = tmp_path / "w.safetensors"
    save(path, changed)
    assert code_of(path, bert_shapes(SIZES)) == "CC711"
    assert load(path).keys() == changed.keys()  # without shapes the names are free


def test_load_names_only_the_first_problems(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    save(path, {"w": np.zeros(1, np.float32)})
    with pytest.raises(DiagnosticError) as caught:
        load(path, bert_shapes(SIZES))
    assert "39 more" in caught.value.diagnostics[0].message
