"""What runs train: a model and its rows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from crosscast.messages.diagnostics import DiagnosticError, failure
from crosscast.recipe.document import Recipe
from crosscast_parity.inputs.shared import Inputs
from crosscast_parity.scaling_law.shapes import Shape

TWINS = 3
"""Runs with perturbed weights."""


class Problem(Protocol):
    """A model and its rows: the shipped BERT on synthetic ones, or the user's on their own."""

    @property
    def rows(self) -> str:
        """What the rows are called behind their number."""

    @property
    def run(self) -> Mapping[str, Any]:
        """What a run of it needs: `folder` and `dropout` of `inside.session.Run`."""

    def derive(self, recipe: Recipe, shape: Shape, windows: int) -> tuple[Recipe, tuple[str, ...]]:
        """Return the recipe of one process for so many windows, and in words what was changed.

        Args:
            recipe: of the user.
            shape: of a window, which may be smaller than that of the recipe.
            windows: optimizer steps of a run.
        """

    def data(self, recipe: Recipe, train_rows: int) -> dict[str, Any]:
        """Return the changes that give a recipe so many rows, by path."""

    def write(
        self, recipe: Recipe, train_rows: int, folder: Path, target: str, python: str
    ) -> Inputs:
        """Write the rows and weights of all runs of a target below a folder.

        Raises:
            DiagnosticError: CC749 for a model for which the law does not hold, and as of
                `weights.workers` for one that fails.
        """


def refuse(message: str, hint: str = "") -> DiagnosticError:
    """Return the error for an option that makes no sense."""
    return failure("CC748", message, hint)
