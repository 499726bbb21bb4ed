"""What a verdict says first when a part of crosscast failed: its result is not the whole."""

from __future__ import annotations

from collections.abc import Iterable

from crosscast.messages.diagnostics import Diagnostic

FAILED = "CC950"
"""A reader, a rule or a codemod raised."""
_LOST = (FAILED, "CC955", "CC956")
"""Also: a reader does not load, and a process died."""
_SHOWN = 3


def unread_parts(diagnostics: Iterable[Diagnostic]) -> str:
    """Say which parts could not be read; empty if all were."""
    lost = [d for d in diagnostics if d.code in _LOST]
    if not lost:
        return ""
    parts = dict.fromkeys(_part(diagnostic) for diagnostic in lost)
    shown = ", ".join([*parts][:_SHOWN])
    more = f" and {len(parts) - _SHOWN} more" if len(parts) > _SHOWN else ""
    count = "one part" if len(parts) == 1 else f"{len(parts)} parts"
    return f"{count} could not be read: {shown}{more}"


def _part(diagnostic: Diagnostic) -> str:
    part = diagnostic.message.partition(" failed: ")[0]
    return f"{part} ({diagnostic.span.file}:{diagnostic.span.line})" if diagnostic.span else part
