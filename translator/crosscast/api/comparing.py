"""Compare the training that two sources define."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from crosscast.api import html
from crosscast.api.calls import Texts, named_versions, public
from crosscast.api.files import counted
from crosscast.api.parameters import VERSIONS, Parameter
from crosscast.api.result import Result
from crosscast.messages.code import Exit
from crosscast.messages.console import EXIT_FINDINGS, EXIT_OK
from crosscast.messages.diagnostics import Diagnostic
from crosscast.messages.screens import Part, Table
from crosscast.messages.unread import unread_parts

if TYPE_CHECKING:
    from crosscast.messages.diagnostics import Span
    from crosscast_reading.lift.recipe_diff import Difference

COLUMNS = ("field", "left", "right", "left at", "right at")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Diff(Result):
    """The fields in which two sources differ."""

    left: str
    right: str
    differences: tuple[Difference, ...]
    """Fields with different values."""
    unknown: tuple[Difference, ...]
    """Fields that at least one side does not specify."""
    diagnostics: tuple[Diagnostic, ...]
    _all: tuple[Difference, ...]

    @property
    def exit_code(self) -> Exit:
        """1 if a field differs, or a part of a side could not be read."""
        unread = unread_parts(self.diagnostics)
        return EXIT_FINDINGS if self.differences or unread else EXIT_OK

    @property
    def summary(self) -> str:
        """The number of differences, and what was not compared."""
        if self.differences:
            words = f"{counted(len(self.differences), 'field')} differ"
        else:
            words = "No differences in the fields that both sides specify"
        return f"{words}; {len(self.unknown)} not compared" if self.unknown else words

    @property
    def rows(self) -> tuple[tuple[str, ...], ...]:
        """Field, values and places of every difference."""
        from crosscast_reading.lift.annotated_yaml import scalar

        return tuple(
            (d.path, scalar(d.left), scalar(d.right), _at(d.left_places), _at(d.right_places))
            for d in self.differences
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        from crosscast_reading.lift.report import place

        return {
            "left": self.left,
            "right": self.right,
            "differences": [
                {
                    "field": difference.path,
                    "state": difference.state,
                    "left": difference.left,
                    "right": difference.right,
                    "left_places": [place(p) for p in difference.left_places],
                    "right_places": [place(p) for p in difference.right_places],
                }
                for difference in self._all
            ],
            "diagnostics": [diagnostic.to_json() for diagnostic in self.diagnostics],
        }

    @property
    def _about(self) -> str:
        return f"{self.left} against {self.right}"

    @property
    def _next(self) -> str:
        if self.differences:
            return "decide for each field below which side is right"
        return "nothing to change in what both sides specify"

    def _parts(self, *, all: bool) -> Iterator[Part]:
        if self.differences:
            yield Table(COLUMNS, self.rows)
        if self.unknown:
            names = ", ".join(difference.path for difference in self.unknown)
            yield f"Not compared, because at least one side does not specify them: {names}"

    def _html(self) -> Iterator[str]:
        if self.differences:
            yield html.table(COLUMNS, self.rows)
        if self.unknown:
            names = ", ".join(difference.path for difference in self.unknown)
            yield html.paragraph(f"Not compared: {names}")


def _at(places: Sequence[Span]) -> str:
    return f"{places[0].file}:{places[0].line}" if places else "-"


@public
def diff(
    left: Annotated[
        str | os.PathLike[str],
        Parameter(
            "The left side: a recipe, script, launch script, configuration, or folder with one "
            "run.",
            "A",
        ),
    ],
    right: Annotated[
        str | os.PathLike[str], Parameter("The right side, with the same choices.", "B")
    ],
    *,
    version: Annotated[Texts, VERSIONS] = (),
) -> Diff:
    """Compare the training that two sources define.

    Raises:
        DiagnosticError: a side cannot be read, or does not hold exactly one run.
    """
    from crosscast_reading.lift.recipe_diff import differences, side_of

    versions = named_versions(version)
    sides = [side_of(os.fspath(path), versions) for path in (left, right)]
    all_differences = tuple(differences(*sides))
    return Diff(
        left=sides[0].path,
        right=sides[1].path,
        differences=tuple(d for d in all_differences if d.state == "different"),
        unknown=tuple(d for d in all_differences if d.state == "unknown"),
        diagnostics=tuple(d for side in sides for d in side.diagnostics),
        _all=all_differences,
    )
