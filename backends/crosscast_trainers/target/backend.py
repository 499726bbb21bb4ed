"""A backend whose output configures a program of the user's."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crosscast.emit.render import template_root
from crosscast.messages.codes import Code
from crosscast.messages.diagnostics import DiagnosticError
from crosscast.plan.canonical import canonical_plan
from crosscast.recipe.document import Recipe, Section
from crosscast.targets.backend import Dialect, File, Form, Lowered, without_script
from crosscast.targets.capability import Judgement, Row
from crosscast.targets.defaults import Defaults
from crosscast_trainers import TEXTS
from crosscast_trainers.target.codes import CODES

TEMPLATES = template_root()
Files = Callable[[Recipe, Dialect], tuple[File, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TextView:
    """A file that is not made by its template."""

    text: str


def json_file(path: str, value: Mapping[str, Any]) -> File:
    """Return a file with JSON."""
    view = TextView(text=json.dumps(value, indent=2))
    return File(path=path, template="trainers/text.j2", view={"view": view})


class NoOverrides(Section):
    """A configuration has no settings of its own in a recipe."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerBackend:
    """Emits the configuration of one layer. `files` is what a recipe becomes in a dialect."""

    name: str
    title: str
    distributions: tuple[str, ...]
    dialects: tuple[Dialect, ...]
    rows: tuple[Row, ...]
    files: Files
    codes: tuple[Code, ...] = CODES
    defaults: tuple[Defaults, ...] = ()
    overrides: type[Section] = NoOverrides
    templates: Path = TEMPLATES
    texts: Path = TEXTS
    framework: None = None
    harness: None = None

    def lower(
        self, recipe: Recipe, judgements: Sequence[Judgement], dialect: Dialect, form: Form
    ) -> Lowered:
        """Return the neutral plan and the files.

        Raises:
            DiagnosticError: CC306 for the form `step`: a configuration has none to import.
        """
        if form == "step":
            raise DiagnosticError(without_script(self.name, "leave --form step out"))
        return Lowered(plan=canonical_plan(recipe), files=self.files(recipe, dialect))
