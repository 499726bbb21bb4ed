"""Which emitted lines carry a field, and which are an operation."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from crosscast.carriers.field_lines import carriers
from crosscast.carriers.operation_lines import operation_lines
from crosscast.carriers.text_changes import Line
from crosscast.emit.compiler import compile_recipe
from crosscast.emit.lowering import MARK
from crosscast.recipe.load import load

EXAMPLES = Path(__file__).parents[3] / "examples"
RECIPES = {name: load(str(EXAMPLES / name / "recipe.yaml")) for name in ("apex-o1", "bert-small")}
CASES = [(name, target) for name in RECIPES for target in ("torch", "tensorflow", "paddle")]


@cache
def carried_by(name: str, target: str) -> Mapping[str, tuple[Line, ...]]:
    return carriers(RECIPES[name], target)


@cache
def operations_of(name: str, target: str) -> Mapping[str, tuple[Line, ...]]:
    return operation_lines(RECIPES[name], target)


@pytest.mark.parametrize(("name", "target"), CASES)
def test_lines_are_those_of_the_emitted_files(name: str, target: str) -> None:
    (compiled,) = compile_recipe(RECIPES[name], [target])
    lines = [
        line
        for found in (carried_by(name, target), operations_of(name, target))
        for carried in found.values()
        for line in carried
    ]
    assert lines
    for line in lines:
        assert compiled.files[line.file].text.split("\n")[line.line - 1] == line.text
        assert MARK.strip() not in line.text


@pytest.mark.parametrize(("name", "target"), CASES)
def test_a_number_of_a_recipe_stands_in_the_lines_that_carry_it(name: str, target: str) -> None:
    recipe = RECIPES[name]
    found = carried_by(name, target)
    wanted = {
        "optimizer.learning_rate": recipe.optimizer.learning_rate,
        "optimizer.weight_decay": recipe.optimizer.weight_decay,
        "clipping.max_norm": getattr(recipe.clipping, "max_norm", None),
        "schedule.total_steps": recipe.schedule.total_steps,
        "batch.micro_batch_size": recipe.batch.micro_batch_size,
        "seed": recipe.seed,
    }
    for path, value in wanted.items():
        assert any(str(value) in line.text for line in found[path]), path


@pytest.mark.parametrize(("name", "target"), CASES)
def test_clipping_is_not_carried_by_an_import(name: str, target: str) -> None:
    found = carried_by(name, target)["clipping.kind"]
    assert found
    assert not any(line.text.startswith(("import ", "from ")) for line in found)


@pytest.mark.parametrize(("name", "target"), CASES)
def test_operations_of_the_plan_are_found(name: str, target: str) -> None:
    (compiled,) = compile_recipe(RECIPES[name], [target])
    found = operations_of(name, target)
    printed = {op.kind for op in compiled.plan}
    assert found.keys() <= printed
    assert {"backward", "step", "zero"} <= found.keys()


def test_compiling_is_the_same_after_the_lines_were_asked_for() -> None:
    recipe = RECIPES["apex-o1"]
    (before,) = compile_recipe(recipe, ["torch"])
    operation_lines(recipe, "torch")
    (after,) = compile_recipe(recipe, ["torch"])
    assert before.files == after.files


def test_what_is_not_emitted_has_no_lines() -> None:
    found = carried_by("apex-o1", "torch")
    assert found["activation_checkpointing"] == ()
    assert found["precision.tf32"] == ()
    # Its rate is constant, which this line says.
    (line,) = found["schedule.warmup_steps"]
    assert line.text.strip() == '"lr": LEARNING_RATE,'
