"""`crosscast lift ... --run`: what is executed, what is told of it, and what is written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from crosscast.cli import app
from crosscast.recipe.document import Recipe
from crosscast_parity.reading import observed, verdict
from crosscast_parity.reading.evidence import Evidence, ProgramRun
from crosscast_parity.reading.observed import Observed
from crosscast_parity.reading.verdict import FieldReading, Reading
from crosscast_parity.side_by_side.recording import RecordedAttempt, Recording
from crosscast_parity.side_by_side.running import Limits, Program, Ran

TEXT = """\
import torch

model = torch.nn.Linear(8, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for inputs, labels in torch.load("batches.pt"):
    loss = torch.nn.functional.cross_entropy(model(inputs), labels)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""
ATTEMPT = RecordedAttempt(
    optimizer=0,
    cls="SGD",
    skipped=False,
    backwards=1,
    scale=None,
    settings=({"tensors": 2, "lr": 0.1},),
    clips=(),
    gradients=(),
    changes=(),
    types=("float32",),
)
RUN = ("--run", "train.py --steps 4")


def lift(*words: object) -> Any:
    return CliRunner().invoke(app, ["lift", *map(str, words)])


@pytest.fixture(autouse=True)
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "train.py"
    path.write_text(TEXT)
    return path


class Runs:
    """Stands in for runs and verdict."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **more: Any) -> None:
        self.requests: list[tuple[Program, Limits]] = []
        self.free: frozenset[str] = frozenset()
        self._ran = {"attempts": (ATTEMPT,), "problem": "", **more}
        self.fields: tuple[FieldReading, ...] = ()
        self.unexplained: tuple[str, ...] = ()
        self.values: dict[str, Any] = {}
        monkeypatch.setattr(observed, "observe", self.observe)
        monkeypatch.setattr(verdict, "hold", self.hold)

    def observe(self, program: Program, limits: Limits, **more: Any) -> Observed:
        self.requests.append((program, limits))
        given = dict(self._ran)
        recording = Recording(framework="torch", attempts=given.pop("attempts"))
        ran = Ran(recording=recording, **given)
        return Observed(
            ran=ran, evidence=Evidence(program_runs=(ProgramRun(name="x", recording=recording),))
        )

    def hold(self, recipe: Recipe, evidence: Evidence, free: frozenset[str]) -> Reading:
        from crosscast_parity.reading.changes import put

        self.free = free
        return Reading(
            fields=self.fields,
            corrected=put(recipe, self.values) or recipe,
            unexplained=self.unexplained,
            notes=("a note",),
        )

    def say(self, path: str, status: Any, value: Any, found: Any = None) -> None:
        field = FieldReading(path=path, status=status, value=value, run_value=found, why="it shows")
        self.fields = (*self.fields, field)
        if status == "contradicted":
            self.values[path] = found


def test_the_program_is_run_as_asked(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Runs(monkeypatch)
    more = ("--python", "own/python", "--updates", "7", "--timeout", "5", "--memory", "0.5")
    found = lift("train.py", *RUN, *more)
    assert found.exit_code == 0, found.output
    ((program, limits),) = runs.requests
    assert (program.folder, program.script) == (script.parent, "train.py")
    assert program.arguments == ("--steps", "4")
    assert program.python == str(script.parent / "own" / "python")
    assert (program.framework, program.device, program.texts) == ("torch", "cpu", {})
    assert limits == Limits(seconds=5.0, memory=1 << 29, updates=7)
    assert (
        f"ran: train.py --steps 4 ({program.python}, in a copy of {script.parent})" in found.stderr
    )
    assert {"schedule.total_steps", "batch.micro_batch_size"} <= runs.free
    assert "optimizer.learning_rate" not in runs.free


def test_without_run_nothing_is_executed(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Runs(monkeypatch)
    assert lift("train.py").exit_code == 0
    assert not runs.requests


def test_a_contradiction_is_an_error_at_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Runs(monkeypatch)
    runs.say("optimizer.learning_rate", "contradicted", 0.1, 0.2)
    runs.say("optimizer.name", "proven", "sgd")
    runs.say("batch.micro_batch_size", "contradicted", 8, 16)
    found = lift("train.py", *RUN)
    assert found.exit_code == 1
    assert "train.py:4:13: error CC978: optimizer.learning_rate: read 0.1, but the run" in (
        found.stderr
    )
    assert (
        "does not say what train.py does: 1 field proven by its run, 1 contradicted, 1 found"
        in (found.stderr)
    )
    assert "contradicted: 0.2" in found.stdout
    assert "found: 16" in found.stdout
    assert "  a note" in found.stderr
    run = json.loads(lift("train.py", *RUN, "--json").stdout)["groups"][0]["run"]
    assert run["counts"] == {"proven": 1, "contradicted": 1, "found": 1, "not exercised": 0}
    assert run["fields"]["optimizer.learning_rate"] == {
        "status": "contradicted",
        "value": 0.1,
        "run": 0.2,
        "why": "it shows",
    }


def test_a_placeholder_is_no_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Runs(monkeypatch)
    runs.say("batch.micro_batch_size", "contradicted", 8, 16)
    found = lift("train.py", *RUN)
    assert found.exit_code == 0
    assert "this recipe says what train.py does: 0 fields proven by its run, 1 found by it" in (
        found.stderr
    )


def test_the_values_that_fit_are_written_on_request(
    script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = Runs(monkeypatch)
    runs.say("optimizer.learning_rate", "contradicted", 0.1, 0.2)
    runs.say("batch.micro_batch_size", "contradicted", 8, 16)
    assert lift("train.py", "-o", "read.yaml", *RUN).exit_code == 1
    assert "learning_rate: 0.1 " in (script.parent / "read.yaml").read_text()
    found = lift("train.py", "-o", "right.yaml", "--correct", *RUN)
    assert found.exit_code == 0, found.output
    assert "note CC978: optimizer.learning_rate" in found.stderr
    text = (script.parent / "right.yaml").read_text()
    lines = [line.split("#") for line in text.splitlines()]
    told = {line[0].strip(): line[-1].strip() for line in lines}
    assert told["learning_rate: 0.2"] == "train.py:4 (shown by a run, the source says 0.1)"
    assert told["micro_batch_size: 16"] == "shown by a run"
    assert lift("right.yaml").exit_code == 0


def test_another_section_drops_fields_and_brings_others(
    script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = Runs(monkeypatch)
    runs.say("clipping.kind", "contradicted", "none", "global_norm")
    runs.say("clipping.max_norm", "contradicted", None, 0.5)
    lift("train.py", "-o", "right.yaml", "--correct", *RUN)
    text = (script.parent / "right.yaml").read_text()
    assert "kind: global_norm" in text
    assert "max_norm: 0.5 " in text
    assert lift("right.yaml").exit_code == 0


def test_a_recipe_is_held_against_a_program(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lift("train.py", "-o", "recipe.yaml")
    runs = Runs(monkeypatch)
    runs.say("optimizer.learning_rate", "contradicted", 0.1, 0.2)
    runs.say("batch.micro_batch_size", "contradicted", 8, 16)
    found = lift("recipe.yaml", "-o", "right.yaml", "--correct", *RUN)
    assert found.exit_code == 0, found.output
    ((program, _),) = runs.requests
    assert program.framework == "torch"
    assert "batch.micro_batch_size" in runs.free
    text = (script.parent / "right.yaml").read_text()
    assert "learning_rate: 0.2" in text
    line = next(line for line in text.splitlines() if "micro_batch_size" in line)
    assert "FILL IN" not in line


def test_what_no_value_explains_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Runs(monkeypatch)
    runs.unexplained = ("L1b update: off",)
    found = lift("train.py", *RUN, "--correct")
    assert found.exit_code == 1
    assert "CC978: the run is not explained by any value: L1b update: off" in found.stderr


def test_a_program_that_fails_shows_its_own_words(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = "it ended with exit code 1: ValueError: no"
    Runs(monkeypatch, attempts=(), problem=problem, printed="Traceback\nValueError: no")
    found = lift("train.py", *RUN)
    assert found.exit_code == 3
    assert "--- train.py --steps 4 printed:\nTraceback\nValueError: no\n---\n" in found.stderr
    assert f"warning CC979: train.py --steps 4: {problem}" in found.stderr
    assert "nothing is proven: it ended" in found.stderr


def test_a_run_that_was_stopped_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Runs(monkeypatch, problem="it was stopped after 5 s", stopped=True)
    runs.say("optimizer.name", "proven", "sgd")
    found = lift("train.py", *RUN)
    assert found.exit_code == 0
    assert "the run is used up to where it was stopped after 5 s" in found.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("train.py", "--correct"), "--correct needs --run"),
        (("train.py", "--run", "python train.py"), "must begin with the Python script"),
        (("train.py", "--run", "'"), "No closing quotation"),
        (("train.py", "--run", "gone.py"), "gone.py: no such file"),
    ],
)
def test_options_are_checked(words: tuple[str, ...], message: str) -> None:
    found = lift(*words)
    assert found.exit_code == 2
    assert message in found.stderr


def test_one_run_is_needed(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "train.py").write_text(TEXT)
    found = lift("a", "b", *RUN)
    assert found.exit_code == 2
    assert "--run needs one run, but 2 were found" in found.stderr


def test_the_harness_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    import builtins

    original = builtins.__import__

    def missing(name: str, *more: Any) -> Any:
        if name.startswith("crosscast_parity"):
            raise ModuleNotFoundError("No module named 'crosscast_parity'", name=name)
        return original(name, *more)

    monkeypatch.setattr(builtins, "__import__", missing)
    found = lift("train.py", *RUN)
    assert found.exit_code == 3
    assert "CC401: running the program needs crosscast_parity" in found.stderr
    assert 'pip install "crosscast[parity]"' in found.stderr


def test_a_run_refutes_the_unit_of_a_schedule(
    script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rates of its updates show a length, so the schedule counts updates."""
    per_micro = """\
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 8)
for step, (inputs, labels) in enumerate(torch.load("batches.pt")):
    loss = torch.nn.functional.cross_entropy(model(inputs), labels)
    (loss / 4).backward()
    schedule.step()
    if (step + 1) % 4 == 0:
        optimizer.step()
        optimizer.zero_grad()
"""
    script.write_text(TEXT.partition("for inputs")[0] + per_micro)
    said = "the schedule counts micro-batches"
    runs = Runs(monkeypatch)
    runs.say("schedule.total_steps", "not exercised", 1000)
    assert said in lift("train.py", *RUN).stderr
    runs.fields = ()
    runs.say("schedule.total_steps", "contradicted", 1000, 8)
    assert said not in lift("train.py", *RUN).stderr
