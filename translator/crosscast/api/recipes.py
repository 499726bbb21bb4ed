"""Recipes: load, show, check."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from crosscast.api import html
from crosscast.api.calls import Words, public, targets_of
from crosscast.api.files import counted
from crosscast.api.parameters import ALLOW_FILL_IN, RECIPE, RECIPES, STRICT, targets
from crosscast.api.result import Result
from crosscast.messages.code import Exit
from crosscast.messages.console import EXIT_OK
from crosscast.messages.console import exit_code as exit_code_of
from crosscast.messages.diagnostics import Diagnostic, DiagnosticError, Severity

if TYPE_CHECKING:
    from crosscast.messages.source import Source
    from crosscast.recipe.document import Recipe
    from crosscast.recipe.load import Loaded


@dataclass(frozen=True, slots=True, repr=False)
class LoadedRecipe(Result):
    """A valid recipe and the text it came from. `str()` is the recipe with every default."""

    source: Source = field(compare=False)
    """The text and its name."""
    placed: Loaded = field(compare=False)
    """The recipe with the place of every field."""
    fields: Recipe
    """The values: typed, frozen and complete, such as `recipe.fields.optimizer.learning_rate`."""

    @property
    def name(self) -> str:
        """The name of the recipe."""
        return self.fields.name

    @property
    def text(self) -> str:
        """The recipe as YAML with every default and derived value written out."""
        from crosscast.recipe.yaml_text import recipe_text

        return recipe_text(self.fields, self.placed.document.marks)

    @property
    def open(self) -> tuple[Diagnostic, ...]:
        """A warning for every value that is still marked FILL IN."""
        from crosscast.recipe.fill_in import still_open

        return tuple(still_open(self.placed.document.marks, Severity.WARNING))

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Warnings about the recipe."""
        return tuple(self.placed.notices())

    @property
    def exit_code(self) -> Exit:
        """Always 0: a recipe that cannot be loaded is an error."""
        return EXIT_OK

    @property
    def summary(self) -> str:
        """Name and kind of the recipe."""
        fields = self.fields
        return (
            f"recipe {self.name}: {fields.model.kind} model, {fields.optimizer.name}, "
            f"{counted(fields.schedule.total_steps, 'step')}"
        )

    @property
    def _about(self) -> str:
        return f"{self.source.name} ({self.name})"

    @property
    def _next(self) -> str:
        if self.placed.document.marks:
            return f"fill in {counted(len(self.placed.document.marks), 'value')} marked FILL IN"
        return f"crosscast explain {shown(self)} says what each target does with it"

    def to_json(self) -> dict[str, Any]:
        """Return the recipe as plain data."""
        from crosscast.recipe.versions import as_written

        return as_written(self.fields.model_dump(mode="json"))

    def __str__(self) -> str:
        return self.text

    def _html(self) -> Iterator[str]:
        yield html.pre(self.text)


_LISTED = 3
"""Maximum number of recipes that are named."""
RecipeLike = LoadedRecipe | str | os.PathLike[str]
"""A loaded recipe, or the path of one; `-` is standard input."""


def shown(recipe: LoadedRecipe) -> str:
    """Return the name of the file of a recipe as a command line has it."""
    return shlex.quote(recipe.source.name)


def read(source: Source) -> LoadedRecipe:
    """Return the recipe of a text that was read.

    Raises:
        DiagnosticError: every problem of the recipe.
    """
    from crosscast.recipe.load import placed_recipe

    placed = placed_recipe(source)
    return LoadedRecipe(source, placed, placed.recipe)


def loaded(recipe: RecipeLike) -> LoadedRecipe:
    """Return a recipe that a public function was given.

    Raises:
        DiagnosticError: CC0xx for the file, CC1xx for fields, CC2xx for contradictions.
    """
    if isinstance(recipe, LoadedRecipe):
        return recipe
    from crosscast.messages.source import read_source
    from crosscast.recipe.yaml_source import MAX_BYTES

    return read(read_source(os.fspath(recipe), max_bytes=MAX_BYTES))


def folder_of(recipe: RecipeLike) -> Path:
    """Return the folder that the paths in a recipe are relative to."""
    name = recipe.source.name if isinstance(recipe, LoadedRecipe) else os.fspath(recipe)
    here = name == "-" or name.startswith("<")
    return Path.cwd() if here else Path(name).absolute().parent


