"""The Paddle backend of crosscast."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from crosscast.capability import Row
from crosscast.codes import Code
from crosscast.emit import template_root
from crosscast.recipe import Recipe, Section
from crosscast.target import Dialect, Form, Lowered
from crosscast_paddle import lower as lowering
from crosscast_paddle.dialects import DIALECTS
from crosscast_paddle.overrides import PaddleOverrides
from crosscast_paddle.rows import CODES, ROWS

TEMPLATES = template_root()


@dataclass(frozen=True, slots=True)
class PaddleBackend:
    """Emits paddle.amp training scripts for dynamic graphs."""

    name: str = "paddle"
    title: str = lowering.TITLE
    distributions: tuple[str, ...] = ("paddlepaddle", "paddlepaddle-gpu")
    dialects: tuple[Dialect, ...] = DIALECTS
    rows: tuple[Row, ...] = ROWS
    codes: tuple[Code, ...] = CODES
    overrides: type[Section] = PaddleOverrides
    templates: Path = TEMPLATES

    def lower(self, recipe: Recipe, dialect: Dialect, form: Form) -> Lowered:
        """Return plan and files for a recipe that the rows accept."""
        return lowering.lower(recipe, self.templates, form)


BACKEND = PaddleBackend()
