"""A part of crosscast that fails is never shown as nothing found: in no command, in no format."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from crosscast.cli import app
from crosscast.messages.source import Source
from crosscast_reading.facts.fact import Fact
from crosscast_reading.lift.batch import lift_sources
from crosscast_reading.lint.engine import lint_sources
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.readers.settings import number_of
from crosscast_reading.sources.failures import failure

PROGRAM = """\
import torch

model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for inputs, targets in loader:
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(inputs), targets)
    loss.backward()
    optimizer.step()
"""
OLD = PROGRAM + "scaler = torch.cuda.amp.GradScaler()\n"
SENTENCE = "one part could not be read: reader broken (train.py:3)"
LINE = 3


class Broken:
    """A reader with a bug that shows at a call of the user's program."""

    name = "broken"
    hints = ()

    def read(self, program: Program) -> Iterator[Fact]:
        for call in program.calls("torch.nn.Linear"):
            raise AttributeError(f"'NoneType' has no node, at {len(call.node.args)}")
        yield from ()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder with a program, while one reader fails."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(PROGRAM, encoding="utf-8")
    (tmp_path / "old.py").write_text(OLD, encoding="utf-8")
    monkeypatch.setattr(
        "crosscast_reading.sources.subject_builder.python_readers", lambda: (Broken(),)
    )
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        ["lint", "train.py"],
        ["lint", "train.py", "--fail-on", "error"],
        ["lint", "train.py", "--fix"],
        ["lift", "train.py"],
        ["lift", "train.py", "-o", "recipe.yaml"],
        ["explain", "train.py"],
        ["diff", "train.py", "train.py"],
        ["migrate", "train.py", "--to", "tensorflow", "-o", "new"],
    ],
    ids=" ".join,
)
def test_every_command_says_it_first(folder: Path, command: list[str]) -> None:
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 1, result.output
    assert SENTENCE in result.output
    assert "train.py:3:" in result.stderr
    assert "error CC950" in result.stderr
    assert "Traceback" not in result.output


def test_a_page_says_it(folder: Path) -> None:
    command = ["explore", "train.py", "--to", "torch", "-o", "page.html"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 1
    assert "error CC950" in result.stderr
    assert "error CC950: reader broken failed" in (folder / "page.html").read_text()


def test_a_migration_in_place_says_it(folder: Path) -> None:
    result = CliRunner().invoke(app, ["migrate", "old.py", "--to", "torch.amp", "--experimental"])
    assert result.exit_code == 1
    assert "one part could not be read: reader broken (old.py:3)" in result.stderr


def test_the_formats_of_lint(folder: Path) -> None:
    plain = CliRunner().invoke(app, ["lint", "train.py", "--format", "json"])
    data = json.loads(plain.stdout)["diagnostics"]
    assert [(d["code"], d["span"]["line"]) for d in data] == [("CC950", LINE)]
    found = CliRunner().invoke(app, ["lint", "train.py", "--format", "sarif"])
    invocation = json.loads(found.stdout)["runs"][0]["invocations"][0]
    assert invocation["executionSuccessful"] is False
    (notification,) = invocation["toolExecutionNotifications"]
    place = notification["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "train.py"
    assert place["region"]["startLine"] == LINE
    github = CliRunner().invoke(app, ["lint", "train.py", "--format", "github"])
    assert f"CC950,file=train.py,line={LINE}" in github.stdout
    assert {plain.exit_code, found.exit_code, github.exit_code} == {1}


def test_no_comment_hides_a_failure(folder: Path) -> None:
    text = PROGRAM.replace("Linear(4, 2)", "Linear(4, 2)  # crosscast: ignore")
    assert "CC950" in [result.code for result in lint_sources([Source("train.py", text)])]


def test_two_failures_at_one_place_are_two(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Other(Broken):
        name = "other"

    readers = (Broken(), Other())
    monkeypatch.setattr("crosscast_reading.sources.subject_builder.python_readers", lambda: readers)
    result = CliRunner().invoke(app, ["lint", "train.py"])
    assert "2 parts could not be read: " in result.stderr
    assert result.stderr.count("error CC950") == 2


def test_a_failure_outside_of_readers(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is made of the facts can fail, too."""

    def settle(profile: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("crosscast_reading.lift.analysis.settle", settle)
    result = CliRunner().invoke(app, ["lift", "train.py", "old.py"])
    assert result.exit_code == 1
    assert "2 parts could not be read: reading train.py (train.py:1), " in result.output


@pytest.mark.parametrize("number", ["1" + "0" * 400, "10 ** 400", "2 ** 1024", "-(1 << 1030)"])
def test_numbers_that_no_float_holds(number: str) -> None:
    text = PROGRAM.replace("0.1", number)
    results = lint_sources([Source("train.py", text)])
    report = lift_sources([Source("train.py", text)], {})
    assert "CC950" not in {*(r.code for r in results), *(d.code for d in report.diagnostics)}
    origins = {row[0]: row[2] for row in report.rows}
    assert origins["optimizer.learning_rate"].startswith("FILL IN")


def test_settings_that_no_float_holds() -> None:
    assert number_of(10**400) is None
    assert number_of(2**1000) == 2**1000
    assert number_of(float("nan")) is None


def test_a_place_that_is_not_known_is_the_file() -> None:
    found = failure("a reader", ValueError("oops"), [Source("a.py", "x = 1\n")])
    assert str(found.span) == "a.py:1:1"
    assert failure("a reader", ValueError("oops"), []).span is None
