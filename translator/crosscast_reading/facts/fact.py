"""A fact: a statement of a source about a training recipe, with its location."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from crosscast.messages.diagnostics import Span

Plain = bool | int | float | str | None
"""A value that a source can hold literally."""
PlainValue = Plain | tuple[Plain, ...]


class Layer(StrEnum):
    """Who says it. Later members win over earlier ones where both speak of one field."""

    LIBRARY = "library"
    """The default of a library, from the tables of defaults."""
    SCRIPT = "script"
    """The program itself, defaults of its flags included."""
    CONFIG = "config"
    """A configuration file."""
    ENVIRONMENT = "environment"
    """An exported variable."""
    LAUNCHER = "launcher"
    """The command that starts the program."""


Confidence = Literal["certain", "likely", "guess"]
Origin = Literal[
    "literal",
    "constant",
    "derived",
    "flag",
    "function_argument",
    "config",
    "shell_variable",
    "library_default",
    "presence",
]
"""How the value is written: a literal where it is used, a named constant, an expression, the
default of a command-line flag, an argument of a function of the source, an entry of a
configuration, a shell variable, nothing (the library decides); `presence` for facts that follow
from the shape of the code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A field of the vocabulary, its value in a source, and the location.

    Exactly one of three holds: there is a `value`; there is none but an `expression` (text of the
    source that could not be resolved to a value); there is neither, and `reason` says why.
    """

    field: str
    """Name of the vocabulary (`crosscast_reading.facts.vocabulary`)."""
    value: PlainValue = None
    known: bool = True
    """Whether `value` is what the source says; None may be a value."""
    expression: str = ""
    """Text of the source behind the value: a flag (`args.clip`), a name, a formula."""
    reason: str = ""
    """Why the value is unknown."""
    subject: str = ""
    """Which of several: the variable of an optimizer or scaler; empty if there is one."""
    places: tuple[Span, ...] = ()
    """Where it stands; the first place is the most telling one."""
    layer: Layer = Layer.SCRIPT
    origin: Origin = "literal"
    confidence: Confidence = "certain"
    under: tuple[str, ...] = ()
    """Conditions of the source under which it holds, as text: `args.fp16`, `not args.fp16`."""
    reader: str = ""
    """Name of the reader that found it."""
    file: str = ""
    """The source that it was read from, for facts without a place: what a library decides there."""

    @property
    def files(self) -> tuple[str, ...]:
        """The sources that say it, the most telling one first."""
        named = tuple(dict.fromkeys(place.file for place in self.places))
        return named or ((self.file,) if self.file else ())


def unknown(field: str, reason: str, *places: Span, subject: str = "", reader: str = "") -> Fact:
    """Return a fact that says only that a field is there and cannot be read."""
    return Fact(
        field=field,
        known=False,
        reason=reason,
        places=places,
        subject=subject,
        reader=reader,
        confidence="likely",
    )
