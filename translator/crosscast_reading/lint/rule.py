"""The definition of a lint rule."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Literal

from crosscast.messages.diagnostics import Severity, Span
from crosscast_reading.edits.edit import Edit

if TYPE_CHECKING:
    from crosscast_reading.sources.subject import Subject

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
    "jax",
    "launch",
    "outdated",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A mistake at a location."""

    span: Span
    message: str
    """The mistake and its effect, in one sentence, with the names of the source."""
    hint: str = ""
    """What to write instead."""
    related: tuple[Span, ...] = ()
    """Other relevant locations, such as the step before a late clipping."""
    edits: tuple[Edit, ...] = ()
    """A safe fix; empty if a person must decide."""
    severity: Severity | None = None
    """Overrides the severity of the rule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleForm:
    """What the mistake of a general rule looks like in programs of one framework.

    A module of a framework's rules lists them in `FORMS`, in place of a `RULE`.
    """

    rule: str
    """The code of the rule, which the findings get."""
    check: Callable[[Subject], Iterable[Finding]]
    hints: tuple[str, ...] = ()
    """A text without any of these words has no findings of it; empty: those of the rule count."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule. Its wrong example must yield exactly this finding, the right one none.

    What is said to users of crosscast's own rules, from `name` to `sources`, is written on their
    pages in docs/reference/rules; `all_rules` reads it there.
    """

    code: str
    """CL and three digits; never reused."""
    check: Callable[[Subject], Iterable[Finding]]
    _: KW_ONLY
    hints: tuple[str, ...] = ()
    """A text without any of these words has no findings: a fast pre-filter."""
    needs_training: bool = True
    """Whether it applies only to sources that train (`Subject.trains`)."""
    replaces: tuple[str, ...] = ()
    """Codes of general rules whose findings at the same place it replaces."""
    forms: tuple[RuleForm, ...] = ()
    """What the mistake looks like in some frameworks; the registry fills it."""
    topic: Topic | Literal[""] = ""
    """Empty: that of the folder with the module."""
    name: str = ""
    """In kebab case: `clip-before-unscale`."""
    severity: Severity = Severity.WARNING
    fixable: bool = False
    title: str = ""
    why: str = ""
    """The effect on the training, with numbers if it was measured."""
    wrong: str = ""
    """A complete small example: Python, shell, JSON or YAML (`language`)."""
    right: str = ""
    language: Literal["python", "bash", "json", "yaml"] = "python"
    beside: tuple[tuple[str, str], ...] = ()
    """Name and text of files next to both examples, such as the program of a launch script."""
    sources: tuple[str, ...] = ()
    """Source of the fact: `pytorch/examples#1196`, a section of the framework's docs."""

    @property
    def example_name(self) -> str:
        """The file name of an example, with the suffix of its language."""
        suffix = {"python": "py", "bash": "sh", "json": "json", "yaml": "yaml"}[self.language]
        return f"example.{suffix}"
