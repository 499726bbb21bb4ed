"""Files of torch.save: a user's own run goes on in emitted scripts; nothing is ever unpickled."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from crosscast.messages.diagnostics import DiagnosticError
from crosscast.recipe.yaml_text import recipe_text
from crosscast.state.convert import convert, show
from crosscast.state.sources import Request
from crosscast_parity.inputs.weights import bert_weights, save
from frameworks.emitted_script import emit, tiny_recipe, write_rows
from frameworks.script_runs import calls
from frameworks.state_runs import ADAMW, COMMON, HALF_TYPE
from frameworks.subprocesses import run_python, warm
from tiers import cases, exhaustive

HERE = Path(__file__).parent
STEPS = 20
MORE = 2 * STEPS
SCALED: dict[str, Any] = {
    "precision": HALF_TYPE,
    "loss_scaling": {"mode": "dynamic", "init_scale": 1024.0, "growth_interval": 7},
}
pytestmark = [pytest.mark.torch]


@pytest.fixture(autouse=True)
def _files_are_read_in_a_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    """crosscast reads such a file in a process that imports torch."""
    monkeypatch.setattr(sys, "executable", warm("torch"))


def trained(folder: Path, *, within: bool = False, **fields: Any) -> tuple[Path, list[float]]:
    """Let a user's loop train; return the file that it saved half way, and all losses.

    With `within` the file is of the middle of the next window.
    """
    recipe = tiny_recipe(**COMMON | {"optimizer": ADAMW} | fields)
    (folder / "recipe.yaml").write_text(recipe_text(recipe))
    emit(recipe, "torch", folder / "torch")
    write_rows(folder / "train.npz", 52)
    write_rows(folder / "eval.npz", 12, seed=1)
    sizes: Any = recipe.model
    save(folder / "start.safetensors", bert_weights(sizes, 3, 0.1))
    mode = "within" if within else "half" if recipe.scaling_on else "whole"
    file = folder / "last.pt"
    program = HERE / "user_loop_torch.py"
    losses = run_python(program, "torch", folder / "torch", file, STEPS, mode)
    return file, losses


def goes_on(folder: Path, framework: str, source: Path, **given: int) -> list[dict[str, Any]]:
    """Convert the file, go on in a framework's emitted script; return the trace."""
    recipe = folder / "recipe.yaml"
    output = folder / f"out-{framework}"
    request = Request(
        str(source), "torch", framework, str(output), str(recipe), windows=given.get("windows")
    )
    outcome = convert(request)
    assert {row.part for row in outcome.rows} >= {"weights", "exp_avg", "exp_avg_sq", "windows"}
    notes = [note.code for note in outcome.notes]
    assert notes.pop() == "CC965"  # its key `epoch`
    assert set(notes) <= {"CC968"}
    flags = ("--train", folder / "train.npz", "--eval", folder / "eval.npz", "--resume")
    options = (*flags, "--device", "cpu", "--threads", 1, "--windows", MORE)
    (run,) = calls(folder / framework / "train.py", framework, [(output, options)])
    assert run.code == 0, run.stderr + run.traceback
    return run.trace


@pytest.mark.paddle
def test_a_loop_of_torch_goes_on_in_paddle(tmp_path: Path) -> None:
    source, losses = trained(tmp_path)
    recipe = tiny_recipe(**COMMON | {"optimizer": ADAMW})
    emit(recipe, "paddle", tmp_path / "paddle")
    rows = goes_on(tmp_path, "paddle", source)
    assert [row["window"] for row in rows] == list(range(STEPS, MORE))
    assert [row["loss"] for row in rows] == pytest.approx(losses[STEPS:], abs=2e-6)


@pytest.mark.paddle
def test_a_window_that_had_begun_begins_again_in_paddle(tmp_path: Path) -> None:
    source, losses = trained(tmp_path, within=True)
    emit(tiny_recipe(**COMMON | {"optimizer": ADAMW}), "paddle", tmp_path / "paddle")
    rows = goes_on(tmp_path, "paddle", source)
    assert [row["window"] for row in rows] == list(range(STEPS, MORE))
    assert [row["loss"] for row in rows] == pytest.approx(losses[STEPS:], abs=2e-6)


@exhaustive("a loop with loss scaling")
def test_a_scaled_loop_goes_on_in_an_emitted_script(tmp_path: Path) -> None:
    """Two of its steps were skipped, the second just before it stopped."""
    source, losses = trained(tmp_path, **SCALED)
    with pytest.raises(DiagnosticError, match="the number of windows is not in the file"):
        goes_on(tmp_path, "torch", source)
    assert not (tmp_path / "out-torch").exists()
    rows = goes_on(tmp_path, "torch", source, windows=STEPS)
    assert [row["loss"] for row in rows] == pytest.approx(losses[STEPS:], abs=1e-3)
    assert (rows[0]["scale"], rows[0]["updates"]) == (1024.0, STEPS - 1)
    assert rows[7]["scale"] == 2048.0


HOSTILE = {
    "bomb.pt": "CC963",
    "cut.pt": "CC963",
    "deep.pt": "CC963",
    "pickle.pt": "CC963",
    "sparse.pt": "CC961",
    "wide.pt": "CC963",
}


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    assert run_python(HERE / "hostile_files_torch.py", "torch", folder) == sorted(HOSTILE)
    return folder


@pytest.mark.parametrize(
    "name", cases(HOSTILE, quick=["bomb.pt", "wide.pt"], reason="more hostile files")
)
def test_nothing_is_unpickled(hostile: Path, tmp_path: Path, name: str) -> None:
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(recipe_text(tiny_recipe(**COMMON)))
    with pytest.raises(DiagnosticError) as caught:
        show(Request(str(hostile / name), recipe=str(recipe)))
    assert caught.value.diagnostics[0].code == HOSTILE[name]
    assert not (hostile / "executed").exists()
