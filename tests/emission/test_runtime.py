"""What surrounds the training step: `runtime/`, whose text depends on the dialect alone."""

from __future__ import annotations

import ast
import contextlib
import time
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from crosscast.emit.compiler import compile_recipe
from crosscast.messages.diagnostics import DiagnosticError
from crosscast.recipe.document import Recipe
from emission import goldens
from emission_bases import ADAPTED, TARGETS
from frameworks.emitted_script import tiny_recipe
from property_settings import examples
from recipe_strategies import recipes

ROOT = Path(__file__).resolve().parents[2]
MODULE_LINES = 300
"""Every module of a runtime is shorter."""


def runtime(recipe: Recipe, target: str) -> dict[str, str]:
    """Return the modules of a runtime by path; none if the target cannot express the recipe."""
    with contextlib.suppress(DiagnosticError):
        (compiled,) = compile_recipe(recipe, [target])
        files = compiled.files.items()
        return {path: file.text for path, file in files if path.startswith("runtime/")}
    return {}


@cache
def whole(target: str) -> dict[str, str]:
    """Return every module that a target's scripts may have."""
    bases: tuple[dict[str, Any], ...] = ({}, ADAPTED["processes"])
    return {p: text for base in bases for p, text in runtime(tiny_recipe(**base), target).items()}


@pytest.mark.parametrize("target", TARGETS)
def test_whole_modules(target: str) -> None:
    goldens.check_runtime(whole(target), target)


def test_no_other_runtime_is_kept() -> None:
    kept = {path.name for path in goldens.RUNTIMES.iterdir() if path.is_dir()}
    assert kept == {"shared", *TARGETS}


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=examples(15))
@given(recipe=recipes())
def test_a_module_depends_on_the_dialect_alone(target: str, recipe: Recipe) -> None:
    for path, text in runtime(recipe, target).items():
        assert text == whole(target)[path], path


@pytest.mark.parametrize("target", TARGETS)
def test_a_module_depends_on_the_dialect_alone_where_everything_acts(target: str) -> None:
    seen = 0
    for sections in ADAPTED.values():
        found = runtime(tiny_recipe(**sections), target)
        seen += bool(found)
        assert found.items() <= whole(target).items(), sections
    assert seen > 10


@pytest.mark.parametrize("target", TARGETS)
def test_a_module_can_be_read(target: str) -> None:
    lengths = {path: len(text.splitlines()) for path, text in whole(target).items()}
    assert {path: lines for path, lines in lengths.items() if lines >= MODULE_LINES} == {}


@pytest.mark.parametrize("target", TARGETS)
def test_a_step_stands_alone(target: str) -> None:
    """`--form step` is one file, and imports nothing of a runtime."""
    if target == "paddle@fleet":
        return  # its step is part of a program, not a function
    (compiled,) = compile_recipe(tiny_recipe(), [target], form="step")
    assert compiled.files.keys() == {"step.py"}
    tree = ast.parse(compiled.files["step.py"].text)
    names = {n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    assert not [name for name in names if name.startswith("runtime")]


def test_a_power_of_a_beta_takes_no_time_by_its_exponent() -> None:
    """Paddle resumes by the powers of the betas, rounded after every factor."""
    for target in ("paddle", "paddle@dygraph2", "paddle@fleet"):
        tree = ast.parse(whole(target)["runtime/state.py"])
        (function,) = (n for n in tree.body if getattr(n, "name", "") == "rounded_power")
        space: dict[str, Any] = {"np": np, "lru_cache": lru_cache}
        exec(compile(ast.Module([function], []), "state.py", "exec"), space)
        power = space["rounded_power"]
        for beta in (0.0, 0.5, 0.9, 0.999):
            expected = np.float32(1)
            for exponent in range(1, 300):
                expected *= np.float32(beta)
                (found,) = power(beta, exponent)
                assert found == expected or np.float32(1) - found == np.float32(1) - expected
        started = time.perf_counter()
        for beta in (0.0, 0.9, 0.999, 0.99999):
            (found,) = power(beta, 2**31)
            assert 1 - float(found) == 1
        assert time.perf_counter() - started < 5
        assert power(1 - 1e-12, 2**31) == 1  # no float32 lies between
