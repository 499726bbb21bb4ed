"""The TensorFlow/Keras backend of crosscast."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from crosscast.capability import Row
from crosscast.codes import Code
from crosscast.emit import template_root
from crosscast.recipe import Recipe, Section
from crosscast.target import Dialect, Form, Lowered
from crosscast_tensorflow import lower as lowering
from crosscast_tensorflow.dialects import DIALECTS
from crosscast_tensorflow.overrides import TensorflowOverrides
from crosscast_tensorflow.rows import CODES, ROWS

TEMPLATES = template_root()


@dataclass(frozen=True, slots=True)
class TensorflowBackend:
    """Emits Keras 3 training scripts with a custom loop in TensorFlow."""

    name: str = "tensorflow"
    title: str = lowering.TITLE
    distributions: tuple[str, ...] = ("tensorflow", "tensorflow-cpu")
    dialects: tuple[Dialect, ...] = DIALECTS
    rows: tuple[Row, ...] = ROWS
    codes: tuple[Code, ...] = CODES
    overrides: type[Section] = TensorflowOverrides
    templates: Path = TEMPLATES

    def lower(self, recipe: Recipe, dialect: Dialect, form: Form) -> Lowered:
        """Return plan and files for a recipe that the rows accept."""
        return lowering.lower(recipe, self.templates, form)


BACKEND = TensorflowBackend()
