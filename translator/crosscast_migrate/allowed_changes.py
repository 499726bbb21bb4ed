"""Deliberate changes of meaning that codemods make only with `--allow NAME`."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedChange:
    """A change of meaning that a person may allow by its name."""

    name: str
    """In kebab case: `clip-once`."""
    api: str
    before: str
    """What the old program does."""
    after: str
    """What the migrated program does instead."""


_CHANGES = (
    AllowedChange(
        name="adam-bias-correction",
        api="torch.amp",
        before="FusedAdam(bias_correction=False) takes larger first steps",
        after="torch.optim.AdamW corrects the bias of its moments",
    ),
    AllowedChange(
        name="clip-once",
        api="torch.amp",
        before="gradients are clipped after the backward pass of every micro-batch",
        after="the sum of the gradients is clipped once, right before the optimizer step",
    ),
)
CHANGES: Mapping[str, AllowedChange] = {change.name: change for change in _CHANGES}
"""Name to change."""


def allowed(names: Iterable[str], api: str) -> frozenset[str]:
    """Return the names given to `--allow`.

    Raises:
        DiagnosticError: CC970 for a name that is unknown or of another API.
    """
    found = frozenset(names)
    for name in sorted(found):
        change = CHANGES.get(name)
        if change is not None and change.api == api:
            continue
        if change is not None:
            message = f"--allow {name} applies to --to {change.api}"
            raise DiagnosticError(Diagnostic(code="CC970", message=message))
        near = difflib.get_close_matches(name, CHANGES, n=1)
        hint = f"did you mean {near[0]}?" if near else "see --list-changes"
        message = f"--allow {name}: unknown change"
        raise DiagnosticError(Diagnostic(code="CC970", message=message, hint=hint))
    return found


def or_allow(name: str, hint: str) -> str:
    """Return a hint of a refusal that also names the change to allow."""
    return f"{hint}; or allow it: --allow {CHANGES[name].name}"
