"""`crosscast migrate ... --build`: what is executed, when, and what is told of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import migration_sources
from crosscast.cli import app
from crosscast_parity.side_by_side import building, proof
from crosscast_parity.side_by_side.building import Built, BuiltPlace
from crosscast_parity.side_by_side.proof import Execution
from crosscast_parity.side_by_side.running import Limits, Program
from migration_sources import with_experimental

NEW = migration_sources.TORCH
OLD = NEW.replace('torch.amp.GradScaler("cuda", ', "torch.cuda.amp.GradScaler(")
MODEL = BuiltPlace("train.py", 1, "Net")
STEP = BuiltPlace("train.py", 2, "a step")
SKIPPED = BuiltPlace("train.py", 3, "FileNotFoundError: gone")
REFUSED = BuiltPlace("train.py", 2, "ValueError: Unknown variable: kernel")
BUILT = Built(models=(MODEL,), steps=(STEP,), not_tested=(SKIPPED,))
RAISES = Built(models=(MODEL,), raises=(REFUSED,))
NOTHING = Built(not_tested=(SKIPPED,), ended="SystemExit: 2: --data is required")
CANNOT = Execution(outcome="cannot be verified here", wording="the original: it is gone")


def migrate(*words: object) -> Any:
    return CliRunner().invoke(app, ["migrate", *map(str, words)])


class Builds:
    """Stands in for the run."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, built: Built) -> None:
        self.requests: list[tuple[Program, Limits]] = []
        self._built = built
        monkeypatch.setattr(building, "build", self)

    def __call__(self, program: Program, limits: Limits) -> Built:
        self.requests.append((program, limits))
        return self._built


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "train.py"
    path.write_text(NEW)
    return path


BUILD = ("train.py", "--to", "torch.amp", "--check-only", "--build", "train.py --data 'a b'")


@pytest.mark.usefixtures("script")
def test_the_program_is_built_as_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    builds = Builds(monkeypatch, BUILT)
    done = migrate(*BUILD, "--timeout", "5", "--memory", "0.5")
    assert done.exit_code == 0, done.output
    ((program, limits),) = builds.requests
    assert program.texts == {}
    assert program.arguments == ("--data", "a b")
    assert (limits.seconds, limits.memory) == (5.0, 1 << 29)
    first = done.output.splitlines()[0]
    assert first.endswith("; 1 model built, 1 step made, 1 place NOT TESTED")
    assert "built: train.py:1: Net\nmade: train.py:2: a step\n" in done.output
    assert "NOT TESTED: train.py:3: FileNotFoundError: gone\n" in done.output


@pytest.mark.usefixtures("script")
def test_nothing_is_built_unless_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    builds = Builds(monkeypatch, RAISES)
    assert migrate(*BUILD[:-2]).exit_code == 0
    assert builds.requests == []


@pytest.mark.usefixtures("script")
def test_what_is_refused_is_a_place(monkeypatch: pytest.MonkeyPatch) -> None:
    Builds(monkeypatch, RAISES)
    done = migrate(*BUILD)
    assert done.exit_code == 1
    assert "train.py:2:1: warning CC984: the framework refuses this: ValueError" in done.output
    assert NEW.splitlines()[1] in done.output
    said = json.loads(migrate(*BUILD, "--json").output)
    assert said["summary"]["state"] == "open"
    assert [refusal["code"] for refusal in said["refusals"]] == ["CC984"]
    assert said["build"]["outcome"] == "raises"
    assert said["build"]["raises"] == [{"file": "train.py", "line": 2, "words": REFUSED.words}]


