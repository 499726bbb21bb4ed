"""States of Flax and Orbax: a user's own run goes on in emitted scripts; nothing is unpickled."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from crosscast.messages.diagnostics import DiagnosticError
from crosscast.recipe.document import Recipe
from crosscast.recipe.yaml_text import recipe_text
from crosscast.state.convert import convert, show
from crosscast.state.sources import Request, keys_of
from frameworks.emitted_script import emit, tiny_recipe, write_rows
from frameworks.own_state_models import SOURCES, write_maps
from frameworks.script_runs import calls
from frameworks.state_runs import ADAMW, COMMON
from frameworks.subprocesses import run_python, warm

HERE = Path(__file__).parent
STEPS = 12
MORE = 2 * STEPS
pytestmark = [pytest.mark.jax]


@pytest.fixture(autouse=True)
def _files_are_read_in_a_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    """crosscast reads such a file in a process that imports jax."""
    monkeypatch.setattr(sys, "executable", warm("jax"))


def recipe_of_net() -> Recipe:
    """The recipe that a user's loop follows."""
    model = {"kind": "custom", "factory": dict.fromkeys(SOURCES, "net:build_model")}
    optimizer = ADAMW | {"no_decay": ["bias", "layer_norm"]}
    return tiny_recipe(**COMMON | {"model": model, "optimizer": optimizer})


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[float]]:
    """Let a user's loop train; return the folder with what it saved half way, and all losses."""
    folder = tmp_path_factory.mktemp("user")
    (folder / "recipe.yaml").write_text(recipe_text(recipe_of_net()))
    for framework in ("jax", "torch"):
        emit(recipe_of_net(), framework, folder / framework)
        (folder / framework / "net.py").write_text(SOURCES[framework])
    write_rows(folder / "train.npz", 52)
    write_rows(folder / "eval.npz", 12, seed=1)
    write_maps(folder)
    losses = run_python(HERE / "user_loop_jax.py", "jax", folder / "jax", folder, STEPS)
    return folder, losses


def goes_on(
    folder: Path, framework: str, source: str, layout: str = "", like: str = ""
) -> list[dict[str, Any]]:
    """Convert a state, go on in a framework's emitted script; return the trace."""
    recipe, output = str(folder / "recipe.yaml"), folder / f"{framework}-from-{source}"
    request = Request(str(folder / source), "jax", framework, str(output), recipe, layout, like)
    outcome = convert(request)
    assert {row.part for row in outcome.rows} >= {"weights", "exp_avg", "exp_avg_sq", "windows"}
    data = ("--train", folder / "train.npz", "--eval", folder / "eval.npz", "--resume")
    flags = (*data, "--device", "cpu", "--threads", 1, "--windows", MORE)
    (run,) = calls(folder / framework / "train.py", framework, [(output, flags)])
    assert run.code == 0, run.stderr + run.traceback
    return run.trace


@pytest.mark.parametrize("source", ["orbax", "state.msgpack"])
def test_a_loop_of_jax_goes_on(trained: tuple[Path, list[float]], source: str) -> None:
    folder, losses = trained
    rows = goes_on(folder, "jax", source)
    assert [row["window"] for row in rows] == list(range(STEPS, MORE))
    assert [row["loss"] for row in rows] == pytest.approx(losses[STEPS:], abs=2e-6)


@pytest.mark.torch
def test_a_loop_of_jax_goes_on_in_torch(trained: tuple[Path, list[float]]) -> None:
    """By a map of names; the buffer that only PyTorch has comes from a file of its script."""
    folder, losses = trained
    flags = ("--train", folder / "train.npz", "--eval", folder / "eval.npz", "--windows", 1)
    begun = folder / "begun"
    (run,) = calls(folder / "torch" / "train.py", "torch", [(begun, (*flags, "--device", "cpu"))])
    assert run.code == 0, run.stderr + run.traceback
    layout, like = str(folder / "jax-torch.json"), str(begun / "model.safetensors")
    rows = goes_on(folder, "torch", "orbax", layout, like)
    assert [row["loss"] for row in rows] == pytest.approx(losses[STEPS:], abs=2e-6)


def test_what_a_state_holds(trained: tuple[Path, list[float]]) -> None:
    folder, _ = trained
    keys = keys_of(Request(str(folder / "orbax"), "jax"))
    assert keys is not None
    assert {key: meaning for key, _, _, meaning in keys} == {
        "model": "weights",
        "optimizer": "optimizer",
        "epoch": "nothing (CC965)",
    }


def test_files_that_are_no_states(trained: tuple[Path, list[float]], tmp_path: Path) -> None:
    folder, _ = trained
    content = (folder / "state.msgpack").read_bytes()
    cut = tmp_path / "cut.msgpack"
    cut.write_bytes(content[: len(content) // 2])
    objects = tmp_path / "objects.msgpack"
    objects.write_bytes(content.replace(b"float32", b"object0"))
    wide = tmp_path / "wide.msgpack"
    wide.write_bytes(content.replace(b"\x93\x92\x06\x05", b"\x93\x92\x06\x7f", 1))
    assert wide.read_bytes() != content
    manager = tmp_path / "manager" / "7"
    shutil.copytree(folder / "orbax", manager / "state")
    broken = tmp_path / "broken"
    shutil.copytree(folder / "orbax", broken)
    (broken / "manifest.ocdbt").write_bytes(b"none")
    for path, words in (
        (cut, "not a file of Flax"),
        (objects, "not a file of Flax"),
        (wide, "not a file of Flax"),
        (manager.parent, "7/state"),
        (broken, "broken"),
        (folder / "jax", "not a state of Orbax"),
    ):
        with pytest.raises(DiagnosticError) as caught:
            show(Request(str(path), "jax", recipe=str(folder / "recipe.yaml")))
        (problem,) = caught.value.diagnostics
        assert problem.code == "CC963"
        assert words in f"{problem.message} {problem.hint}"
