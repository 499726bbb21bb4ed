"""Checkpoints that are damaged, cut off or made to do harm: told, all at once, nothing written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crosscast.messages.diagnostics import DiagnosticError
from crosscast.state.container import MAX_HEADER, is_safetensors, open_container
from crosscast.state.emitted import read_emitted
from crosscast.state.store import write_state
from crosscast.state.training_state import Scale, TrainingState
from state_files import (
    DYNAMIC,
    HALF,
    entry,
    own_state,
    raw,
    saved,
    sections,
    small_recipe,
    state_of,
)


def problems(work: Callable[[], Any]) -> list[tuple[str, str]]:
    with pytest.raises(DiagnosticError) as caught:
        work()
    return [(diagnostic.code, diagnostic.message) for diagnostic in caught.value.diagnostics]


def opened(path: Path) -> list[tuple[str, str]]:
    return problems(lambda: open_container(path))


def read(path: Path) -> TrainingState:
    return read_emitted(open_container(path))


HEADERS: dict[str, tuple[Any, bytes, str]] = {
    "not JSON": ("{nonsense", b"", "not JSON"),
    "a list": ("[1, 2, 3, 4, 5]", b"", "not a JSON object"),
    "nan": ('{"a": NaN, "b": 1}', b"", "NaN is not a JSON number"),
    "twice": ('{"a": 1, "b": 2, "a": 3}', b"", "key 'a' is duplicated"),
    "deep": ("[" * 200_000, b"", "nested too deeply"),
    "digits": ('{"a": ' + "9" * 10_000 + "}", b"", "not JSON"),
    "number for tensor": ({"a": 7, "bbbb": entry()}, bytes(8), "needs exactly dtype"),
    "more keys": ({"a": entry() | {"code": "x"}}, bytes(8), "needs exactly"),
    "unknown type": ({"a": entry("F8_E4M3", (8,))}, bytes(8), "unsupported dtype 'F8_E4M3'"),
    "type is a list": ({"a": entry(["F32"])}, bytes(8), "unsupported dtype"),  # type: ignore[arg-type]
    "negative shape": ({"a": entry(shape=(-2, -1))}, bytes(8), "integers"),
    "shape of floats": ({"a": entry(shape=(2.0,))}, bytes(8), "integers"),
    "shape of booleans": ({"a": entry(shape=(True, 2))}, bytes(8), "integers"),
    "huge shape": ({"a": entry(shape=(2**40, 2**40))}, bytes(8), "needs"),
    "many dimensions": ({"a": entry(shape=(1,) * 40 + (2,))}, bytes(8), "integers"),
    "shape and size": ({"a": entry(shape=(3,))}, bytes(8), "needs 12 bytes"),
    "backwards": ({"a": entry(offsets=(8, 0))}, bytes(8), "needs 8 bytes"),
    "three offsets": ({"a": entry(offsets=(0, 8, 8))}, bytes(8), "two integers"),
    "beyond the end": ({"a": entry()}, bytes(4), "truncated: 4 bytes of data instead of 8"),
    "overlap": ({"a": entry(), "b": entry(offsets=(4, 12))}, bytes(12), "overlap"),
    "gap": ({"a": entry(), "b": entry(offsets=(12, 20))}, bytes(20), "gaps"),
    "twice the same": ({"a": entry(), "b": entry()}, bytes(8), "overlap"),
    "tail": ({"a": entry()}, bytes(9), "1 bytes after"),
    "empty name": ({"": entry()}, bytes(8), "not a valid name"),
    "control character": ({"model/\x1b[31m": entry()}, bytes(8), "not a valid name"),
    "long name": ({"model/" + "x" * 1000: entry()}, bytes(8), "not a valid name"),
}


@pytest.mark.parametrize("name", HEADERS)
def test_headers_that_are_refused(name: str, tmp_path: Path) -> None:
    tensors, data, words = HEADERS[name]
    ((code, message),) = opened(raw(tmp_path / "x.safetensors", tensors, data))[:1]
    assert code == "CC960"
    assert words in message
    assert len(message) < 1000


def test_lengths_of_headers(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    for length, words in (
        (2**63, "header length"),
        (2**64 - 1, "header length"),
        (MAX_HEADER + 1, "header length"),
        (1000, "truncated in its header"),
        (0, "not JSON"),
        (3, "not JSON"),
    ):
        assert [
            (c, words in m) for c, m in opened(raw(path, {"a": entry()}, bytes(8), length=length))
        ] == [("CC960", True)]
    for content in (b"", b"x", bytes(9), b"\xff" * 64):
        path.write_bytes(content)
        assert {c for c, _ in opened(path)} == {"CC960"}
    path.write_bytes((4).to_bytes(8, "little") + b"\xff\xfe\xfd\xfc" + bytes(8))
    assert "not UTF-8" in opened(path)[0][1]


def test_several_problems_at_once(tmp_path: Path) -> None:
    tensors = {"a": entry(shape=(3,)), "b": entry("F7"), "c": 7}
    found = opened(raw(tmp_path / "x.safetensors", tensors, bytes(8), metadata={"recipe": 1}))
    assert [code for code, _ in found] == ["CC960"] * 4
    many = {f"t{number}": entry("F7") for number in range(500)}
    found = opened(raw(tmp_path / "y.safetensors", many, bytes(8)))
    assert len(found) == 9
    assert found[-1][1] == "492 more of this kind"


def test_files_that_are_none(tmp_path: Path) -> None:
    assert opened(tmp_path / "missing")[0][0] == "CC001"
    assert opened(tmp_path)[0][0] == "CC002"
    os.mkfifo(tmp_path / "pipe")
    assert opened(tmp_path / "pipe")[0][0] == "CC002"
    assert not is_safetensors(tmp_path / "missing")


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    for recipe in (
        small_recipe(),
        small_recipe(precision=HALF, loss_scaling=DYNAMIC, ema="{decay: 0.9}"),
        small_recipe(optimizer="{name: adafactor, learning_rate: 1e-3}"),
        small_recipe(optimizer="{name: lion, learning_rate: 1e-3}"),
        small_recipe(optimizer="{name: sgd, learning_rate: 1e-3}"),
        small_recipe(optimizer="{name: sgd, learning_rate: 1e-3, momentum: 0.9}"),
    ):
        state = replace(state_of(recipe), rows=52)
        found = read(saved(tmp_path / "x.safetensors", state))
        assert found.rows == 52
        assert is_safetensors(tmp_path / "x.safetensors")
        assert found.counters() == state.counters()
        moments = [name for name, _ in state.tensors() if name.startswith("optimizer/")]
        assert json.loads(open_container(tmp_path / "x.safetensors").metadata["counters"])[
            "moments"
        ] == len(moments)
        assert (found.recipe, found.scale) == (state.recipe, state.scale)
        arrays = dict(found.tensors())
        assert arrays.keys() == dict(state.tensors()).keys()
        for name, array in state.tensors():
            np.testing.assert_array_equal(arrays[name], array)
    own = own_state()
    assert read(saved(tmp_path / "own.safetensors", own)).rows is None
    assert read(saved(tmp_path / "own.safetensors", own)).weights["steps"].dtype == np.int64


COUNTERS: dict[str, tuple[dict[str, Any], str]] = {
    "missing": ({"updates": None}, "counter 'updates' is missing"),
    "scale missing": ({"scale": None}, "counter 'scale' is missing"),
    "unknown": ({"phase": 1}, "counter 'phase' is unknown"),
    "nan": ({"windows": float("nan")}, "NaN is not a JSON number"),
    "infinite scale": ({"scale": float("inf")}, "Infinity is not a JSON number"),
    "text": ({"windows": "8"}, "windows is 8, not a count"),
    "fraction": ({"windows": 8.5}, "not a count"),
    "boolean": ({"good": True}, "good is True, not a count"),
    "negative": ({"bad": -1}, "bad is -1, not a count"),
    "huge": ({"windows": 2**70}, "not a count"),
    "list": ({"windows": [8]}, "not a count"),
    "rows of text": ({"rows": "52"}, "rows is 52, not a number of training rows"),
    "no rows": ({"rows": 0}, "rows is 0, not a number of training rows"),
    "half a row": ({"rows": 0.5}, "not a number of training rows"),
    "more updates": ({"updates": 9}, "9 updates do not match 8 windows"),
    "zero scale": ({"scale": 0.0}, "not a positive float32"),
    "large scale": ({"scale": 1e39}, "not a positive float32"),
    "scale of text": ({"scale": "1024"}, "not a positive float32"),
    "boolean scale": ({"scale": True}, "not a positive float32"),
    "more than updates": ({"good": 9}, "are not those of"),
}


@pytest.mark.parametrize("name", COUNTERS)
def test_counters_that_are_refused(name: str, tmp_path: Path) -> None:
    changes, words = COUNTERS[name]
    recipe = small_recipe(precision=HALF, loss_scaling=DYNAMIC)
    path = saved(tmp_path / "x.safetensors", state_of(recipe))
    header, data = sections(path)
    counters = json.loads(header["__metadata__"]["counters"]) | changes
    counters = {key: value for key, value in counters.items() if value is not None}
    header["__metadata__"]["counters"] = json.dumps(counters)
    found = problems(lambda: read(raw(path, header, data)))
    assert {code for code, _ in found} == {"CC961"}
    assert any(words in message for _, message in found), found


METADATA: dict[str, tuple[dict[str, Any], str, str]] = {
    "no recipe": ({"recipe": None}, "CC960", "has no recipe"),
    "neither": ({"recipe": None, "counters": None}, "CC960", "no recipe and no counters"),
    "no counters": ({"counters": None}, "CC960", "has no counters"),
    "recipe not JSON": ({"recipe": "abc"}, "CC961", "are not JSON"),
    "recipe a number": ({"recipe": "12"}, "CC961", "not a fingerprint"),
    "recipe a path": ({"recipe": '"../../etc/passwd"'}, "CC961", "not a fingerprint"),
    "counters a list": ({"counters": "[]"}, "CC961", "not a JSON object"),
    "counters twice": (
        {"counters": '{"windows": 1, "updates": 1, "windows": 2}'},
        "CC961",
        "key 'windows' is duplicated",
    ),
    "more": ({"note": "x"}, "CC961", "unknown metadata: 'note'"),
}


@pytest.mark.parametrize("name", METADATA)
def test_metadata_that_are_refused(name: str, tmp_path: Path) -> None:
    changes, code, words = METADATA[name]
    path = saved(tmp_path / "x.safetensors", state_of(small_recipe()))
    header, data = sections(path)
    metadata = header["__metadata__"] | changes
    header["__metadata__"] = {key: value for key, value in metadata.items() if value is not None}
    found = problems(lambda: read(raw(path, header, data)))
    assert any(c == code and words in message for c, message in found), found


NAMES = ("../up", "a/../b", "/etc/x", "a//b", "a\\b", "")


def test_tensors_that_belong_nowhere(tmp_path: Path) -> None:
    path = saved(tmp_path / "x.safetensors", state_of(small_recipe()))
    header, data = sections(path)
    extra = ("gradients/x", "model", *(f"model/{name}" for name in NAMES))
    header |= {
        n: entry(offsets=(len(data) + 8 * i, len(data) + 8 * i + 8)) for i, n in enumerate(extra)
    }
    found = problems(lambda: read(raw(path, header, data + bytes(8 * len(extra)))))
    assert [code for code, _ in found] == ["CC961"] * len(extra)
    for name in extra:
        assert any(repr(name) in message for _, message in found)


WORD = "bert.embeddings.word_embeddings.weight"


def changed(state: TrainingState, name: str) -> dict[str, Any]:
    """Return what has to be replaced for one kind of damage."""
    first, second = state.moments["exp_avg"], state.moments["exp_avg_sq"]
    table = state.weights[WORD]
    bad = table.copy()
    bad[0, 0] = np.nan
    less = {n: a for n, a in second.items() if n != WORD}
    changes: dict[str, dict[str, Any]] = {
        "no weights": {"weights": {}},
        "nan": {"weights": {**state.weights, WORD: bad}},
        "moment nan": {"moments": {**state.moments, "exp_avg": {**first, WORD: bad}}},
        "negative": {"moments": {**state.moments, "exp_avg_sq": {**second, WORD: -table}}},
        "one is missing": {"moments": {"exp_avg": first, "exp_avg_sq": less}},
        "shape": {"moments": {"exp_avg": {**first, WORD: table.T}, "exp_avg_sq": second}},
        "whole numbers": {
            "moments": {"exp_avg": {**first, WORD: table.astype(np.int64)}, "exp_avg_sq": second}
        },
        "of no weight": {"moments": {"exp_avg": {**first, "x": table}, "exp_avg_sq": second}},
        "no optimizer": {"moments": {"exp_avg_sq": second}},
        "strange slot": {"moments": {**state.moments, "max_exp_avg_sq": second}},
        "average of nothing": {"averages": {"x": table}},
        "shape of average": {"averages": {WORD: table.T}},
    }
    return changes[name]


DAMAGE = {
    "no weights": "no weights",
    "nan": "contains inf or nan",
    "moment nan": "contains inf or nan",
    "negative": "mean of squares",
    "one is missing": f"exp_avg_sq of '{WORD}' is missing",
    "shape": "has shape (4, 7), not (7, 4)",
    "whole numbers": "has dtype int64",
    "of no weight": "which is not a weight",
    "no optimizer": "belong to no optimizer",
    "strange slot": "belong to no optimizer",
    "average of nothing": "which is not a weight",
    "shape of average": "has shape (4, 7), not (7, 4)",
}


@pytest.mark.parametrize("name", DAMAGE)
def test_arrays_that_are_refused(name: str, tmp_path: Path) -> None:
    state = state_of(small_recipe())
    path = saved(tmp_path / "x.safetensors", state, **changed(state, name))
    found = problems(lambda: read(path))
    assert {code for code, _ in found} == {"CC961"}
    assert any(DAMAGE[name] in message for _, message in found), found


def test_skips_need_a_loss_scale(tmp_path: Path) -> None:
    path = saved(tmp_path / "x.safetensors", state_of(small_recipe()), updates=7)
    assert "without a loss scale" in problems(lambda: read(path))[0][1]
    read(saved(path, state_of(small_recipe()), updates=7, scale=Scale(2.0, 0, 0, 0)))


@pytest.mark.parametrize("share", [0.01, 0.3, 0.5, 0.9, 0.999])
def test_cut_off_files(share: float, tmp_path: Path) -> None:
    path = saved(tmp_path / "x.safetensors", state_of(small_recipe()))
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    assert opened(path)[0][0] == "CC960"


def test_flipped_bytes_never_end_in_a_traceback(tmp_path: Path) -> None:
    path = saved(tmp_path / "x.safetensors", state_of(small_recipe()))
    content = bytearray(path.read_bytes())
    rng = np.random.default_rng(0)
    codes: list[str] = []
    for position in rng.integers(0, 3000, 300):
        broken = bytearray(content)
        broken[position] = rng.integers(256)
        path.write_bytes(broken)
        try:
            read(path)
        except DiagnosticError as error:
            codes.append(error.diagnostics[0].code)
    assert set(codes) == {"CC960", "CC961"}
    assert len(codes) > 200


def test_what_a_killed_command_left_is_replaced(tmp_path: Path) -> None:
    """A killed process cannot remove its file; a link in its place is not followed."""
    place, victim = tmp_path / "checkpoint.safetensors", tmp_path / "victim"
    victim.write_text("of the user")
    dying = f"""
import os, sys
from pathlib import Path
import safetensors.numpy
sys.path[:0] = {sys.path!r}
from state_files import own_state
from crosscast.state.store import write_state
safetensors.numpy.save_file = lambda arrays, path, metadata: (Path(path).touch(), os._exit(9))
write_state(Path({str(place)!r}), own_state())
"""
    assert subprocess.run([sys.executable, "-c", dying], check=False).returncode == 9
    (left,) = set(tmp_path.iterdir()) - {victim}
    write_state(place, own_state())
    assert set(tmp_path.iterdir()) == {place, victim}
    left.symlink_to(victim)
    write_state(place, own_state())
    assert (set(tmp_path.iterdir()), victim.read_text()) == ({place, victim}, "of the user")


def test_a_name_may_be_as_long_as_the_file_system_allows(tmp_path: Path) -> None:
    place = tmp_path / f"{'x' * 243}.safetensors"
    write_state(place, own_state())
    assert list(tmp_path.iterdir()) == [place]
