"""The class `Tracking` of an emitted script, with stand-ins for the libraries it calls."""

from __future__ import annotations

import ast
import contextlib
import json
import math
import os
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from crosscast.emit.compiler import compile_recipe
from frameworks.emitted_script import tiny_recipe

ALL = ("mlflow", "wandb", "trackio")


class Tracker(contextlib.ExitStack):
    """Stands in for every library: writes down its calls."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []
        self.logged: list[tuple[int, dict[str, float]]] = []
        self.id, self.info = "w1", SimpleNamespace(run_id="m1")

    def __getattr__(self, name: str) -> Any:
        def called(*arguments: Any, **named: Any) -> Tracker:
            shown = [repr(each) for each in arguments] + [f"{k}={v!r}" for k, v in named.items()]
            if name in ("log", "log_metrics"):
                self.logged.append((named["step"], arguments[0]))
            else:
                self.calls.append(f"{name}({', '.join(shown)})")
            return self

        return called

    def __exit__(self, kind: Any, *rest: Any) -> None:
        self.calls.append(f"closed after {kind.__name__ if kind else 'nothing'}")


def tracking_of(names: tuple[str, ...], output: Path, rank: int = 0, resume: bool = False) -> Any:
    """The object that a PyTorch script tracks with, and the library that it calls."""
    (compiled,) = compile_recipe(tiny_recipe(tracking=dict.fromkeys(names, True)), ["torch"])
    tree = ast.parse(compiled.files["train.py"].text)
    kept = [
        node
        for node in tree.body
        if getattr(node, "name", "") == "Tracking" or ast.unparse(node).startswith("TRACKING =")
    ]
    library = Tracker()
    known: dict[str, Any] = {m.__name__: m for m in (contextlib, json, math, os, time)}
    known |= dict.fromkeys(("mlflow", "wandb", "trackio"), library) | {"Any": Any, "Run": None}
    future = ast.ImportFrom(module="__future__", names=[ast.alias("annotations")], level=0)
    module = ast.fix_missing_locations(ast.Module(body=[future, *kept], type_ignores=[]))
    exec(compile(module, "train.py", "exec"), known)
    args = SimpleNamespace(output=output, resume=resume)
    return known["Tracking"](SimpleNamespace(rank=rank, args=args)), library


ROW = {"window": 4, "n_micro": 1, "rows": 8, "loss": 0.5, "lr": 0.1, "updates": 4}


@pytest.mark.parametrize("name", ALL)
def test_a_window_is_reported_by_the_names_of_the_trace(name: str, tmp_path: Path) -> None:
    tracking, library = tracking_of((name,), tmp_path)
    with tracking:
        tracking.window(ROW | {"grad_norm": math.inf, "skipped": True, "scale": 8.0})
        tracking.write("eval", {"loss": 0.25, "accuracy": math.nan}, 5)
    (first, row), (second, evaluation) = library.logged
    assert (first, second) == (5, 5)
    assert row.pop("train/rows_per_second") > 0
    assert row == {  # what is not finite is null in the trace
        "train/loss": 0.5,
        "train/lr": 0.1,
        "train/updates": 4.0,
        "train/scale": 8.0,
        "train/skipped": 1.0,
    }
    assert evaluation == {"eval/loss": 0.25}
    assert library.calls[-1] in ("closed after nothing", "finish()")


@pytest.mark.parametrize("name", ALL)
def test_only_the_first_process_reports(name: str, tmp_path: Path) -> None:
    tracking, library = tracking_of((name,), tmp_path, rank=1)
    with tracking:
        tracking.window(ROW | {"grad_norm": 1.0})
        tracking.write("eval", {"loss": 0.25}, 5)
    assert (library.calls, library.logged, list(tmp_path.iterdir())) == ([], [], [])


@pytest.mark.parametrize("name", ALL)
def test_nothing_is_opened_before_a_window(name: str, tmp_path: Path) -> None:
    tracking, library = tracking_of((name,), tmp_path)
    with pytest.raises(ValueError, match="wrong file"), tracking:
        raise ValueError("wrong file")
    assert (library.calls, list(tmp_path.iterdir())) == ([], [])


@pytest.mark.parametrize("name", ALL[:2])
def test_an_exception_is_told_to_the_tracker(name: str, tmp_path: Path) -> None:
    tracking, library = tracking_of((name,), tmp_path)
    tracking.window(ROW | {"grad_norm": 1.0})
    with pytest.raises(ValueError, match="boom"), tracking:
        raise ValueError("boom")
    assert library.calls[-1] == "closed after ValueError"


def opened(output: Path, resume: bool) -> list[str]:
    tracking, library = tracking_of(ALL, output, resume=resume)
    with tracking:
        tracking.write("eval", {}, 1)
    return [call for call in library.calls if call.startswith(("start_run", "init"))]


def test_a_resumed_run_goes_on_by_its_ids(tmp_path: Path) -> None:
    mlflow, wandb, trackio = opened(tmp_path, resume=False)
    assert mlflow == "start_run(None, run_name='tiny')"
    assert "id=None" in wandb
    assert "mode='offline'" in wandb
    assert "resume='never'" in trackio
    assert json.loads((tmp_path / "tracking.json").read_text()) == {"mlflow": "m1", "wandb": "w1"}
    mlflow, wandb, trackio = opened(tmp_path, resume=True)
    assert mlflow == "start_run('m1', run_name='tiny')"
    assert "id='w1'" in wandb
    assert "resume='allow'" in trackio
    (tmp_path / "tracking.json").write_text("{")
    assert "start_run(None" in opened(tmp_path, resume=True)[0]  # a new run
