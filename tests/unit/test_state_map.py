"""Layout maps: weights renamed and turned with their moments and averages, or refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crosscast.messages.diagnostics import DiagnosticError
from crosscast.state.layout_map import apply_map, read_map
from crosscast.state.training_state import Account, TrainingState
from crosscast.state.weights_check import complete
from state_files import own_state, saved

TURN = {"to": "net/fc/kernel", "layout": "transpose"}
WHOLE: dict[str, Any] = {"fc.weight": TURN, "fc.bias": {"to": "net/fc/bias"}, "steps": {"to": None}}


def mapped(folder: Path, weights: Any, state: TrainingState | None = None) -> TrainingState:
    path = folder / "map.json"
    path.write_text(json.dumps({"version": 1, "weights": weights}))
    return apply_map(state or own_state(), read_map(str(path)), Account())


def problems(folder: Path, weights: Any, state: TrainingState | None = None) -> list[str]:
    with pytest.raises(DiagnosticError) as caught:
        mapped(folder, weights, state)
    assert {diagnostic.code for diagnostic in caught.value.diagnostics} == {"CC964"}
    return [diagnostic.message for diagnostic in caught.value.diagnostics]


def test_weights_moments_and_averages_move_together(tmp_path: Path) -> None:
    state = own_state()
    found = mapped(tmp_path, WHOLE)
    assert set(found.weights) == {"net/fc/kernel", "net/fc/bias"}
    for before, after in (
        (state.weights, found.weights),
        (state.moments["exp_avg"], found.moments["exp_avg"]),
        (state.moments["exp_avg_sq"], found.moments["exp_avg_sq"]),
        (state.averages, found.averages),
    ):
        np.testing.assert_array_equal(after["net/fc/kernel"], before["fc.weight"].T)
        np.testing.assert_array_equal(after["net/fc/bias"], before["fc.bias"])
    assert (found.windows, found.updates, found.recipe) == (9, 9, state.recipe)


def test_every_weight_is_accounted_for(tmp_path: Path) -> None:
    path = tmp_path / "map.json"
    path.write_text(json.dumps({"version": 1, "weights": WHOLE}))
    account = Account()
    apply_map(own_state(), read_map(str(path)), account)
    assert [(r.verdict, r.count) for r in account.rows] == [
        ("turned", 1),
        ("renamed", 1),
        ("left out", 1),
    ]
    assert "'steps'" in account.rows[2].how


def test_patterns_come_after_names_and_in_order(tmp_path: Path) -> None:
    found = mapped(
        tmp_path, {"steps": {"to": None}, "*.bias": {"to": "="}, "*": TURN | {"to": "="}}
    )
    assert found.weights["fc.weight"].shape == (3, 2)
    assert found.weights["fc.bias"].shape == (2,)
    assert "steps" not in found.weights


def test_axes_in_any_order(tmp_path: Path) -> None:
    kernel = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    state = TrainingState("0" * 16, {"conv": kernel}, {}, {}, 1, 1, None)
    found = mapped(tmp_path, {"conv": {"to": "k", "layout": [2, 0, 1]}}, state)
    np.testing.assert_array_equal(found.weights["k"], kernel.transpose(2, 0, 1))


def factored(shape: tuple[int, ...]) -> TrainingState:
    rows = np.arange(np.prod(shape[:-1]), dtype=np.float32).reshape(*shape[:-1], 1)
    columns = np.ones((*shape[:-2], 1, shape[-1]), np.float32)
    moments = {"row_var": {"w": rows}, "col_var": {"w": columns}}
    return TrainingState("0" * 16, {"w": np.zeros(shape, np.float32)}, moments, {}, 1, 1, None)


def test_rows_of_a_turned_kernel_are_columns(tmp_path: Path) -> None:
    found = mapped(tmp_path, {"w": {"to": "=", "layout": "transpose"}}, factored((2, 3)))
    assert found.moments["row_var"]["w"].shape == (3, 1)
    np.testing.assert_array_equal(found.moments["col_var"]["w"], [[0.0, 1.0]])
    kept = mapped(tmp_path, {"w": {"to": "="}}, factored((2, 3)))
    assert kept.moments["row_var"]["w"].shape == (2, 1)
    swapped = mapped(tmp_path, {"w": {"to": "=", "layout": [0, 2, 1]}}, factored((2, 3, 4)))
    assert swapped.moments["col_var"]["w"].shape == (2, 1, 3)
    (message,) = problems(tmp_path, {"w": {"to": "=", "layout": [2, 1, 0]}}, factored((2, 3, 4)))
    assert "factored moments" in message


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a weight is missing": ({"fc.weight": TURN, "steps": {"to": None}}, "no entry for 'fc.bias'"),
    "one that is not there": (WHOLE | {"fc.gain": {"to": "="}}, "'fc.gain' is not a weight"),
    "pattern for nothing": (WHOLE | {"conv.*": {"to": "="}}, "'conv.*' is not a weight"),
    "two into one": (WHOLE | {"fc.bias": {"to": "net/fc/kernel"}}, "both become 'net/fc/kernel'"),
    "trained and left out": (WHOLE | {"fc.bias": {"to": None}}, "is trained"),
    "turned vector": (WHOLE | {"fc.bias": {"to": "b", "layout": "transpose"}}, "1 dimensions"),
    "no to": (WHOLE | {"fc.bias": {"layout": "same"}}, 'needs "to"'),
    "more keys": (WHOLE | {"fc.bias": {"to": "b", "scale": 2}}, "allows only"),
    "number": (WHOLE | {"fc.bias": {"to": 7}}, "neither a name nor null"),
    "empty name": (WHOLE | {"fc.bias": {"to": ""}}, "neither a name nor null"),
    "path": (WHOLE | {"fc.bias": {"to": "../fc/bias"}}, "neither a name nor null"),
    "control character": (WHOLE | {"fc.bias": {"to": "a\nb"}}, "neither a name nor null"),
    "layout": (WHOLE | {"fc.bias": {"to": "b", "layout": "flip"}}, "neither"),
    "axes twice": (WHOLE | {"fc.weight": {"to": "b", "layout": [0, 0]}}, "neither"),
    "axes of booleans": (WHOLE | {"fc.weight": {"to": "b", "layout": [False, True]}}, "neither"),
    "pattern renames": (WHOLE | {"fc.*": {"to": "b"}}, "a pattern can only keep names"),
    "not an object": (WHOLE | {"fc.bias": "b"}, 'needs "to"'),
    "no weights": ({}, "not an object from name to place"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_maps_that_are_refused(name: str, tmp_path: Path) -> None:
    weights, words = REFUSED[name]
    found = problems(tmp_path, weights)
    assert any(words in message for message in found), found


def test_everything_wrong_with_a_map_at_once(tmp_path: Path) -> None:
    assert len(problems(tmp_path, {"a": {"to": "="}, "b": {"to": "="}})) == 5
    assert len(problems(tmp_path, {"a": 1, "b": {"to": 2}})) == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not JSON"),
        ('{"version": 1, "version": 1, "weights": {}}', "duplicated"),
        ('{"version": 2, "weights": {"a": {"to": "b"}}}', "version"),
        ('{"version": 1}', "version"),
        ("[]", "version"),
    ],
)
def test_files_that_are_no_map(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "map.json"
    path.write_text(text)
    with pytest.raises(DiagnosticError, match=words):
        read_map(str(path))


def like(folder: Path, weights: dict[str, Any]) -> str:
    """The weights that the target's script wrote, which hold nothing else."""
    from safetensors.numpy import save_file

    save_file(weights, folder / "model.safetensors")
    return str(folder / "model.safetensors")


