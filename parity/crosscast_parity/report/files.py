"""Write the report: HTML page, figures, JSON, JUnit XML, a badge, and where the runs are."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from xml.etree.ElementTree import Element

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast_parity.judge.records import ParityReport
from crosscast_parity.report.badge import Badge, parity_badge
from crosscast_parity.report.figures.style import Plot
from crosscast_parity.report.junit import junit_text
from crosscast_parity.report.page.blocks import Section
from crosscast_parity.report.page.render import render_page
from crosscast_parity.report.page.summary import Card

PAGE, DOCUMENT, JUNIT, PLOTS = "report.html", "report.json", "junit.xml", "plots"
BADGE, ENDPOINT, RUNS = "badge.svg", "badge.json", "runs.json"


def write_report(
    report: ParityReport,
    folder: Path,
    *,
    suites: Iterable[Element] = (),
    gaps: Sequence[str] = (),
    cards: Sequence[Card] = (),
    sections: Sequence[Section] = (),
) -> Path:
    """Write all files of a report; return the path of the page.

    The documents come first: they are there even if a figure cannot be drawn.

    Args:
        report: what was found.
        folder: where to write.
        suites: more suites of JUnit.
        gaps: more that was not tested, for the badge.
        cards: more verdicts of the page.
        sections: more sections of it.

    Raises:
        DiagnosticError: CC708 if they cannot be written.
    """
    texts = {
        DOCUMENT: _json(report.to_json()),
        RUNS: _json({"version": 1, "runs": _runs(report, folder)}),
        **verdict_files(junit_text(report, suites), parity_badge(report, gaps)),
    }
    write_texts(folder, texts)
    try:
        page, plots = render_page(report, cards, sections)
        (folder / PAGE).write_text(page, encoding="utf-8", errors="replace")
        _write_plots(plots, folder / PLOTS)
    except OSError as error:
        raise _unwritten(error) from None
    return folder / PAGE


def verdict_files(junit: str, badge: Badge) -> dict[str, str]:
    """Return the files for services of continuous integration: name to text."""
    return {JUNIT: junit, BADGE: badge.svg(), ENDPOINT: _json(badge.endpoint())}


def write_texts(folder: Path, texts: Mapping[str, str]) -> None:
    """Write files.

    Raises:
        DiagnosticError: CC708 if they cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise _unwritten(error) from None


def _unwritten(error: OSError) -> DiagnosticError:
    return DiagnosticError(Diagnostic(code="CC708", message=f"{error.filename}: {error.strerror}"))


def _json(data: object) -> str:
    return json.dumps(data, indent=2, sort_keys=True, allow_nan=False) + "\n"


def _runs(report: ParityReport, folder: Path) -> list[dict[str, object]]:
    """Return the name and the folder of every run that has a trace, for `trace export`."""
    return [
        {
            "name": [run.contestant, run.stage, run.name],
            "folder": Path(os.path.relpath(run.folder, folder)).as_posix(),
        }
        for run in report.runs
        if run.folder is not None and run.rows
    ]


def _write_plots(plots: list[Plot], folder: Path) -> None:
    """Write the figures, and remove those of an earlier report."""
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.png"):
        old.unlink()
    for plot in plots:
        name = re.sub(r"[^A-Za-z0-9._-]", "_", plot.key)
        (folder / f"{name}.png").write_bytes(plot.png())
