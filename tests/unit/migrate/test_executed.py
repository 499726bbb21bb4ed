"""`crosscast migrate ... --verify --run`: what is executed, when, and what is told of it."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import migration_sources
from crosscast.cli import app
from crosscast.targets.source_support import migration_apis
from crosscast_migrate import executed_proof
from crosscast_migrate.before_after import Comparison
from crosscast_migrate.executed_proof import with_execution
from crosscast_parity.side_by_side import building, proof, running
from crosscast_parity.side_by_side.building import Built
from crosscast_parity.side_by_side.comparison import Difference
from crosscast_parity.side_by_side.proof import Execution
from crosscast_parity.side_by_side.running import Limits, Program
from migration_sources import with_experimental

OLD = migration_sources.TORCH.replace('torch.amp.GradScaler("cuda", ', "torch.cuda.amp.GradScaler(")
SAME = Execution(
    outcome="same",
    wording="8 updates on both sides, no difference",
    updates=8,
    exact=True,
    shown={"optimizer.learning_rate": "0.0003 on both sides in 8 updates", "data.train": "x"},
    notes=("half precision was not verified",),
)
DIFFERENT = Execution(
    outcome="different",
    wording="update 3: learning rate 0.1 instead of 0.01",
    updates=2,
    difference=Difference(update=3, what="rate", words="learning rate 0.1 instead of 0.01"),
    differs="optimizer.learning_rate",
)
CANNOT = Execution(
    outcome="cannot be verified here", wording="the original: it is gone", hint="look for it"
)


def migrate(*words: object) -> Any:
    return CliRunner().invoke(app, with_experimental(("migrate", *words)))


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "train.py"
    path.write_text(OLD)
    return path


class Proven:
    """Stands in for the runs."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, execution: Execution) -> None:
        self.requests: list[tuple[Program, Program, Limits]] = []
        self._execution = execution
        monkeypatch.setattr(proof, "prove", self)
        monkeypatch.setattr(building, "build", lambda program, limits: Built())

    def __call__(self, old: Program, new: Program, limits: Limits, **more: Any) -> Execution:
        self.requests.append((old, new, limits))
        return self._execution


RUN = ("--to", "torch.amp", "--verify", "--run", "train.py --steps 20")