@public
def load(path: str | os.PathLike[str]) -> LoadedRecipe:
    """Read and validate a recipe file; `-` reads standard input.

    Args:
        path: the file.

    Raises:
        DiagnosticError: CC0xx for the file, CC1xx for fields, CC2xx for contradictions; all
            problems together.
    """
    return loaded(path)


@public
def loads(text: str, *, name: str = "<text>") -> LoadedRecipe:
    """Validate a recipe that is a text.

    Args:
        text: the recipe as YAML.
        name: what diagnostics call it. The name of a file makes its folder the one that the paths
            in the recipe are relative to.

    Raises:
        DiagnosticError: as `load`.
    """
    from crosscast.messages.source import Source

    return read(Source(name, text))


@public
def show(recipe: Annotated[RecipeLike, RECIPE]) -> LoadedRecipe:
    """Return a recipe; its `text` has every default and derived value written out.

    Raises:
        DiagnosticError: as `load`.
    """
    return loaded(recipe)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Check(Result):
    """The problems of recipes."""

    diagnostics: tuple[Diagnostic, ...]
    recipes: int
    """Number of recipes."""
    _names: str = ""

    @property
    def exit_code(self) -> Exit:
        """0 without errors."""
        return exit_code_of(self.diagnostics)

    @property
    def summary(self) -> str:
        """The numbers of errors, warnings and recipes."""
        parts = []
        for severity in (Severity.ERROR, Severity.WARNING):
            count = sum(diagnostic.severity is severity for diagnostic in self.diagnostics)
            if count:
                parts.append(counted(count, str(severity)))
        return f"Found {' and '.join(parts) or 'no errors'} in {counted(self.recipes, 'recipe')}."

    @property
    def _about(self) -> str:
        return self._names

    @property
    def _next(self) -> str:
        if not self.ok:
            return "correct what the messages below name, and check again"
        if self.diagnostics:
            return "read the messages below, then compile"
        return "crosscast compile RECIPE --to TARGET -o FOLDER"


@public
def check(
    recipes: Annotated[RecipeLike | Sequence[RecipeLike], RECIPES],
    to: Annotated[
        Words | None, targets("Also check that these targets can express the recipe.")
    ] = None,
    *,
    strict: Annotated[bool, STRICT] = False,
    allow_fill_in: Annotated[bool, ALLOW_FILL_IN] = False,
) -> Check:
    """Check recipes and report all problems. Errors in a recipe are part of the result.

    Raises:
        DiagnosticError: CC106 for an unknown target.
    """
    targets = targets_of(to) if to else []
    if isinstance(recipes, LoadedRecipe | str | os.PathLike):
        recipes = [recipes]
    diagnostics: list[Diagnostic] = []
    for recipe in recipes:
        try:
            diagnostics += _problems(loaded(recipe), targets, strict, allow_fill_in)
        except DiagnosticError as error:
            diagnostics += error.diagnostics
    names = [str(r.source.name if isinstance(r, LoadedRecipe) else r) for r in recipes]
    listed = ", ".join(names) if len(names) <= _LISTED else counted(len(names), "recipe")
    for_targets = f" for {', '.join(targets)}" if targets else ""
    return Check(
        diagnostics=tuple(diagnostics), recipes=len(recipes), _names=f"{listed}{for_targets}"
    )


def _problems(
    recipe: LoadedRecipe, targets: list[str], strict: bool, allow_fill_in: bool
) -> list[Diagnostic]:
    from crosscast.emit.compiler import check_all_overrides, compile_recipe
    from crosscast.recipe.fill_in import still_open

    refused = [] if allow_fill_in else still_open(recipe.placed.document.marks)
    try:
        check_all_overrides(recipe.fields)
        compiled = compile_recipe(recipe.fields, targets, strict=strict)
    except DiagnosticError as error:
        raise DiagnosticError(*refused, *recipe.placed.placed(error).diagnostics) from None
    notices = [
        diagnostic for diagnostic in recipe.diagnostics if not refused or diagnostic.code != "CC109"
    ]
    built = [diagnostic for backend in compiled for diagnostic in backend.diagnostics]
    return [*refused, *notices, *_newer(recipe), *built]


def _newer(recipe: LoadedRecipe) -> Iterator[Diagnostic]:
    from crosscast.recipe.validate import locate
    from crosscast.recipe.versions import meaning_of_newer

    document = recipe.placed.document
    note = meaning_of_newer(recipe.fields, document.data)
    if note:
        yield locate(document, note)
