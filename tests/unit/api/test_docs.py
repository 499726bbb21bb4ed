"""The page about Python: every example on it is executed.

CROSSCAST_WRITE_GOLDENS=1 rewrites what the examples show.
"""

from __future__ import annotations

import doctest
import os
from pathlib import Path
from typing import Any

import pytest

from crosscast_migrate import verifying
from page_sessions import NAMED, blocks

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "python.md"


class Shown(doctest.OutputChecker):
    """Takes what an example shows as right, and keeps it."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        self.shown.append(got)
        return True


def executed(lines: list[str], names: dict[str, Any]) -> list[str]:
    """Return the examples of a block with what they show now."""
    text = "\n".join([*lines, ""])
    test = doctest.DocTestParser().get_doctest(text, names, PAGE.name, str(PAGE), 0)
    checker = Shown()
    runner = doctest.DocTestRunner(checker, verbose=False)
    errors: list[str] = []
    found = runner.run(test, out=errors.append, clear_globs=False)
    assert not found.failed, "".join(errors)
    names.update(test.globs)
    now = []
    for example, shown in zip(test.examples, checker.shown, strict=True):
        first, *more = example.source.splitlines()
        now += [f">>> {first}", *(f"... {line}".rstrip() for line in more)]
        now += ["Traceback (most recent call last):", "..."] if example.exc_msg else []
        now += shown.splitlines()
    return now


def test_every_example_shows_what_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(verifying, "is_installed", lambda package: True)  # as on every machine
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    wanted: list[str] = []
    names: dict[str, Any] = {}
    end = 0
    for first, last, kind, before in blocks(lines):
        now = lines[first:last]
        if name := NAMED.match(before):
            Path(name[1]).write_text("\n".join([*now, ""]), encoding="utf-8")
        elif kind == "pycon":
            now = executed(now, names)
        wanted += [*lines[end:first], *now]
        end = last
    wanted += lines[end:]
    if "CROSSCAST_WRITE_GOLDENS" in os.environ:
        PAGE.write_text("\n".join([*wanted, ""]), encoding="utf-8")
    assert wanted == lines
