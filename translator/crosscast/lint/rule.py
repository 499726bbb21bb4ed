"""The definition of a lint rule."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from crosscast.edits.edit import Edit
from crosscast.messages.diagnostics import Severity, Span

if TYPE_CHECKING:
    from crosscast.sources.subject import Subject

Topic = Literal[
    "accumulation",
    "loss scaling",
    "clipping",
    "precision",
    "schedule",
    "optimizer",
    "distributed",
    "keras",
    "paddle",
    "launch",
    "outdated",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A mistake at a place."""

    span: Span
    message: str
    """What is wrong here and what it does, in one sentence, with the names of the source."""
    hint: str = ""
    """What to write instead."""
    related: tuple[Span, ...] = ()
    """Other places that matter: the step that the clipping comes too late for."""
    edits: tuple[Edit, ...] = ()
    """A certain repair; empty if a person must decide."""
    severity: Severity | None = None
    """Instead of the rule's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule. The wrong example must give exactly this finding, the right one none at all."""

    code: str
    """CL and three digits; never used again for something else."""
    name: str
    """In kebab case: `clip-before-unscale`."""
    topic: Topic
    severity: Severity
    title: str
    why: str
    """What happens to the training, with numbers where semantics are measured."""
    wrong: str
    """A whole small example: Python, shell, JSON or YAML (`language`)."""
    right: str
    check: Callable[[Subject], Iterable[Finding]]
    language: Literal["python", "bash", "json", "yaml"] = "python"
    hints: tuple[str, ...] = ()
    """Words without one of which in the text it finds nothing: a fast pre-filter."""
    fixable: bool = False
    sources: tuple[str, ...] = ()
    """Where the fact is documented: `pytorch/examples#1196`, a section of the framework's docs."""
    needs_training: bool = True
    """Whether it is only asked about sources that train (`Subject.trains`)."""
    beside: tuple[tuple[str, str], ...] = ()
    """Name and text of files that lie beside both examples: the program that a script starts."""

    @property
    def example_name(self) -> str:
        """The name of the file that holds an example: its suffix says the language."""
        suffix = {"python": "py", "bash": "sh", "json": "json", "yaml": "yaml"}[self.language]
        return f"example.{suffix}"
