"""The record of a diagnostic code."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Code:
    """A diagnostic code with its title and a help text."""

    code: str
    title: str
    help: str
