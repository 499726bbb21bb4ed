"""What a page shows: recipes with the origin of their values, and their scripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from crosscast.carriers.effects import OtherRecipes
from crosscast.emit.compiler import Compiled, compile_recipe
from crosscast.explore.script_lines import ScriptLines, script_lines
from crosscast.messages.diagnostics import Diagnostic, DiagnosticError, Severity, Span
from crosscast.messages.source import Source
from crosscast.recipe.document import Recipe
from crosscast.targets.backend import Target, find_target
from crosscast.targets.capability import Judgement, judge

How = Literal["written", "read", "derived", "default", "assumed"]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value of a recipe comes from."""

    how: How
    """`written`: it is in the recipe file. `read`, `derived`, `assumed`: see `lift`."""
    note: str = ""
    places: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One recipe of a page."""

    name: str
    """Name of the file that it comes from."""
    recipe: Recipe
    origins: Mapping[str, Origin] = field(default_factory=dict)
    sources: tuple[Source, ...] = ()
    """The scripts from which the recipe was read."""
    events: Mapping[str, tuple[tuple[str, int], ...]] = field(default_factory=dict)
    """Kind of an operation to the lines of the sources that do it: file and number."""
    notes: tuple[Diagnostic, ...] = ()
    beside: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Folder of a target to the texts of files that belong to its script and are not emitted."""

    def origin(self, path: str) -> Origin:
        """Return the origin of a field, or of what contains it or is contained in it."""
        name = path
        while name:
            if name in self.origins:
                return self.origins[name]
            name = name.rpartition(".")[0]
        parts = [self.origins[name] for name in self.origins if name.startswith(f"{path}.")]
        return parts[0] if parts else Origin("default")


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """One target of one recipe."""

    side: int
    target: Target
    compiled: Compiled | None
    """None if the target cannot express the recipe."""
    judgements: Mapping[str, Judgement]
    lines: ScriptLines
    tried: frozenset[str]
    """Fields for which there is a valid recipe with another value."""
    refusals: tuple[Diagnostic, ...] = ()


def scripts_of(sides: Sequence[Side], targets: Sequence[str]) -> list[Script]:
    """Return the scripts of every recipe, in the order of the recipes.

    Raises:
        DiagnosticError: No target can express a recipe.
    """
    scripts = []
    for number, side in enumerate(sides):
        others = OtherRecipes(side.recipe)
        of_recipe = [_script(number, others, find_target(name)) for name in targets]
        if all(script.compiled is None for script in of_recipe):
            raise DiagnosticError(*(refusal for script in of_recipe for refusal in script.refusals))
        scripts += of_recipe
    return scripts


def _script(number: int, others: OtherRecipes, target: Target) -> Script:
    recipe = others.recipe
    judgements = {judgement.path: judgement for judgement in judge(recipe, target.rows)}
    compiled, lines = None, ScriptLines({}, {})
    refusals: tuple[Diagnostic, ...] = ()
    try:
        (compiled,) = compile_recipe(recipe, [target.name])
    except DiagnosticError as error:
        refusals = tuple(d for d in error.diagnostics if d.severity is Severity.ERROR)
    else:
        judgements = {judgement.path: judgement for judgement in compiled.judgements}
        lines = script_lines(others, compiled)
    return Script(
        side=number,
        target=target,
        compiled=compiled,
        judgements=judgements,
        lines=lines,
        tried=frozenset(p for p in judgements if next(others.of(p), None) is not None),
        refusals=refusals,
    )
