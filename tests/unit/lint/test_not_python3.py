"""CL908: programs that do not parse, if they would train."""

from __future__ import annotations

import pytest

from crosscast.messages.diagnostics import Severity
from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources

LOOP = """\
import torch
for batch in loader:
    optimizer.zero_grad()
    loss = model(batch)
    loss.backward()
    optimizer.step()
"""


def found(text: str) -> list[tuple[str, int, Severity]]:
    results = lint_sources([Source("a.py", text)])
    assert all(result.is_finding for result in results)
    return [(o.code, o.span.line, o.severity) for o in results if o.span and o.code == "CL908"]


@pytest.mark.parametrize(
    ("before", "severity"),
    [
        ("x = (\n", Severity.ERROR),
        ("def f(:\n    pass\n", Severity.ERROR),
        ("print 'hello'\n", Severity.WARNING),
        ("<<<<<<< HEAD\nx = 1\n=======\nx = 2\n>>>>>>> other\n", Severity.ERROR),
    ],
)
def test_training_that_does_not_parse(before: str, severity: Severity) -> None:
    assert [finding[2] for finding in found(before + LOOP)] == [severity]


@pytest.mark.parametrize("text", ["x = (\n", "optimizer = (\n", "from apex import (\n", ""])
def test_other_files_that_do_not_parse(text: str) -> None:
    assert found(text) == []


def test_a_program_that_parses() -> None:
    assert found(LOOP) == []
    assert found(f"'''\n<<<<<<< HEAD\n'''\n{LOOP}") == []
