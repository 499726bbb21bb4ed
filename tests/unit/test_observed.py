"""Observation folders are data from outside: every damage is one coded message."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from crosscast.messages.diagnostics import DiagnosticError
from crosscast_parity.inside.observed_files import write_state
from crosscast_parity.recordings.observations import read_observation
from crosscast_parity.recordings.type_manifest import read_manifest
from property_settings import examples
from recipe_texts import recipe_of
from replay_fakes import record

ROW = {
    "window": 0,
    "n_micro": 2,
    "rows": 7,
    "loss": 1.0,
    "lr": 1e-3,
    "grad_norm": None,
    "scale": 64.0,
    "skipped": False,
    "updates": 1,
}
FACTS: dict[str, Any] = {
    "format": 1,
    "window": 0,
    "micro_rows": [4, 3],
    "losses": [1.0, None],
    "factors": [0.25, None],
    "gradient_dtypes": {"w": "float16"},
    "row": ROW,
}
ARRAYS = {
    f"{kind}/{name}": np.arange(size, dtype=np.float32)
    for kind in ("before", "after", "total", "first", "applied")
    for name, size in (("w", 4), ("b", 2))
}


def write(
    folder: Path,
    number: int = 0,
    facts: Any = None,
    arrays: dict[str, np.ndarray] | None = None,
    metadata: dict[str, str] | None = None,
) -> Path:
    facts = FACTS | {"window": number, "row": ROW | {"window": number}} if facts is None else facts
    metadata = {"observation": json.dumps(facts)} if metadata is None else metadata
    path = folder / f"window-{number:04d}.safetensors"
    save_file(ARRAYS if arrays is None else arrays, path, metadata)
    return path


def refused(folder: Path) -> str:
    with pytest.raises(DiagnosticError) as caught:
        read_observation(folder)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code in ("CC723", "CC701")
    return diagnostic.message


def test_a_whole_folder_is_read(tmp_path: Path) -> None:
    for number in (0, 1):
        write(tmp_path, number)
    save_file({name: np.ones(size, np.float32) for name, size in (("w", 4), ("b", 2))},
              tmp_path / "average-0001.safetensors")  # fmt: skip
    observation = read_observation(tmp_path)
    first, second = observation.windows
    assert (first.window, second.window) == (0, 1)
    assert first.micro_rows == (4, 3)
    assert first.losses == (1.0, None)
    assert first.factors == (0.25, None)
    assert first.gradient_dtypes == {"w": "float16"}
    assert (first.row.scale, first.row.grad_norm, first.tokens) == (64.0, None, None)
    assert list(first.before) == ["b", "w"]
    assert len(first.total) == 2
    assert first.applied["w"].tolist() == [0, 1, 2, 3]
    assert (first.average, dict(second.average)["b"].tolist()) == ({}, [1, 1])
    assert observation.manifest is None
    with pytest.raises(KeyError):
        first.total["other"]


def test_an_empty_or_absent_folder_has_no_windows(tmp_path: Path) -> None:
    assert read_observation(tmp_path).windows == ()
    assert read_observation(tmp_path / "absent").windows == ()


def test_tokens_of_the_trace_are_kept(tmp_path: Path) -> None:
    write(tmp_path, facts=FACTS | {"row": ROW | {"tokens": 5}})
    assert read_observation(tmp_path).windows[0].tokens == 5


def test_what_was_not_recorded_is_empty(tmp_path: Path) -> None:
    arrays = {key: a for key, a in ARRAYS.items() if key.startswith(("before", "after"))}
    write(tmp_path, arrays=arrays, facts=FACTS | {"micro_rows": [], "losses": [], "factors": []})
    window = read_observation(tmp_path).windows[0]
    recorded = [len(getattr(window, kind)) for kind in ("total", "first", "applied", "micro_rows")]
    assert recorded == [0, 0, 0, 0]


WRONG_FACTS: dict[str, dict[str, Any]] = {
    "format": {"format": 2},
    "window number": {"window": 1},
    "rows not a list": {"micro_rows": 4},
    "rows of text": {"micro_rows": ["4"]},
    "rows of zero": {"micro_rows": [0]},
    "rows of bool": {"micro_rows": [True]},
    "losses of text": {"losses": ["1", None]},
    "losses too large": {"losses": [10**400, None]},
    "losses and factors": {"factors": [1.0]},
    "types": {"gradient_dtypes": {"w": "float64"}},
    "types a list": {"gradient_dtypes": ["float32"]},
    "types nested": {"gradient_dtypes": {"w": ["float32"]}},
    "row missing": {"row": None},
    "row empty": {"row": {}},
    "row of another window": {"row": ROW | {"window": 3}},
    "row with a scale of text": {"row": ROW | {"scale": "64"}},
}


@pytest.mark.parametrize("change", WRONG_FACTS)
def test_wrong_facts_are_refused(tmp_path: Path, change: str) -> None:
    write(tmp_path, facts=FACTS | WRONG_FACTS[change])
    assert refused(tmp_path)


@pytest.mark.parametrize("name", FACTS)
def test_missing_facts_are_refused(tmp_path: Path, name: str) -> None:
    write(tmp_path, facts={key: value for key, value in FACTS.items() if key != name})
    assert refused(tmp_path)


@pytest.mark.parametrize(
    "text", ["", "[]", "3", "{", '{"format": NaN}', "[" * 100_000, '{"losses": [1e999]}']
)
def test_metadata_that_is_no_object_is_refused(tmp_path: Path, text: str) -> None:
    write(tmp_path, metadata={"observation": text})
    assert refused(tmp_path)
    write(tmp_path, metadata={})
    assert refused(tmp_path)


WRONG_ARRAYS: dict[str, Callable[[dict[str, np.ndarray]], Any]] = {
    "another kind": lambda a: a.update({"later/w": a["after/w"]}),
    "no kind": lambda a: a.update({"w": a["after/w"]}),
    "no name": lambda a: a.update({"after/": a["after/w"]}),
    "another shape": lambda a: a.update({"total/w": np.zeros(3, np.float32)}),
    "another shape after": lambda a: a.update({"after/w": np.zeros((4, 1), np.float32)}),
    "no such parameter": lambda a: a.update({"applied/x": np.zeros(3, np.float32)}),
    "float64": lambda a: a.update({"total/w": np.zeros(4)}),
    "float16": lambda a: a.update({"total/w": np.zeros(4, np.float16)}),
    "int32": lambda a: a.update({"total/w": np.zeros(4, np.int32)}),
    "before alone": lambda a: a.pop("after/w"),
    "no weights": lambda a: [a.pop(f"{kind}/{n}") for kind in ("before", "after") for n in "wb"],
}


@pytest.mark.parametrize("change", WRONG_ARRAYS)
def test_wrong_arrays_are_refused(tmp_path: Path, change: str) -> None:
    arrays = dict(ARRAYS)
    WRONG_ARRAYS[change](arrays)
    write(tmp_path, arrays=arrays)
    assert refused(tmp_path)


def test_windows_with_a_gap_are_read_in_their_order(tmp_path: Path) -> None:
    for number in (9999, 0, 10000, 2):
        write(tmp_path, number)
    assert [w.window for w in read_observation(tmp_path).windows] == [0, 2, 9999, 10000]


def test_strange_names_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path, 2)
    again = path.rename(tmp_path / "window-002.safetensors")
    assert [w.window for w in read_observation(tmp_path).windows] == [2]
    write(tmp_path, 2)
    assert "same window" in refused(tmp_path)
    again.rename(tmp_path / "window-x.safetensors")
    assert "number" in refused(tmp_path)


def state(**arrays: Any) -> dict[str, np.ndarray]:
    kinds = {"moments": "moments/m/", "average": "average/"}
    sizes = {"w": 4, "b": 2}
    return {
        f"{kinds[kind]}{name}": np.full(sizes[name], value, np.float32)
        for kind, value in arrays.items()
        for name in sizes
    }


def test_what_was_held_before_a_window_is_read(tmp_path: Path) -> None:
    write(tmp_path, 3)
    path = tmp_path / "state-0003.safetensors"
    save_file(state(moments=3, average=2), path)
    held = read_observation(tmp_path).windows[0].held
    assert held is not None
    assert {n: a.tolist() for n, a in held.moments.items()} == {"m/b": [3] * 2, "m/w": [3] * 4}
    assert {n: a.tolist() for n, a in held.average.items()} == {"b": [2] * 2, "w": [2] * 4}
    write_state(tmp_path, 3, {"moments": {}, "average": {}})  # of an optimizer without moments
    held = read_observation(tmp_path).windows[0].held
    assert held is not None
    assert (dict(held.moments), dict(held.average)) == ({}, {})
    path.unlink()
    assert read_observation(tmp_path).windows[0].held is None


WRONG_STATES: dict[str, dict[str, np.ndarray]] = {
    "another kind": {"weights/w": np.zeros(4, np.float32)},
    "no slot": {"moments/w": np.zeros(4, np.float32)},
    "no kind": {"w": np.zeros(4, np.float32)},
    "no name": {"moments/m/": np.zeros(4, np.float32)},
    "no such parameter": {"moments/m/x": np.zeros(4, np.float32)},
    "average of no parameter": state(average=1) | {"average/x": np.zeros(4, np.float32)},
    "average of another shape": state(average=1) | {"average/w": np.zeros(5, np.float32)},
    "average of some": {"average/w": np.zeros(4, np.float32)},
    "float64": {"moments/m/w": np.zeros(4)},
    "float16": {"average/w": np.zeros(4, np.float16), "average/b": np.zeros(2, np.float16)},
}


@pytest.mark.parametrize("change", WRONG_STATES)
def test_wrong_states_are_refused(tmp_path: Path, change: str) -> None:
    write(tmp_path, 3)
    save_file(WRONG_STATES[change], tmp_path / "state-0003.safetensors")
    assert refused(tmp_path)


@pytest.mark.parametrize("raw", [b"", b"{}", b"\xff" * 99])
def test_damaged_states_are_refused(tmp_path: Path, raw: bytes) -> None:
    write(tmp_path, 3)
    (tmp_path / "state-0003.safetensors").write_bytes(raw)
    assert refused(tmp_path)


def test_windows_of_other_models_are_refused(tmp_path: Path) -> None:
    write(tmp_path, 0)
    arrays = {f"{kind}/w": np.zeros(4, np.float32) for kind in ("before", "after")}
    write(tmp_path, 1, arrays=arrays)
    assert "other parameters" in refused(tmp_path)


def test_a_parameter_that_changes_its_shape_is_refused(tmp_path: Path) -> None:
    write(tmp_path, 0)
    arrays = {key: np.zeros(9, np.float32) for key in ARRAYS}
    write(tmp_path, 1, arrays=arrays)
    assert "shape" in refused(tmp_path)


def test_a_wrong_average_is_refused(tmp_path: Path) -> None:
    write(tmp_path, 0)
    path = tmp_path / "average-0000.safetensors"
    save_file({"w": np.zeros(4, np.float32)}, path)
    assert "b is missing" in refused(tmp_path)
    path.write_bytes(b"{}")
    assert refused(tmp_path)


slow = settings(
    max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@slow
@given(cut=st.integers(0, 3000), at=st.integers(0, 3000), byte=st.integers(0, 255))
def test_damaged_files_never_crash(tmp_path: Path, cut: int, at: int, byte: int) -> None:
    path = write(tmp_path)
    raw = bytearray(path.read_bytes())
    raw[at % len(raw)] = byte
    path.write_bytes(bytes(raw[: max(0, len(raw) - cut)]))
    with contextlib.suppress(DiagnosticError):
        for window in read_observation(tmp_path).windows:
            assert all(array.dtype == np.float32 for array in window.total.values())


MANIFEST = {
    "format": 1,
    "autocast": "float16",
    "operations": {"matmul": {"linear": [{"in": ["float32"], "out": "float16", "count": 12}]}},
}


def test_the_manifest_is_read(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "manifest.json").write_text(json.dumps(MANIFEST))
    manifest = read_observation(tmp_path).manifest
    assert manifest is not None
    (linear,) = manifest.operations["matmul"]
    assert (linear.name, linear.inputs, linear.output, linear.count) == (
        "linear", ("float32",), "float16", 12)  # fmt: skip


@pytest.mark.parametrize(
    "changes",
    [
        {"format": 2},
        {"autocast": 3},
        {"operations": []},
        {"operations": {"matmul": []}},
        {"operations": {"matmul": {"linear": {}}}},
        {"operations": {"matmul": {"linear": [3]}}},
        {"operations": {"matmul": {"linear": [{"in": "x", "out": "y", "count": 1}]}}},
        {"operations": {"matmul": {"linear": [{"in": [], "out": "y"}]}}},
        {"operations": {"matmul": {"linear": [{"in": [1], "out": "y", "count": 1}]}}},
    ],
)
def test_wrong_manifests_are_refused(tmp_path: Path, changes: dict[str, Any]) -> None:
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps(MANIFEST | changes))
    assert refused(tmp_path)


@pytest.mark.parametrize("raw", [b"", b"[]", b"\xff", b"[" * 100_000, b" " * 5_000_000])
def test_manifests_that_are_not_json_are_refused(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "manifest.json"
    path.write_bytes(raw)
    with pytest.raises(DiagnosticError):
        read_manifest(path)


def test_a_recorded_window_survives_being_written(tmp_path: Path) -> None:
    (window, *_) = record(recipe_of()).windows
    arrays = {
        f"{kind}/{name}": np.ascontiguousarray(array, np.float32)
        for kind in ("before", "after", "total", "first", "applied")
        for name, array in getattr(window, kind).items()
    }
    facts = FACTS | {"row": window.row.to_json(), "gradient_dtypes": dict(window.gradient_dtypes)}
    path = write(tmp_path, facts=facts, arrays=arrays)
    (again,) = read_observation(tmp_path).windows
    assert again.row == window.row
    assert load_file(path).keys() == arrays.keys()
    for name, array in window.applied.items():
        assert np.array_equal(again.applied[name], array)
