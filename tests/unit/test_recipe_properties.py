"""What holds for every recipe: it survives being written out, and every target means the same."""

from __future__ import annotations

import itertools
import math
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from crosscast.emit.compiler import compile_recipe, sets_types
from crosscast.emit.frame import recipe_hash
from crosscast.emit.render import py_literal
from crosscast.messages.diagnostics import DiagnosticError
from crosscast.plan.canonical import canonical_plan
from crosscast.plan.operations import AllReduce, Plan
from crosscast.plan.order import verify
from crosscast.recipe import rules
from crosscast.recipe.data import FileData, ImageData
from crosscast.recipe.document import CrossEntropy, Recipe
from crosscast.recipe.yaml_text import recipe_text
from crosscast.reference.interpreter import MicroBatch, Trace, run
from crosscast.targets.backend import Backend, Form, find_target, load_backend
from crosscast.targets.capability import Verdict, judge, leaves
from property_settings import examples
from recipe_strategies import COMPILED, loadable_backends, recipes
from recipe_texts import build
from strategies import ROLES, micro_batch, parameters

BACKENDS = ["jax", *(backend.name for backend in loadable_backends())]
FORMS: tuple[Form, ...] = ("script", "step")


@pytest.mark.parametrize("name", COMPILED)
def test_every_backend_loads(name: str) -> None:
    assert load_backend(name).name == name


@settings(max_examples=examples(40))
@given(recipes())
def test_a_recipe_written_out_loads_back_as_the_same(recipe: Recipe) -> None:
    assert rules.check(recipe) == []
    text = recipe_text(recipe)
    again = build(text)
    assert again == recipe
    assert recipe_text(again) == text
    assert recipe_hash(again) == recipe_hash(recipe)


@settings(max_examples=examples(30))
@given(recipes(), recipes())
def test_the_hash_tells_recipes_apart(recipe: Recipe, other: Recipe) -> None:
    assert (recipe_hash(recipe) == recipe_hash(other)) == (recipe == other)
    assert recipe_hash(recipe.model_copy(update={"seed": recipe.seed ^ 1})) != recipe_hash(recipe)


@settings(max_examples=examples(40))
@given(recipes())
def test_the_canonical_plan_keeps_the_order_rules(recipe: Recipe) -> None:
    plan = canonical_plan(recipe)
    assert verify(plan) == []
    assert (plan.find(AllReduce) is not None) == (recipe.processes > 1)


@pytest.mark.parametrize("backend", loadable_backends(), ids=lambda case: str(case.name))
@settings(max_examples=examples(15))
@given(recipe=recipes())
def test_every_field_has_a_verdict_from_a_row(backend: Backend, recipe: Recipe) -> None:
    judged = judge(recipe, backend.rows)
    assert [judgement.path for judgement in judged] == [path for path, _ in leaves(recipe)]
    forgotten = [judgement.path for judgement in judged if judgement.row.code == "CC300"]
    assert forgotten == []
    assert all(judgement.row.how for judgement in judged)


TEMPLATE_MARKS = re.compile(r"\{%|%\}|(?<!\$)\{#|\{\{ |Undefined")
"""What a template leaves when it is printed unrendered; `${#words[@]}` is Bash."""


def compiled(recipe: Recipe, name: str, form: Form) -> tuple[Plan, dict[str, str]] | None:
    """Return plan and texts, None if the target says it cannot."""
    try:
        (compiled,) = compile_recipe(recipe, [name], form=form)
    except DiagnosticError:
        return None
    return compiled.plan, {path: file.text for path, file in compiled.files.items()}


def titles(recipe: Recipe) -> Iterator[str]:
    """Yield the texts of the section `tracking`, any of which may look like a template."""
    for tracker in recipe.tracking.model_dump(exclude_none=True).values():
        yield from tracker.values()