def test_hints_are_those_of_the_framework(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script.write_text("import keras\nmodel = keras.Sequential()\n")
    Builds(monkeypatch, RAISES)
    words = ("train.py", "--to", "keras3", "--check-only", "--build", "train.py")
    assert "Hint: an optimizer takes the variables of its first step only" in migrate(*words).output


def test_a_line_that_the_release_refuses_is_named_once(
    script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script.write_text("import torch\nmodel = torch.nn.Gone()\n")
    Builds(monkeypatch, RAISES)
    done = migrate(*BUILD)
    assert done.exit_code == 1
    assert "CC982" in done.output
    assert "CC984" not in done.output


@pytest.mark.usefixtures("script")
def test_nothing_built_is_no_success(monkeypatch: pytest.MonkeyPatch) -> None:
    Builds(monkeypatch, NOTHING)
    done = migrate(*BUILD)
    assert done.exit_code == 3
    assert "warning CC985: no model was built: NOT TESTED: train.py:3" in done.output
    assert "NOT TESTED: what follows: SystemExit: 2: --data is required" in done.output


@pytest.mark.usefixtures("script")
def test_a_place_outside_of_what_was_read_has_its_path(
    script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (script.parent / "models.py").write_text("import torch\nnet = torch.nn.Linear(1, 1)\n")
    Builds(monkeypatch, Built(raises=(BuiltPlace("models.py", 2, "ValueError: no"),)))
    done = migrate(*BUILD)
    assert "models.py:2:1: warning CC984" in done.output
    assert "    net = torch.nn.Linear(1, 1)\n" in done.output
    assert "Hint: nothing unknown took part" in done.output


class Proven:
    def __call__(self, *given: Any, **more: Any) -> Execution:
        return CANNOT


VERIFY = ("train.py", "--to", "torch.amp", "--verify", "--no-run")


def test_the_new_side_is_built_where_the_migration_is_verified(
    script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script.write_text(OLD)
    builds = Builds(monkeypatch, BUILT)
    done = CliRunner().invoke(
        app, with_experimental(("migrate", *VERIFY, "--build", "train.py", "--check"))
    )
    ((program, _),) = builds.requests
    assert program.texts == {"train.py": NEW.encode()}
    assert "proof: compared by reading only; past what it misses here, the migrated side: 1 mo" in (
        done.output
    )


@pytest.mark.usefixtures("script")
@pytest.mark.parametrize(("built", "code"), [(BUILT, 0), (RAISES, 1), (NOTHING, 3)])
def test_a_program_in_which_nothing_changes_is_built_as_asked(
    monkeypatch: pytest.MonkeyPatch, built: Built, code: int
) -> None:
    builds = Builds(monkeypatch, built)
    done = migrate(*VERIFY, "--build", "train.py")
    ((program, _),) = builds.requests
    assert program.texts == {}
    assert done.exit_code == code, done.output
    assert ("CC984" in done.output) == (built is RAISES)
    assert ("model built" in done.output) == (built is not NOTHING)


@pytest.mark.parametrize(("built", "code"), [(BUILT, 3), (RAISES, 1), (NOTHING, 3)])
def test_it_is_built_if_it_cannot_be_run(
    script: Path, monkeypatch: pytest.MonkeyPatch, built: Built, code: int
) -> None:
    script.write_text(OLD)
    monkeypatch.setattr(proof, "prove", Proven())
    builds = Builds(monkeypatch, built)
    words = ("migrate", *VERIFY[:-1], "--run", "train.py --steps 3")
    done = CliRunner().invoke(app, with_experimental(words))
    assert done.exit_code == code, done.output
    ((program, _),) = builds.requests
    assert program.arguments == ("--steps", "3")
    assert ("CC984" in done.output) == (built is RAISES)


REFUSED_OPTIONS = {
    "without a purpose": ("train.py", "--to", "torch.amp", "--build", "train.py"),
    "beside a run": ("train.py", "--to", "torch.amp", "--verify", "--run", "a.py", "--build", "a"),
    "across": ("train.py", "--to", "torch", "-o", "out", "--verify", "--build", "train.py"),
    "no script": (*BUILD[:-1], "python train.py"),
}


@pytest.mark.usefixtures("script")
@pytest.mark.parametrize("name", REFUSED_OPTIONS)
def test_options_that_do_not_fit_are_refused(name: str) -> None:
    done = migrate(*REFUSED_OPTIONS[name])
    assert done.exit_code == 2, done.output
    assert "CC970" in done.output
    assert "--build" in done.output
