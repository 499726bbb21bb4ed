"""An edit: one piece of a text replaced by another."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """Replace the text between two places (lines and columns from 1, end exclusive)."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    text: str
