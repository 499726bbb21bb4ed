"""Contradictions between layers: a launch that overrides its program, two configurations."""

from __future__ import annotations

from collections.abc import Iterator

from crosscast.messages.diagnostics import Diagnostic, Severity
from crosscast_reading.facts.fact import Fact
from crosscast_reading.facts.vocabulary import NUMBER, VOCABULARY, printed_name, printed_value
from crosscast_reading.lift.analysis import Analysis

_VAGUE = frozenset(
    {"library", "caller", "inherit", "elsewhere", "selectable", "flag", "config"}
    | {"library_default", "framework_default", "env_default", "launcher_or_config"}
)
"""Words that only say who decides."""
_STATED = ("literal", "constant", "config", "shell_variable")
"""Ways of writing a value that nothing outside can change."""
_WORDS = ("precision.compute_dtype", "optimizer.name", "schedule.name", "clipping.kind")
"""Fields besides numbers in which two layers can contradict each other."""


def conflicts(analysis: Analysis) -> Iterator[Diagnostic]:
    """Yield one diagnostic for every field of which two layers say different things.

    A flag that the launch gives another value than the program's default is no contradiction: that
    is what flags are for. Two files that both state a value are one.
    """
    for (name, _), settled in analysis.settled.items():
        number = VOCABULARY[name].values == NUMBER
        if not number and name not in _WORDS:
            continue
        for other in settled.others:
            if _contradict(settled.fact, other):
                yield _diagnostic(name, settled.fact, other, number=number)


def _contradict(winner: Fact, other: Fact) -> bool:
    if not (winner.known and other.known) or winner.value == other.value:
        return False
    if winner.layer is other.layer or winner.value in _VAGUE or other.value in _VAGUE:
        return False
    if other.origin not in _STATED or other.expression or winner.under or other.under:
        return False
    return bool(winner.places and other.places)


def _diagnostic(name: str, winner: Fact, other: Fact, *, number: bool) -> Diagnostic:
    first, second = winner.places[0], other.places[0]
    noun = "number" if number else "word"
    value, otherwise = (printed_value(name, fact.value) for fact in (winner, other))
    return Diagnostic(
        code="CC910",
        severity=Severity.WARNING,
        path=VOCABULARY[name].recipe,
        span=first,
        message=(
            f"{printed_name(name)} is {value} here ({winner.layer}), but {otherwise} at"
            f" {second.file}:{second.line} ({other.layer})"
        ),
        hint=f"the {winner.layer} wins; write the same {noun} in both places",
    )
