"""Programs from texts."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable

import pytest

from crosscast.messages.source import Source
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.pysource.project import read_program

Build = Callable[..., Program]


@pytest.fixture
def build() -> Build:
    """Return a program of one text (`main.py`) or of several by file name."""

    def make(text: str = "", **options: object) -> Program:
        files = options.pop("files", None) or {"main.py": text}
        assert isinstance(files, dict)
        sources = [Source(name, textwrap.dedent(body)) for name, body in files.items()]
        program, problems = read_program(sources, **options)  # type: ignore[arg-type]
        assert problems == ()
        return program

    return make


def only(program: Program, method: str) -> Call:
    """Return the only call of a method."""
    found = [c for c in program.calls() if c.method == method]
    assert len(found) == 1, found
    return found[0]


def last_use(program: Program, text: str) -> tuple[ast.expr, Module]:
    """Return the last expression that is written so."""
    module = program.modules[-1]
    found = [n for n in module.parents if isinstance(n, ast.expr) and module.text(n) == text]
    found = [n for n in found if not isinstance(getattr(n, "ctx", None), ast.Store)]
    return max(found, key=lambda n: (n.lineno, n.col_offset)), module
