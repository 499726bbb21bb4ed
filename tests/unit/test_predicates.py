"""Predicates over a recipe and over a Plan: every one stands once, and says yes and no."""

from __future__ import annotations

import ast
import inspect
from collections import defaultdict
from pathlib import Path

import pytest

from crosscast.recipe import predicates
from crosscast.recipe.document import Recipe
from crosscast.recipe.optimizer import ParameterGroup
from crosscast.recipe.validate import build_recipe
from crosscast.recipe.yaml_source import parse
from crosscast.variations.table import variations

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("translator", "backends", "parity")
NAMES = [
    name
    for name, found in inspect.getmembers(predicates, inspect.isfunction)
    if found.__module__ == predicates.__name__
]


def test_no_predicate_stands_twice() -> None:
    places = defaultdict(list)
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.FunctionDef) and _is_predicate(node):
                    body = node.body[1:] if ast.get_docstring(node) else node.body
                    text = "\n".join((ast.unparse(node.args), *map(ast.unparse, body)))
                    places[text].append(f"{path.relative_to(ROOT)}:{node.name}")
    assert [names for names in places.values() if len(names) > 1] == []


def _is_predicate(node: ast.FunctionDef) -> bool:
    types = [ast.unparse(arg.annotation) for arg in node.args.args if arg.annotation is not None]
    return (
        types in (["Recipe"], ["Plan"])
        and node.returns is not None
        and ast.unparse(node.returns) == "bool"
    )


@pytest.mark.parametrize("name", NAMES)
def test_every_predicate_tells_recipes_apart(name: str) -> None:
    predicate = getattr(predicates, name)
    answers = set()
    for recipe in _recipes():
        answers.add(predicate(recipe))
        answers |= {predicate(variation.recipe) for variation in variations(recipe, unfit=True)}
        if len(answers) == 2:
            break
    assert answers == {True, False}


def _recipes() -> list[Recipe]:
    """Return the examples, and what neither they nor their variations ask for."""
    paths = sorted((ROOT / "examples").glob("*/recipe.yaml"))
    recipes = [build_recipe(parse(path.read_text(encoding="utf-8"), str(path))) for path in paths]
    first = recipes[0]
    group = ParameterGroup(parameters=("head.*",), weight_decay=0.1)
    others = {
        "distributed": first.distributed.model_copy(update={"nodes": 2}),
        "accumulation": first.accumulation.model_copy(update={"dtype": "compute"}),
        "optimizer": first.optimizer.model_copy(update={"groups": (group,)}),
    }
    return [*recipes, first.model_copy(update=others)]
