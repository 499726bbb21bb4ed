"""What the harness finds in an emitted script, and what it leaves to a script of the user."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from crosscast_parity.inside.emitted import layout_of, offered, part_of, traced
from crosscast_parity.inside.script import load_script

SCRIPT = """
from types import SimpleNamespace

import runtime.state

SETTINGS = SimpleNamespace(averages={averages}, scale=None)


def named_parameters(model):
    return "the script's own"
"""
STATE = """
NAME = {name!r}


def named_parameters(model):
    return "the runtime's"


def model_arrays(state):
    return {{}}


def ema_arrays(state):
    return state.averages


def scaler_counters(state):
    return state.scaler
"""


@pytest.fixture(autouse=True)
def _forgotten(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


def write(folder: Path, text: str = SCRIPT, averages: bool = False) -> Path:
    (folder / "runtime").mkdir(parents=True)
    (folder / "runtime" / "__init__.py").touch()
    (folder / "runtime" / "run.py").touch()
    (folder / "runtime" / "state.py").write_text(STATE.format(name=folder.name))
    (folder / "train.py").write_text(text.format(averages=averages))
    return folder / "train.py"


def test_a_function_is_that_of_the_script_or_of_its_runtime(tmp_path: Path) -> None:
    script = load_script(write(tmp_path / "one"))
    assert offered(script, "named_parameters")(None) == "the script's own"
    assert offered(script, "model_arrays")(None) == {}
    assert offered(script, "evaluate") is None


@pytest.mark.parametrize("averages", [True, False])
def test_a_function_that_a_recipe_has_no_use_for_is_not_offered(
    tmp_path: Path, averages: bool
) -> None:
    script = load_script(write(tmp_path / "one", averages=averages))
    assert (offered(script, "ema_arrays") is not None) == averages
    assert offered(script, "scaler_counters") is None


def test_the_runtime_of_another_script_is_forgotten(tmp_path: Path) -> None:
    first = load_script(write(tmp_path / "one"))
    second = load_script(write(tmp_path / "two"))
    assert offered(second, "NAME") == "two"
    assert part_of(first, "state") is None


def test_a_script_of_ones_own_beside_a_runtime_has_none(tmp_path: Path) -> None:
    path = write(tmp_path / "one", text="import runtime.state\n")
    script: Any = load_script(path)
    vars(script)["exchange_layout"] = lambda name, array: "turned"
    assert part_of(script, "state") is None
    assert offered(script, "model_arrays") is None
    assert layout_of(script, SimpleNamespace())("kernel", None) == "turned"


def test_rows_have_what_the_trace_of_an_emitted_script_has(tmp_path: Path) -> None:
    emitted = load_script(write(tmp_path / "one", text="import runtime.run\n" + SCRIPT))
    assert traced(emitted, {"window": 0}) == {"window": 0, "scale": 1.0, "skipped": False}
    scaled = {"window": 0, "scale": 8.0, "skipped": True}
    assert traced(emitted, scaled) == scaled
    assert traced(SimpleNamespace(), {"window": 0}) == {"window": 0}