def test_buffers_that_only_the_target_has(tmp_path: Path) -> None:
    state = mapped(tmp_path, WHOLE)
    fresh = {name: np.zeros_like(array) for name, array in state.weights.items()}
    account = Account()
    path = like(tmp_path, fresh | {"net/norm/moving_mean": np.zeros(2, np.float32)})
    found = complete(state, path, account)
    assert set(found.weights) == {*state.weights, "net/norm/moving_mean"}
    np.testing.assert_array_equal(found.weights["net/fc/bias"], [1.0, 1.0])
    assert [(r.count, r.verdict) for r in account.rows] == [(1, "derived")]
    saved(tmp_path / "again.safetensors", found)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"net/fc/kernel": np.zeros((2, 3), np.float32)}, "has shape \\(3, 2\\), in the target"),
        ({"net/fc/bias": None}, "the target has no weight 'net/fc/bias'"),
        ({"net/new/kernel": np.zeros((2, 2), np.float32)}, "the source has no weight"),
    ],
)
def test_targets_that_do_not_fit(change: dict[str, Any], words: str, tmp_path: Path) -> None:
    state = mapped(tmp_path, WHOLE)
    weights = {n: np.array(a) for n, a in state.weights.items()} | change
    path = like(tmp_path, {n: a for n, a in weights.items() if a is not None})
    with pytest.raises(DiagnosticError, match=words):
        complete(state, path, Account())
