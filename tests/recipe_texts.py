"""Recipe files as text, for tests that read them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError, sort_key
from crosscast.recipe.document import Recipe
from crosscast.recipe.validate import build_recipe
from crosscast.recipe.yaml_source import parse

BASE = {
    "version": "1",
    "name": "toy",
    "model": "{kind: bert, preset: tiny, labels: 3, dropout: 0.0}",
    "data": "{source: synthetic}",
    "batch": "{micro_batch_size: 4}",
    "accumulation": "{steps: 2}",
    "optimizer": "{name: adamw, learning_rate: 1e-3}",
    "schedule": "{name: linear, total_steps: 10}",
}
"""A good recipe, one field a line: what comes first is line 1."""

FLOAT16 = "{mode: mixed, compute_dtype: float16}"


def text_of(**changes: str | None) -> str:
    """Return `BASE` as a file with other or more fields; None takes a field out."""
    fields = BASE | changes
    return "".join(f"{name}: {value}\n" for name, value in fields.items() if value is not None)


@cache
def build(text: str) -> Recipe:
    """Return the recipe of a text. Each is read once: that takes longer than most tests of it."""
    return build_recipe(parse(text, "r.yaml"))


def recipe_of(**changes: str | None) -> Recipe:
    """Return `BASE` with changes."""
    return build(text_of(**changes))


def problems_of(text: str) -> tuple[Diagnostic, ...]:
    """Return what is wrong with a text; empty if nothing is."""
    try:
        build(text)
    except DiagnosticError as error:
        return error.diagnostics
    return ()


def found(text: str) -> list[tuple[str, str, str]]:
    """Return (code, line:column, path) of every problem of a text."""
    return [
        (
            problem.code,
            f"{problem.span.line}:{problem.span.column}" if problem.span else "",
            problem.path,
        )
        for problem in sorted(problems_of(text), key=sort_key)
    ]


def mistakes(section: str) -> list[Any]:
    """Return table rows of a section of `recipe_mistakes.txt`: fields, and what is found."""
    text = Path(__file__).with_name("recipe_mistakes.txt").read_text(encoding="utf-8")
    named = dict(re.findall(r"^([A-Z]+) =\n((?:    .*\n)+)", text, re.M))
    (rows,) = re.findall(rf"^\[{section}\]\n((?:.+\n)*)", text, re.M)
    return [_mistake(row, named) for row in re.findall(r"^CC.*\n(?:    .*\n)*", rows, re.M)]


def _mistake(row: str, named: Mapping[str, str]) -> Any:
    expected, field, *others = re.split(r"\n?  +", row.strip())
    code, place, path = expected.split(" ")
    lines = [line for each in (field, *others) for line in named.get(each, each).splitlines()]
    pairs = (line.strip().split(": ", 1) for line in lines)
    changes = {name: None if value == "-" else value for name, value in pairs}
    return pytest.param(changes, (code, place, path.removeprefix("/")), id=field)
