"""Every row that adapts has its code, and every adaptation of the code has its row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import pytest

from crosscast.emit.compiler import Compiled, compile_recipe
from crosscast.emit.frame import frame_of
from crosscast.emit.printer import PlanPrinter
from crosscast.emit.render import render
from crosscast.messages.diagnostics import DiagnosticError
from crosscast.recipe.document import Recipe
from crosscast.targets.backend import find_target
from crosscast.targets.capability import Verdict, adaptations
from emission_bases import ADAPTED, TARGETS
from frameworks.emitted_script import tiny_recipe
from own_parts import own_backends
from tiers import cases

QUICK = [target for target in TARGETS if "@" not in target]


@cache
def base(name: str) -> Recipe:
    return tiny_recipe(**ADAPTED[name])


@cache
def compiled(target: str) -> dict[str, Compiled]:
    """Return what a target compiles of the bases that it accepts."""
    found = {}
    for name in ADAPTED:
        try:
            (found[name],) = compile_recipe(base(name), [target])
        except DiagnosticError:
            continue
    return found


def printed(done: Compiled, recipe: Recipe, adapted: frozenset[str]) -> dict[str, str]:
    """Return the text of a target's files with other adaptations."""
    target, plan = done.target, replace(done.plan, adapted=adapted)
    assert isinstance(target.backend, PlanPrinter)
    files = target.backend.print_plan(plan, frame_of(recipe), target.dialect, "script")
    return {f.path: render(target.backend.templates, f.template, f.view) for f in files}


def without_code(target: str) -> Iterator[tuple[str, str]]:
    """Yield base and adaptation that can be taken away without a change of the text."""
    for name, done in compiled(target).items():
        texts = {path: file.text for path, file in done.files.items()}
        for adaptation in sorted(done.plan.adapted):
            if printed(done, base(name), done.plan.adapted - {adaptation}) == texts:
                yield name, adaptation


@pytest.mark.parametrize("target", cases(TARGETS, QUICK, "older dialects"))
def test_a_script_without_an_adaptation_is_another_script(target: str) -> None:
    assert list(without_code(target)) == []


@pytest.mark.parametrize("target", cases(TARGETS, QUICK, "older dialects"))
def test_the_picked_rows_name_the_adaptations_of_the_plan(target: str) -> None:
    for done in compiled(target).values():
        assert done.plan.adapted == adaptations(done.judgements)


@pytest.mark.parametrize("target", TARGETS)
def test_every_row_that_adapts_names_what_it_adds(target: str) -> None:
    nameless = [
        f"{row.path}: {row.how}"
        for row in find_target(target).rows
        if row.verdict is Verdict.ADAPTED and row.adapt is None
    ]
    assert nameless == []


@pytest.mark.parametrize("target", cases(TARGETS, QUICK, "older dialects"))
def test_every_adaptation_is_picked_for_a_base(target: str) -> None:
    named = {str(row.adapt) for row in find_target(target).rows if row.adapt is not None}
    picked = {name for done in compiled(target).values() for name in done.plan.adapted}
    assert picked == named


def test_an_adaptation_belongs_to_one_backend() -> None:
    owners: dict[str, set[str]] = {}
    for backend in own_backends():
        for row in backend.rows:
            if row.adapt is not None:
                owners.setdefault(str(row.adapt), set()).add(backend.name)
    assert {name: found for name, found in owners.items() if len(found) > 1} == {}
