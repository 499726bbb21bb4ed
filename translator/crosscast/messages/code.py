"""The record of a diagnostic code, and what a command ends with."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Exit(IntEnum):
    """What a command ends with, and what a result in Python says of itself."""

    OK = 0
    FINDINGS = 1
    """Problems were found, or programs are not equivalent."""
    USAGE = 2
    """A usage error, or a file that cannot be read or written."""
    CANNOT_RUN = 3
    """Something is missing on this machine."""
    INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class Code:
    """A diagnostic code with its title and a help text."""

    code: str
    title: str
    help: str
    exit: Exit = Exit.FINDINGS
    """What an error with this code ends a command with: `USAGE` if it is about the command line or
    a call from Python (an option, a target, a file or a folder)."""
