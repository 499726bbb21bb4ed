"""Deliberate changes of meaning that codemods make only with `--allow NAME`."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from functools import cache

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast.targets.source_support import AllowedChange, installed_support


@cache
def all_changes() -> Mapping[str, AllowedChange]:
    """Return name to change, for all packages, crosscast's own first."""
    changes: dict[str, AllowedChange] = {}
    for support in installed_support().values():
        for change in support.changes:
            changes.setdefault(change.name, change)
    return changes


def allowed(names: Iterable[str], api: str) -> frozenset[str]:
    """Return the names given to `--allow`.

    Raises:
        DiagnosticError: CC970 for a name that is unknown or of another API.
    """
    change_names = frozenset(names)
    for name in sorted(change_names):
        change = all_changes().get(name)
        if change is not None and change.api == api:
            continue
        if change is not None:
            message = f"--allow {name} applies to --to {change.api}"
            raise DiagnosticError(Diagnostic(code="CC970", message=message))
        near = difflib.get_close_matches(name, all_changes(), n=1)
        hint = f"did you mean {near[0]}?" if near else "see --list-changes"
        message = f"--allow {name}: unknown change"
        raise DiagnosticError(Diagnostic(code="CC970", message=message, hint=hint))
    return change_names


def or_allow(name: str, hint: str) -> str:
    """Return a hint of a refusal that also names the change to allow."""
    return f"{hint}; or allow it: --allow {all_changes()[name].name}"
