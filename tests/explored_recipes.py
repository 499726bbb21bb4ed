"""Examples and what the explorer finds in their scripts."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from crosscast.carriers.effects import OtherRecipes
from crosscast.emit.compiler import Compiled, compile_recipe
from crosscast.explore.script_lines import ScriptLines, script_lines
from crosscast.messages.diagnostics import DiagnosticError
from crosscast.recipe.load import load
from crosscast.targets.backend import installed_backends, program_names

EXAMPLES = Path(__file__).parents[1] / "examples"
NAMES = sorted(path.parent.name for path in EXAMPLES.glob("*/recipe.yaml"))
SCRIPTS = [(name, target) for name in NAMES for target in program_names()]
"""Every example for every framework; some cannot be compiled."""
DIALECTS = [
    f"{backend.name}@{dialect.name}"
    for backend in installed_backends()
    for dialect in backend.dialects
    if dialect.emits == "script"
]


def path_of(name: str) -> str:
    """Return the path of an example's recipe."""
    return str(EXAMPLES / name / "recipe.yaml")


@cache
def others_of(name: str) -> OtherRecipes:
    """Return the recipes with other values; the targets share them."""
    return OtherRecipes(load(path_of(name)))


@cache
def explored(name: str, target: str) -> tuple[Compiled, ScriptLines] | None:
    """Return a script with its lines; None if the target cannot express the example."""
    others = others_of(name)
    try:
        (compiled,) = compile_recipe(others.recipe, [target])
    except DiagnosticError:
        return None
    return compiled, script_lines(others, compiled)