@pytest.mark.parametrize("name", BACKENDS)
@settings(max_examples=examples(8, fresh=40))
@given(recipe=recipes(), form=st.sampled_from(FORMS))
def test_emitted_files_are_whole_programs(name: str, recipe: Recipe, form: Form) -> None:
    result = compiled(recipe, name, form)
    judged = judge(recipe, find_target(name).rows)
    unsupported = [
        judgement for judgement in judged if judgement.row.verdict is Verdict.UNSUPPORTED
    ]
    runs = find_target(name).runs
    chosen = sets_types(recipe) or recipe.overrides.get(name, {}).get("compile")
    about_the_model = recipe.activation_checkpointing or chosen
    about_the_loss = recipe.loss != CrossEntropy(target=recipe.loss.target or "labels")
    about_more = about_the_model or about_the_loss or recipe.tracking.used
    no_step = form == "step" and (about_more or not runs)
    assert (result is None) == bool(unsupported or no_step)
    if result is None:
        return
    _, files = result
    main = "train.py" if form == "script" else "step.py"
    assert (main in files) == runs
    for path, text in files.items():
        if path.endswith(".py"):
            compile(text, path, "exec")
        assert text.endswith("\n")
        assert not any(line != line.rstrip() for line in text.splitlines())
        if isinstance(recipe.data, FileData | ImageData):
            for path_given in (recipe.data.train, recipe.data.eval):
                text = text.replace(py_literal(path_given), "")
        for title in titles(recipe):
            text = text.replace(py_literal(title), "")
        assert not TEMPLATE_MARKS.search(text)
    assert compiled(recipe, name, form) == result


def test_emitted_files_pass_linter_and_formatter(tmp_path: Path) -> None:
    written = 0

    @settings(max_examples=examples(4, fresh=24), phases=[Phase.generate])
    @given(recipes())
    def write(recipe: Recipe) -> None:
        nonlocal written
        for name, form in itertools.product(BACKENDS, FORMS):
            result = compiled(recipe, name, form)
            if result is not None:
                folder = tmp_path / f"{written}-{name}-{form}"
                for path, text in result[1].items():
                    (folder / path).parent.mkdir(parents=True, exist_ok=True)
                    (folder / path).write_text(text)
        written += 1

    write()
    for command in (["check"], ["format", "--diff"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--isolated", "--no-cache", "--quiet"]
        done = subprocess.run([*ruff, tmp_path], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@cache
def gradients(seed: int, micro_batches: int, processes: int) -> list[list[list[MicroBatch]]]:
    """Four windows of random micro-batches for `strategies.SHAPES`, some of them not finite."""
    rng = np.random.default_rng(seed)
    windows = []
    for number in range(4):
        ranks = []
        for rank in range(processes):
            work = [
                micro_batch(seed + 100 * number + 10 * rank + i, rows=int(rng.integers(1, 4)))
                for i in range(micro_batches)
            ]
            ranks.append(work)
        if rng.random() < 0.4:
            poison = rng.choice((math.inf, -math.inf, math.nan))
            ranks[-1][-1].gradients["dense.weight"][0, 0] = poison
        windows.append(ranks)
    return windows


def comparable(trace: Trace) -> list[dict[str, object]]:
    """Return rows as plain data in which nan equals nan."""
    rows = []
    for row in trace.rows:
        plain: dict[str, object] = {
            name: repr(getattr(row, name))
            for name in row.__dataclass_fields__
            if name not in ("parameters", "moments")
        }
        for slot, tensors in {"parameters": row.parameters, **row.moments}.items():
            for name, array in tensors.items():
                plain[f"{slot}/{name}"] = array.tobytes()
        rows.append(plain)
    return rows


def traced(
    plan: Plan, windows: Sequence[Sequence[Sequence[MicroBatch]]]
) -> list[dict[str, object]]:
    return comparable(run(plan, parameters(), windows, ROLES))


@pytest.mark.parametrize("name", BACKENDS)
@settings(max_examples=examples(10, fresh=50))
@given(recipe=recipes(), seed=st.integers(0, 5))
def test_the_plan_of_a_target_means_what_the_recipe_means(
    name: str, recipe: Recipe, seed: int
) -> None:
    backend = load_backend(name)
    result = compiled(recipe, name, "step")
    if result is None:
        return
    plan, _ = result
    assert verify(plan) == []
    canonical = canonical_plan(recipe)
    if plan == canonical:
        return
    windows = gradients(seed, recipe.accumulation.steps, recipe.processes)
    assert traced(plan, windows) == traced(canonical, windows), backend.name
