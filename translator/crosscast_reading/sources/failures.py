"""Failures of crosscast itself while it reads sources: recorded with the place, never dropped."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePath
from types import TracebackType
from typing import TypeVar

from crosscast.messages.diagnostics import Diagnostic, Span
from crosscast.messages.source import Source
from crosscast.messages.unread import FAILED
from crosscast_reading.pysource.programs.module import Module

Part = TypeVar("Part")


def guarded(
    failures: list[Diagnostic], activity: str, sources: Sequence[Source], work: Callable[[], Part]
) -> Part | None:
    """Return the result of `work`; record an exception as a failure, and return None.

    Args:
        failures: where it is recorded.
        activity: the part of crosscast that works, and on what.
        sources: what it works on, main file first.
        work: must not return a generator, whose body would run later.
    """
    try:
        return work()
    except Exception as error:  # a bug in crosscast or a plug-in, not in the user's files
        failures.append(failure(activity, error, sources))
        return None


def failure(activity: str, error: Exception, sources: Sequence[Source]) -> Diagnostic:
    """Return the diagnostic for a part of crosscast that raised.

    Its place is the code of the user that the part looked at; the first line of the first source
    where that is not known.
    """
    frames = [*_frames(error.__traceback__)]
    place = ""
    if frames:
        last = frames[-1]
        file = PurePath(last.tb_frame.f_code.co_filename).name
        place = f" at {file}:{last.tb_lineno}"
    spans = (_looked_at(frame.tb_frame.f_locals) for frame in reversed(frames))
    span = next((span for span in spans if span is not None), None)
    if span is None and sources:
        span = Span(sources[0].name, 1, 1)
    return Diagnostic(
        code=FAILED,
        message=f"{activity} failed: {type(error).__name__}: {error}{place}",
        span=span,
        hint="everything else was analyzed; please report this with the file, if you can share it",
    )


def _frames(trace: TracebackType | None) -> Iterator[TracebackType]:
    while trace is not None:
        yield trace
        trace = trace.tb_next


def _looked_at(names: dict[str, object]) -> Span | None:
    """Return the place of the call or the node that a function of crosscast works on."""
    values = [*names.values()]
    for value in values:
        node, module = getattr(value, "node", None), getattr(value, "module", None)
        if isinstance(node, ast.expr) and isinstance(module, Module):
            return module.span(node)
    modules = [value for value in values if isinstance(value, Module)]
    nodes = [value for value in values if isinstance(value, ast.expr | ast.stmt)]
    return modules[0].span(nodes[0]) if modules and nodes else None
