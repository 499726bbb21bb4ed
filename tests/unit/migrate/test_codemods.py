"""Every codemod: its examples, that a second run changes nothing, and that others stay silent."""

from __future__ import annotations

import ast

import pytest

from crosscast.messages.source import Source
from crosscast_migrate.codemod import Codemod, Example
from crosscast_migrate.in_place import InPlaceMigration, migrate_in_place
from crosscast_migrate.registry import all_codemods, codemods_to
from own_parts import own_codemods

EXAMPLES = [
    pytest.param(codemod, example, id=f"{codemod.code}-{number}")
    for codemod in all_codemods().values()
    for number, example in enumerate(codemod.examples)
]


def migrated(text: str, *codemods: Codemod) -> InPlaceMigration:
    found = migrate_in_place([Source("train.py", text)], codemods)
    assert not found.problems
    return found


@pytest.mark.parametrize(("codemod", "example"), EXAMPLES)
def test_an_example_becomes_what_it_says(codemod: Codemod, example: Example) -> None:
    found = migrated(example.before, codemod)
    assert found.texts.get("train.py", example.before) == example.after
    refusals = " ".join(refusal.message for refusal in found.refusals)
    assert example.refused in refusals
    assert bool(refusals) == bool(example.refused)


@pytest.mark.parametrize(("codemod", "example"), EXAMPLES)
def test_a_second_run_changes_nothing(codemod: Codemod, example: Example) -> None:
    again = migrated(example.after, *codemods_to(codemod.api))
    assert not again.texts
    assert not again.changes


@pytest.mark.parametrize(("codemod", "example"), EXAMPLES)
def test_examples_are_python(codemod: Codemod, example: Example) -> None:
    ast.parse(example.before)
    ast.parse(example.after)


@pytest.mark.parametrize("codemod", own_codemods(), ids=lambda diagnostic: diagnostic.code)
def test_every_codemod_shows_what_it_changes_leaves_and_refuses(codemod: Codemod) -> None:
    shown = codemod.examples
    assert any(example.before != example.after for example in shown) != codemod.names_only
    assert any(example.before == example.after and not example.refused for example in shown)
    assert any(example.refused for example in shown)
