"""Diagnostics for many items of one kind: the first ones in full, the others as a count."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from crosscast.messages.diagnostics import Diagnostic, Severity

SHOWN = 8


class DamagedError(ValueError):
    """Invalid JSON in a file."""


def several(
    code: str, messages: Iterable[str], hint: str = "", severity: Severity = Severity.ERROR
) -> list[Diagnostic]:
    """Return one diagnostic per message; the last one counts those that are not shown."""
    texts = list(messages)
    left = len(texts) - SHOWN
    shown = texts if left <= 1 else [*texts[:SHOWN], f"{left} more of this kind"]
    return [Diagnostic(code=code, message=m, hint=hint, severity=severity) for m in shown]


def listed(names: Iterable[str], most: int = 5) -> str:
    """Return the first names as text."""
    ordered = sorted(names)
    more = f" and {len(ordered) - most} more" if len(ordered) > most else ""
    return ", ".join(map(repr, ordered[:most])) + more


def leads_away(name: str) -> bool:
    """Whether a name of a weight looks like a path to another folder."""
    return not name or "\\" in name or any(part in ("", ".", "..") for part in name.split("/"))


def strict_json(text: str) -> Any:
    """Read JSON without duplicate keys, infinities or nan.

    Raises:
        DamagedError: With the reason.
    """

    def once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
        mapping = dict(pairs)
        if len(mapping) != len(pairs):
            keys = [key for key, _ in pairs]
            raise DamagedError(f"key {next(k for k in keys if keys.count(k) > 1)!r} is duplicated")
        return mapping

    def refuse(constant: str) -> Any:
        raise DamagedError(f"{constant} is not a JSON number")

    try:
        return json.loads(text, object_pairs_hook=once, parse_constant=refuse)
    except DamagedError:
        raise
    except RecursionError:
        raise DamagedError("nested too deeply") from None
    except ValueError as error:
        raise DamagedError(str(error)) from None