def test_both_sides_are_run_as_asked(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    proven = Proven(monkeypatch, SAME)
    more = ("--old-python", "old/python", "--updates", "7", "--timeout", "5", "--memory", "0.5")
    assert migrate("train.py", *RUN, *more).exit_code == 0
    ((old, new, limits),) = proven.requests
    assert old.texts == {"train.py": OLD.encode()}
    assert new.texts == {"train.py": migration_sources.TORCH.encode()}
    assert (old.folder, old.script, old.arguments) == (script.parent, "train.py", ("--steps", "20"))
    # The runs are made in another folder.
    assert old.python == str(script.parent / "old" / "python")
    assert new.python != old.python
    assert old.device == "cpu"
    assert old.lines == new.lines
    assert len(old.lines["train.py"]) == 1
    assert limits == Limits(seconds=5.0, memory=1 << 29, updates=7)
    assert script.read_text() == OLD


def test_interpreters_are_looked_up_where_the_command_is(
    script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proven = Proven(monkeypatch, SAME)
    for given, wanted in {
        "env/bin/python": str(script.parent / "env/bin/python"),
        "/usr/bin/python3": "/usr/bin/python3",
        "python3.8": "python3.8",  # looked up on PATH
    }.items():
        assert migrate("train.py", *RUN, "--python", given).exit_code == 0
        old, new, _ = proven.requests[-1]
        assert (old.python, new.python) == (wanted, wanted)


def test_new_files_are_there_and_the_original_has_its_release(
    script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proven = Proven(monkeypatch, SAME)
    monkeypatch.setenv("CROSSCAST_TENSORFLOW_1_15", sys.executable)
    script.write_text(
        "import tensorflow as tf\n\ntf.estimator.Estimator(f).train(g)\ntf.train.Saver()\n"
    )
    words = ("train.py", "--to", "tf.compat.v1", "--verify", "--run", "train.py")
    assert migrate(*words, "--python", sys.executable).exit_code == 0
    ((old, new, _),) = proven.requests
    assert (old.framework, old.python) == ("tensorflow", sys.executable)
    assert sorted(old.texts) == ["train.py"]
    assert sorted(new.texts) == ["session_estimator.py", "train.py"]
    assert migrate(*words, "--old-python", "mine/python").exit_code == 0
    # What is asked for goes before the environment.
    assert proven.requests[-1][0].python == str(script.parent / "mine" / "python")


def test_what_a_run_shows_is_told(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Proven(monkeypatch, SAME)
    found = migrate("train.py", *RUN)
    ran = "both sides were run: same: 8 updates on both sides, no difference"
    assert found.stderr.endswith(
        f"(1 of these by execution)\nproof: {ran}\n  half precision was not verified\n"
    )
    assert ran in found.stderr.splitlines()[2]
    assert found.stderr.startswith("Done: verified: 1 change in 1 file, shown as a diff")
    assert found.exit_code == 0
    data = json.loads(migrate("train.py", *RUN, "--json").stdout)
    assert data["execution"] == {
        "outcome": "same",
        "wording": "8 updates on both sides, no difference",
        "updates": 8,
        "exact": True,
        "difference": None,
        "notes": ["half precision was not verified"],
    }
    (rate,) = [entry for entry in data["verification"] if entry["evidence"] == "executed"]
    assert rate["field"] == "optimizer.learning_rate"
    assert rate["verdict"] == "same"
    assert rate["why"] == "0.0003: 0.0003 on both sides in 8 updates"


def test_a_difference_is_an_error_and_nothing_is_written(
    script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Proven(monkeypatch, DIFFERENT)
    found = migrate("train.py", *RUN, "--write")
    assert found.exit_code == 1
    assert "error CC977: the migrated script trains differently: update 3" in found.stderr
    assert found.stderr.startswith("Done: open: nothing was written; 1 change in 1 file found; ")
    assert script.read_text() == OLD
    data = json.loads(migrate("train.py", *RUN, "--json").stdout)
    assert data["execution"]["difference"] == {
        "update": 3,
        "what": "rate",
        "words": "learning rate 0.1 instead of 0.01",
    }
    (rate,) = [
        entry for entry in data["verification"] if entry["field"] == "optimizer.learning_rate"
    ]
    assert (rate["verdict"], rate["evidence"]) == ("different", "executed")


def test_what_cannot_be_verified_says_so_and_the_reading_stays(
    script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Proven(monkeypatch, CANNOT)
    found = migrate("train.py", *RUN, "--write")
    assert found.exit_code == 3
    assert "warning CC976: cannot be verified here: the original: it is gone" in found.stderr
    assert "nothing was executed" not in found.stderr
    assert "proof: compared by reading only (the original: it is gone)" in found.stderr
    assert "Hint: look for it" in found.stderr
    assert script.read_text() == migration_sources.TORCH


def test_nothing_is_run_if_nothing_changes(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    proven = Proven(monkeypatch, SAME)
    script.write_text(migration_sources.TORCH)
    found = migrate("train.py", *RUN)
    assert found.exit_code == 0
    assert not proven.requests
    assert "Done: nothing to change: train.py uses none of the old APIs" in found.stderr


def test_a_change_outside_any_training_is_not_called_verified(script: Path) -> None:
    script.write_text(
        "import torch\n\n\n@torch.cuda.amp.autocast()\ndef double(x):\n    return 2 * x\n"
    )
    found = migrate("train.py", "--to", "torch.amp", "--verify")
    assert "proof: not verified: no training was found that could be compared" in found.stderr
    assert "not verified" in found.stderr.splitlines()[2]


def test_without_run_a_script_is_never_executed(script: Path) -> None:
    script.write_text(f"open({str(script.parent / 'ran')!r}, 'w')\n" + OLD)
    assert migrate("train.py", "--to", "torch.amp", "--verify").exit_code == 1
    assert migrate("train.py", "--to", "torch.amp", "--verify", "--no-run").exit_code == 0
    assert not (script.parent / "ran").exists()


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--to", "torch.amp", "--run", "train.py"), "CC970"),
        (("--to", "torch", "-o", "OUT", "--run", "train.py"), "CC970"),
        (("--to", "torch.amp", "--verify", "--run", "python train.py"), "CC970"),
        (("--to", "torch.amp", "--verify", "--run", " "), "CC970"),
        (("--to", "torch.amp", "--verify", "--run", "train.py 'x"), "CC970"),
        (("--to", "torch.amp", "--verify", "--run", "gone.py"), "CC001"),
        (("--to", "torch.amp", "--verify", "--run", "sub/other.py"), "CC970"),
    ],
)
def test_demands_that_make_no_sense_are_refused(
    script: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], code: str
) -> None:
    proven = Proven(monkeypatch, SAME)
    elsewhere = script.parent / "work" / "sub"
    elsewhere.mkdir(parents=True)
    (elsewhere / "other.py").write_text("import train\n")
    if "sub/other.py" in words:  # what changes is not in the folder that is copied
        monkeypatch.chdir(elsewhere.parent)
    found = migrate(script, *words)
    assert found.exit_code == 2, found.stderr
    assert code in found.stderr
    assert not proven.requests
    assert script.read_text() == OLD


def test_a_folder_that_is_too_large_is_not_copied(
    script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proven = Proven(monkeypatch, SAME)
    monkeypatch.setattr(running, "MOST_COPIED", 100)
    found = migrate("train.py", *RUN)
    assert found.exit_code == 3
    assert "too much to copy for every run" in found.stderr
    assert not proven.requests


def test_an_api_that_cannot_be_observed_says_so(
    script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proven = Proven(monkeypatch, SAME)
    api = replace(migration_apis()["torch.amp"], framework="")
    monkeypatch.setattr(executed_proof, "migration_apis", lambda: {"torch.amp": api})
    found = migrate("train.py", *RUN)
    assert found.exit_code == 3
    assert "migrated to torch.amp cannot be observed yet" in found.stderr
    assert not proven.requests


def test_only_what_was_the_same_becomes_executed() -> None:
    rate = Comparison(name="a.py", field="optimizer.learning_rate", verdict="same", why="0.1")
    unknown = replace(rate, field="data.train", verdict="not comparable")
    found = with_execution([rate, unknown], SAME)
    assert [(comparison.field, comparison.evidence) for comparison in found] == [
        ("optimizer.learning_rate", "executed"),
        ("data.train", "read"),
    ]
    changed = replace(rate, verdict="changed on purpose")
    assert with_execution([changed], SAME) == [changed]


def test_a_difference_of_a_field_that_nobody_read_is_added() -> None:
    (added,) = with_execution([], DIFFERENT)
    assert (added.field, added.verdict) == ("optimizer.learning_rate", "different")
