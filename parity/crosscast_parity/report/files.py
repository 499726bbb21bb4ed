"""Write the report: HTML page, figures, JSON and JUnit XML."""

from __future__ import annotations

import json
import re
from pathlib import Path

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast_parity.judge.records import ParityReport
from crosscast_parity.report.figures.style import Plot
from crosscast_parity.report.junit import junit_text
from crosscast_parity.report.page.render import render_page

PAGE, DOCUMENT, JUNIT, PLOTS = "report.html", "report.json", "junit.xml", "plots"


def write_report(report: ParityReport, folder: Path) -> Path:
    """Write report.html, report.json, junit.xml and plots/*.png; return the path of the page.

    The documents come first: they are there even if a figure cannot be drawn.

    Raises:
        DiagnosticError: CC708 if they cannot be written.
    """
    document = json.dumps(report.to_json(), indent=2, sort_keys=True, allow_nan=False)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / DOCUMENT).write_text(document + "\n", encoding="utf-8")
        (folder / JUNIT).write_text(junit_text(report), encoding="utf-8")
        page, plots = render_page(report)
        (folder / PAGE).write_text(page, encoding="utf-8", errors="replace")
        _write_plots(plots, folder / PLOTS)
    except OSError as error:
        raise DiagnosticError(
            Diagnostic(code="CC708", message=f"{error.filename}: {error.strerror}")
        ) from None
    return folder / PAGE


def _write_plots(plots: list[Plot], folder: Path) -> None:
    """Write the figures, and remove those of an earlier report."""
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.png"):
        old.unlink()
    for plot in plots:
        name = re.sub(r"[^A-Za-z0-9._-]", "_", plot.key)
        (folder / f"{name}.png").write_bytes(plot.png())
