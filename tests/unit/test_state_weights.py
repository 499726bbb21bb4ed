"""States of custom models go to another framework by the weights.yaml beside their recipe."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from crosscast.emit.frame import recipe_hash
from crosscast.messages.diagnostics import DiagnosticError
from crosscast.recipe.load import load
from crosscast.state.container import open_container
from crosscast.state.convert import Outcome, convert
from crosscast.state.emitted import check, read_emitted
from crosscast.state.own_weights import apply_weights
from crosscast.state.sources import Request
from crosscast.state.store import write_state
from crosscast.state.training_state import Account, TrainingState
from crosscast.weights.reader import read_weights
from recipe_texts import text_of
from state_files import OWN, own_state

MAP = """\
version: 1
frameworks: [torch, tensorflow]
tensors:
  - name: fc.weight
    shape: [2, 3]
    torch: fc.weight
    tensorflow: {name: net/fc/kernel, axes: [1, 0]}
    proved: true
  - name: fc.bias
    shape: [2]
    torch: fc.bias
    tensorflow: net/fc/bias
    proved: true
left:
  torch: [steps]
"""
FIELDS = {"model": OWN, "data": "{source: npz, train: t.npz, eval: e.npz}", "ema": "{decay: 0.9}"}


def prepared(folder: Path, text: str = MAP) -> tuple[Path, TrainingState]:
    (folder / "recipe.yaml").write_text(text_of(**FIELDS))
    (folder / "weights.yaml").write_text(text)
    state = replace(own_state(), recipe=recipe_hash(load(str(folder / "recipe.yaml"))))
    write_state(folder / "own.safetensors", state)
    return folder, state


def converted(folder: Path, **changes: Any) -> Outcome:
    options = {
        "source": str(folder / "own.safetensors"),
        "to": "tensorflow",
        "recipe": str(folder / "recipe.yaml"),
        "output": str(folder / "out.safetensors"),
    }
    return convert(Request(**(options | changes)))


def test_weights_moments_and_averages_follow(tmp_path: Path) -> None:
    folder, state = prepared(tmp_path)
    outcome = converted(folder)
    found = read_emitted(open_container(folder / "out.safetensors"))
    assert set(found.weights) == {"net/fc/kernel", "net/fc/bias"}
    kernel = state.weights["fc.weight"].T
    assert np.array_equal(found.weights["net/fc/kernel"], kernel)
    assert np.array_equal(found.moments["exp_avg_sq"]["net/fc/kernel"], 2 * kernel + 2)
    assert np.array_equal(found.averages["net/fc/kernel"], 3 * kernel + 3)
    assert [row.how for row in outcome.rows if row.part == "weights"] == [
        "by weights.yaml, also moments and averages"
    ]
    assert outcome.notes == []


def test_what_only_the_target_has_comes_from_a_file_of_it(tmp_path: Path) -> None:
    folder, _ = prepared(tmp_path)
    converted(folder)
    back = {
        "source": str(folder / "out.safetensors"),
        "of": "tensorflow",
        "to": "torch",
        "output": str(folder / "back.safetensors"),
    }
    with pytest.raises(DiagnosticError, match=r"CC964.*'steps'"):
        converted(folder, **back)
    initial = {**own_state().weights, "steps": np.array([0], np.int64)}
    save_file(initial, folder / "like.safetensors")
    converted(folder, **back, like=str(folder / "like.safetensors"))
    found = read_emitted(open_container(folder / "back.safetensors"))
    assert np.array_equal(found.weights["fc.weight"], own_state().weights["fc.weight"])
    assert found.weights["steps"].tolist() == [0]


REFUSED = {
    "unknown": (MAP.replace("torch: fc.bias", "torch: fc.offset"), "CC763.*'fc.offset'"),
    "missing": (MAP.replace("left:\n  torch: [steps]\n", ""), "CC763.*'steps'"),
    "shape": (MAP.replace("[2, 3]", "[3, 3]"), "CC763.*shape"),
    "other frameworks": (MAP.replace("tensorflow", "paddle"), "CC964"),
}


@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED)
def test_a_map_that_does_not_fit_is_refused(tmp_path: Path, text: str, message: str) -> None:
    folder, _ = prepared(tmp_path, text)
    with pytest.raises(DiagnosticError, match=message):
        converted(folder)
    assert not (folder / "out.safetensors").exists()


def test_frozen_weights_have_no_moments(tmp_path: Path) -> None:
    place = "{name: net/fc/bias, frozen: true}"
    folder, state = prepared(
        tmp_path, MAP.replace("tensorflow: net/fc/bias", f"tensorflow: {place}")
    )
    converted(folder)
    found = read_emitted(open_container(folder / "out.safetensors"))
    assert np.array_equal(found.weights["net/fc/bias"], state.weights["fc.bias"])
    assert set(found.moments["exp_avg"]) == set(found.averages) == {"net/fc/kernel"}


def test_frozen_weights_have_no_factored_moments(tmp_path: Path) -> None:
    folder, state = prepared(tmp_path, MAP.replace("axes: [1, 0]}", "axes: [1, 0], frozen: true}"))
    moments: dict[str, dict[str, np.ndarray]] = {
        "row_var": {"fc.weight": np.ones((2, 1))},
        "col_var": {"fc.weight": np.ones((1, 3))},
        "variance": {"fc.bias": np.ones(2)},
    }
    known = read_weights(str(folder / "weights.yaml"))
    factored = replace(state, moments=moments)
    found, _ = apply_weights(factored, known, "torch", "tensorflow", Account(), like=False)
    assert {slot: set(arrays) for slot, arrays in found.moments.items()} == {
        "row_var": set(),
        "col_var": set(),
        "variance": {"net/fc/bias"},
    }


def test_factored_moments_of_a_flat_tensor_do_not_follow(tmp_path: Path) -> None:
    text = MAP.replace("{name: net/fc/kernel, axes: [1, 0]}", "{name: net/fc/kernel, shape: [6]}")
    folder, state = prepared(tmp_path, text)
    moments: dict[str, dict[str, np.ndarray]] = {
        "row_var": {"fc.weight": np.ones((2, 1))},
        "col_var": {"fc.weight": np.ones((1, 3))},
    }
    known = read_weights(str(folder / "weights.yaml"))
    with pytest.raises(DiagnosticError, match=r"CC964.*swap"):
        apply_weights(
            replace(state, moments=moments), known, "torch", "tensorflow", Account(), like=False
        )


def test_what_was_not_proved_is_said(tmp_path: Path) -> None:
    folder, _ = prepared(tmp_path, MAP.replace("proved: true", "proved: false", 1))
    (note,) = converted(folder).notes
    assert (note.code, note.severity) == ("CC765", "warning")
    assert "'fc.weight'" in note.message


def test_rows_and_columns_of_factored_moments_are_swapped(tmp_path: Path) -> None:
    folder, state = prepared(tmp_path)
    moments: dict[str, dict[str, np.ndarray]] = {
        "row_var": {"fc.weight": np.array([[1.0], [2.0]])},
        "col_var": {"fc.weight": np.array([[3.0, 4.0, 5.0]])},
        "variance": {"fc.bias": np.ones(2)},
    }
    known = read_weights(str(folder / "weights.yaml"))
    factored = replace(state, moments=moments)
    found, _ = apply_weights(factored, known, "torch", "tensorflow", Account(), like=False)
    assert found.moments["row_var"]["net/fc/kernel"].tolist() == [[3], [4], [5]]
    assert found.moments["col_var"]["net/fc/kernel"].tolist() == [[1, 2]]
    assert set(found.moments["variance"]) == {"net/fc/bias"}
    assert list(check(found)) == []
    back, _ = apply_weights(found, known, "tensorflow", "torch", Account(), like=True)
    assert back.moments["row_var"]["fc.weight"].tolist() == [[1], [2]]
    text = MAP.replace("[2, 3]", "[2, 1, 3]").replace("[1, 0]", "[2, 1, 0]")
    (folder / "weights.yaml").write_text(text)
    weights = {**state.weights, "fc.weight": state.weights["fc.weight"][:, None]}
    with pytest.raises(DiagnosticError, match=r"CC964.*swap"):
        apply_weights(
            replace(factored, weights=weights),
            read_weights(str(folder / "weights.yaml")),
            *("torch", "tensorflow"),
            Account(),
            like=False,
        )
