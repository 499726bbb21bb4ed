"""Errors about missing optional dependencies."""

from __future__ import annotations

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError


def parity_missing(who: str, error: ModuleNotFoundError) -> DiagnosticError:
    """Return the error for a missing harness, or a missing package that it requires: CC401.

    `who`: the beginning of the message, such as `sweeps need`.
    """
    return DiagnosticError(
        Diagnostic(
            code="CC401",
            message=f"{who} {error.name}",
            hint='pip install "crosscast[parity]"',
        )
    )
