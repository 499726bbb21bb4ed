"""Errors about missing optional dependencies."""

from __future__ import annotations

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError


def parity_missing(who: str, error: ModuleNotFoundError) -> DiagnosticError:
    """Return what is raised where the harness, or a package that it needs, is not installed: CC401.

    `who`: what needs it, in words: `sweeps need`.
    """
    return DiagnosticError(
        Diagnostic(
            code="CC401",
            message=f"{who} {error.name}",
            hint='pip install "crosscast[parity]"',
        )
    )
