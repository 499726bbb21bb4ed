"""What a codemod is: it finds an old API in a program and writes the new one in its place."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from crosscast.edits.edit import Edit
from crosscast.messages.diagnostics import Span

if TYPE_CHECKING:
    from crosscast.sources.subject import Subject

Api = Literal["torch.amp", "keras3", "paddle3"]
"""The APIs that programs are brought to: the present one of each framework."""
APIS: tuple[Api, ...] = get_args(Api)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One thing that is written anew. All its edits are made, or none."""

    span: Span
    """Where the old API stands."""
    message: str
    """What stands there afterwards, in one sentence, with the names of the source."""
    edits: tuple[Edit, ...]
    note: str = ""
    """What becomes different for the user all the same: another default, another file format."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Something old that is left as it is, because a person must decide."""

    span: Span
    message: str
    """What it is and why it cannot be changed with certainty."""
    hint: str
    """What to decide, or what to write by hand."""


Outcome = Change | Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A program before and after; equal for one that must stay. `refused`: what is said then."""

    before: str
    after: str
    refused: str = ""
    """A part of the message of the refusal; empty if nothing is refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Codemod:
    """One codemod. Its examples are tested: changed, unchanged and refused ones."""

    code: str
    """CM and three digits: CM1xx torch.amp, CM2xx keras3, CM3xx paddle3."""
    name: str
    """In kebab case: `apex-amp`."""
    api: Api
    title: str
    """What it changes into what, in one line."""
    hints: tuple[str, ...]
    """Words without one of which in the text there is nothing to change: a fast pre-filter."""
    examples: tuple[Example, ...]
    run: Callable[[Subject], Iterable[Outcome]]
    """Find everything that it changes or refuses. A program that was changed gives no change."""
