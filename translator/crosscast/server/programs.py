"""Open programs and launch scripts: what lint finds in them, and the fixes that it knows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from crosscast.messages.diagnostics import DiagnosticError
from crosscast.messages.source import Source
from crosscast_reading.lint.config import find_config
from crosscast_reading.lint.engine import distinct, lint_sources
from crosscast_reading.lint.options import options_of
from crosscast_reading.lint.result import Result, of_diagnostic
from crosscast_reading.sources.grouping import group


def findings(sources: Sequence[Source], folder: Path) -> list[Result]:
    """Return lint's findings in open documents, which may belong together.

    Args:
        sources: name and text of the documents, as they stand in the editor.
        folder: the folder whose settings hold.
    """
    try:
        options = options_of(find_config(folder))
    except DiagnosticError as error:
        return [of_diagnostic(diagnostic) for diagnostic in error.diagnostics]
    results: list[Result] = []
    for members in group(sources):
        results += lint_sources(members, options)
    return distinct(results)
