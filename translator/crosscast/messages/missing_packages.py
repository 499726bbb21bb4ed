"""Errors about missing optional dependencies."""

from __future__ import annotations

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError


def package_missing(who: str, error: ModuleNotFoundError, extra: str = "parity") -> DiagnosticError:
    """Return the error for a missing harness, or a missing package that it requires: CC401.

    `who`: the beginning of the message, such as `sweeps need`; `extra`: what has the package.
    """
    return DiagnosticError(
        Diagnostic(
            code="CC401",
            message=f"{who} {error.name}",
            hint=f'pip install "crosscast[{extra}]"',
        )
    )
