"""CL407: a normalization returns float32, and the residual stream with it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast_reading.lint.answers.mixed_precision import kept_by
from crosscast_reading.lint.rule import Finding, Rule
from crosscast_reading.lint.rules.precision._kept import FORMULA, extra_bytes
from crosscast_reading.sources.subject import Subject
from crosscast_reading.trainstep.tensors.scope import Leak


def check(subject: Subject) -> Iterator[Finding]:
    """Find normalizations whose float32 result is summed; one finding for each function."""
    groups: dict[tuple[object, str], list[Leak]] = {}
    for _, findings in kept_by(subject.program).findings:
        for (cause, place), leak in findings.leaks.items():
            if cause == "norm":
                row = leak.mark.row
                since = row.since if row is not None else ""
                function = place.module.function_of(place.node)
                groups.setdefault((function, since), []).append(leak)
    for leaks in groups.values():
        leaks.sort(key=_position)
        yield _finding(leaks, subject)


def _position(leak: Leak) -> tuple[int, int]:
    node = leak.mark.place.node
    return (node.lineno, node.col_offset) if isinstance(node, ast.expr) else (0, 0)


def _finding(leaks: list[Leak], subject: Subject) -> Finding:
    place, via, row = leaks[0].mark.place, leaks[0].mark.via, leaks[0].mark.row
    assert via is not None
    since = f" since {row.versions_of} {row.since}" if row is not None and row.since else ""
    cost = extra_bytes(place, subject)
    others = tuple(leak.mark.place for leak in leaks[1:])
    return Finding(
        span=place.module.span(place.node),
        message=f"{place.text} returns float32 in mixed precision{since}, and {via.text} stays "
        "float32" + (f": {cost}" if cost else ""),
        hint="compute it with autocast off and weights in the type of its input, and round the sum "
        f"of the embeddings once; a float32 stream takes {FORMULA}",
        related=(via.module.span(via.node), *(p.module.span(p.node) for p in others)),
    )


RULE = Rule("CL407", check, hints=("autocast", "auto_cast", "amp_guard"))
