"""Compares recipes and training steps before and after a migration in place, without execution."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from crosscast.messages.diagnostics import Severity
from crosscast.messages.source import Source
from crosscast.messages.unread import unread_parts
from crosscast.plan.canonical import canonical_plan
from crosscast_reading.lift.analysis import analyse
from crosscast_reading.lift.annotated_yaml import scalar
from crosscast_reading.lift.drafting import Lifted, lift
from crosscast_reading.lift.effective_fields import UNRELATED
from crosscast_reading.lift.plan_comparison import OWN, beside
from crosscast_reading.lift.recipe_diff import differences, side_of_lifted
from crosscast_reading.lint.engine import lint_sources
from crosscast_reading.lint.result import Result
from crosscast_reading.sources.grouping import group

BeforeAfterVerdict = Literal["same", "changed on purpose", "different", "not comparable"]
_SEEN = ("backward", "clip", "step", "zero")
"""Operations that are visible in a program with its own training loop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One field of the recipe, or one operation of the training step, before and after."""

    name: str
    """Name of the run: its first source."""
    field: str
    verdict: BeforeAfterVerdict
    why: str
    evidence: Literal["read", "executed"] = "read"
    """Whether this follows from the source texts or from a run."""


def compare_texts(sources: Sequence[Source], texts: Mapping[str, str]) -> list[Comparison]:
    """Compare every field and operation of the runs that a migration changes.

    Args:
        sources: before the migration.
        texts: changed file to new text.
    """
    comparisons: list[Comparison] = []
    for members in group(sources):
        if not any(member.name in texts for member in members):
            continue
        after = [Source(member.name, texts.get(member.name, member.text)) for member in members]
        before_, after_ = lift(analyse(members)), lift(analyse(after))
        if before_.fields or after_.fields:
            name = members[0].name
            comparisons += _fields(name, before_, after_)
            comparisons += _operations(name, before_, after_)
            comparisons += _findings(name, members, after)
    return comparisons


def _fields(name: str, before: Lifted, after: Lifted) -> Iterator[Comparison]:
    left, right = side_of_lifted(name, before), side_of_lifted(name, after)
    other = {difference.path: difference for difference in differences(left, right)}
    for path in dict.fromkeys((*left.values, *right.values)):
        if path in ("version", "name") or path.startswith(UNRELATED):
            continue
        difference = other.get(path)
        if difference is None:
            yield Comparison(name=name, field=path, verdict="same", why=_value(left.values, path))
        elif difference.state == "unknown":
            why = "not defined on one side or both"
            yield Comparison(name=name, field=path, verdict="not comparable", why=why)
        else:
            why = f"{scalar(difference.left)} became {scalar(difference.right)}"
            yield Comparison(name=name, field=path, verdict="different", why=why)


def _value(values: Mapping[str, object], path: str) -> str:
    return scalar(values[path]) if path in values else "absent on one side, without effect"


def _operations(name: str, before: Lifted, after: Lifted) -> Iterator[Comparison]:
    """Yield the comparison of every operation of the neutral training step."""
    old, new = _done(before), _done(after)
    if old is None or new is None:
        if before.analysis.subject.steps or after.analysis.subject.steps:
            why = "one side has no readable training loop"
            yield Comparison(name=name, field="step", verdict="not comparable", why=why)
        return
    for operation in dict.fromkeys((*old, *new)):
        left, right = old.get(operation, "-"), new.get(operation, "-")
        why = left if left == right else f"{left} became {right}"
        verdict = _judged(operation, left, right)
        yield Comparison(name=name, field=f"step {operation}", verdict=verdict, why=why)


def _judged(operation: str, left: str, right: str) -> BeforeAfterVerdict:
    """Return whether an operation is still done; hidden work of a library is not comparable."""
    if left == right or right not in ("-", OWN):
        return "same" if (left == "-") == (right == "-") else "different"
    return "different" if right == "-" or operation in _SEEN else "not comparable"


def _findings(name: str, before: Sequence[Source], after: Sequence[Source]) -> Iterator[Comparison]:
    """Yield the mistakes that are on one side only."""
    sides = lint_sources(before), lint_sources(after)
    failed = unread_parts(result.diagnostic() for side in sides for result in side)
    if failed:
        yield Comparison(name=name, field="mistakes", verdict="not comparable", why=failed)
    left, right = map(_mistakes, sides)
    for code in sorted({*left, *right}):
        if code in right and code not in left:
            yield Comparison(name=name, field=code, verdict="different", why=f"new: {right[code]}")
        elif code in left and code not in right:
            yield Comparison(
                name=name, field=code, verdict="changed on purpose", why=f"gone: {left[code]}"
            )


def _mistakes(results: Sequence[Result]) -> dict[str, str]:
    """Return code to message of findings, without notes."""
    findings = [result for result in results if result.is_finding]
    return {
        finding.code: finding.message
        for finding in findings
        if finding.severity is not Severity.NOTE
    }


def _done(lifted: Lifted) -> dict[str, str] | None:
    """Return operation to the corresponding events of the first training step."""
    steps = lifted.analysis.subject.steps
    if not steps or lifted.recipe is None:
        return None
    rows = beside(steps[0], canonical_plan(lifted.recipe), lifted.fields)
    done: dict[str, str] = {}
    for _, operation, event, _, _ in rows:
        if operation != "-":
            done[operation] = f"{done[operation]}, {event}" if operation in done else event
    return done
