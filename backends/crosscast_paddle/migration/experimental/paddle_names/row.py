"""A row of the table: one old name and what it is in Paddle 3."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from crosscast_reading.edits.edit import Edit

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module

Mode = Literal["static", "dynamic"]
"""Whether a program builds a graph first (`Executor`) or computes at once (`fluid.dygraph`)."""

Rewrite = Callable[["Module", ast.Call], list[Edit]]
"""Return the edits of the arguments of a call; raise `CannotError` if that is not certain."""

Variant = Callable[["Module", "ast.Call | None"], "NameRow"]
"""Choose the row that a use is moved by, from its arguments (None: it is not called); raise
`CannotError` if that is not certain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NameRow:
    """One old name, with all its aliases. One of `new`, `helper`, `refused` and `variant` is given;
    with `new` and `helper` the function takes the calls whose arguments `new` cannot take."""

    old: tuple[str, ...]
    """Names after `paddle.fluid.`, in the form of `names.plain` (`layers.fc`, not
    `layers.nn.fc`); names outside of fluid are written whole (`paddle.imperative.to_variable`)."""
    mode: Mode | Literal["both"] = "both"
    new: str = ""
    """The new qualified name, such as `paddle.static.nn.fc`."""
    helper: str = ""
    """A function of `helpers`, which is written into the file; it takes the old arguments, and
    of the other fields only `rewrite` is read."""
    refused: str = ""
    """Why there is no counterpart, and the way out after a semicolon."""
    order: str = ""
    """The old positional parameters; needed if `new_order`, `dropped` or `written` is given."""
    new_order: str = ""
    """The new positional parameters, in their old names; empty: as `order`. From the first
    difference on, positional arguments become keyword arguments."""
    renamed: Mapping[str, str] = field(default_factory=dict)
    """Old to new keyword."""
    dropped: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Old keyword to the texts of the values at which it may be dropped; `*`: any value."""
    written: Mapping[str, str] = field(default_factory=dict)
    """Old keyword to the old default, written out (under the new keyword) if it is not given."""
    values: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Old keyword to the old and new texts of its values; others cannot be changed."""
    rewrite: Rewrite | None = None
    """Further edits of the arguments of a call."""
    variant: Variant | None = None
    """Chooses another row; the other fields of this one are not read then."""
    note: str = ""
    """A remaining difference for the user."""

    @property
    def changes_arguments(self) -> bool:
        """Whether a use that is not a call would differ."""
        return bool(
            self.new_order
            or self.renamed
            or self.dropped
            or self.written
            or self.values
            or self.rewrite
            or self.variant
        )
