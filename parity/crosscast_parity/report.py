"""Write the report: report.json for programs, report.html for people."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from crosscast.diagnostics import Diagnostic, DiagnosticError
from crosscast.emit import template_root
from crosscast_parity.checks import LEVELS, Check, Level, number
from crosscast_parity.half import in_words
from crosscast_parity.plots import draw_plots
from crosscast_parity.records import NOT_COVERED, Difference, Pair, ParityReport, Run

TEMPLATE = "_shared/report.html.j2"
TONES = {
    "EQUIVALENT": "good",
    "DIFFERENT": "bad",
    "ERROR": "bad",
    "INCONCLUSIVE": "doubt",
    "NOT TESTED": "none",
}
RESULTS = {"pass": "passed", "fail": "failed", "unclear": "unclear", "info": "reported"}
SHORT: dict[Level, str] = {
    "L0a": "L0a trace",
    "L0b": "L0b machine",
    "L0c": "L0c norm",
    "L1": "L1 start",
    "L2": "L2 trajectory",
    "result": "result",
}
ROLES = {"main": "plain", "faults": "with faults", "twin": "perturbed"}


def write_report(report: ParityReport, folder: Path) -> Path:
    """Write report.json and report.html into `folder`; return the path of the page.

    Raises:
        DiagnosticError: CC708 if they cannot be written.
    """
    document = json.dumps(report.to_json(), indent=2, sort_keys=True, allow_nan=False)
    page = folder / "report.html"
    try:
        (folder / "report.json").write_text(document + "\n", encoding="utf-8")
        page.write_text(render_page(report), encoding="utf-8")
    except OSError as error:
        raise DiagnosticError(
            Diagnostic(code="CC708", message=f"{error.filename}: {error.strerror}")
        ) from None
    return page


def render_page(report: ParityReport) -> str:
    """Return the page; all it shows is escaped, except the figures, which we made from numbers."""
    environment = Environment(
        loader=FileSystemLoader(template_root()),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(TEMPLATE).render(page=page_view(report))


@dataclass(frozen=True, slots=True)
class Table:
    """A table of ready text; `tone` of a row colours its last column."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    tones: tuple[str, ...]


def page_view(report: ParityReport) -> dict[str, Any]:
    """Return what the template prints: text, tables and figures, nothing to decide."""
    return {
        "title": f"Parity of {report.recipe}",
        "facts": _facts(report),
        "pairs": [_pair(pair) for pair in report.pairs],
        "own": [_own(run) for run in report.runs if run.checks and _stands_alone(run, report)],
        "plots": draw_plots(report),
        "runs": _runs(report),
        "versions": _versions(report),
        "failures": [
            {"name": r.name, "message": f"{r.outcome.kind}: {r.outcome.message}", "log": _log(r)}
            for r in report.runs
            if not r.outcome.complete
        ],
        "levels": list(LEVELS.items()),
        "not_covered": NOT_COVERED,
    }


def _facts(report: ParityReport) -> list[tuple[str, str]]:
    facts = [
        ("reference", report.reference or "none came to an end"),
        ("compute dtype", report.dtype),
        ("device", report.device),
        ("half precision", _half(report)),
        ("windows", str(report.windows)),
        ("threads per process", str(report.threads)),
        ("faults", ", ".join(report.faults) or "none"),
    ]
    if report.envelope:
        facts.append(("perturbed runs", str(report.envelope.twins)))
        facts.append(("horizon", f"{report.envelope.horizon} windows"))
    if report.reference not in (None, report.requested_reference):
        facts.append(("reference asked for", report.requested_reference))
    return facts


def _half(report: ParityReport) -> str:
    return "not used" if report.dtype == "float32" else in_words(report.execution())


def _pair(pair: Pair) -> dict[str, Any]:
    checks = [_checks("Checks", pair.checks)] if pair.checks else []
    if pair.fault_checks:
        checks.append(_checks("Checks of the run with faults", pair.fault_checks))
    return {
        "name": f"{pair.target} against {pair.reference}",
        "verdict": pair.verdict,
        "tone": TONES[pair.verdict],
        "wording": pair.wording,
        "tables": checks,
        "differences": [_differences(pair)] if pair.differences else [],
    }


def _own(run: Run) -> dict[str, Any]:
    return {"table": _checks(f"{run.name}: trace against the state machine", run.checks)}


def _stands_alone(run: Run, report: ParityReport) -> bool:
    """The checks of a candidate are in its pair; those of the reference have no other place."""
    return run.target == report.reference


def _checks(title: str, checks: Sequence[Check]) -> Table:
    rows = tuple(
        (
            SHORT[check.level],
            check.name,
            _value(check.value),
            _value(check.limit),
            _margin(check),
            check.wording,
            RESULTS[check.result],
        )
        for check in checks
    )
    head = ("level", "check", "value", "limit", "margin", "found", "result")
    return Table(title, head, rows, tuple(check.result for check in checks))


def _value(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def _margin(check: Check) -> str:
    """How often a value that passed fits into its limit, as `12 x`."""
    if check.result != "pass" or not check.limit or check.value is None:
        return ""
    return f"{check.limit / check.value:.2g} x" if check.value else "exact"


def _differences(pair: Pair) -> Table:
    head = ("run", "window", "target", *_COLUMNS)
    rows: list[tuple[str, ...]] = []
    for difference in pair.differences:
        rows.append(_row(difference, pair.target, ours=True))
        rows.append(_row(difference, pair.reference, ours=False))
    return Table("First differing rows", head, tuple(rows), ("",) * len(rows))


_COLUMNS = ("micro-batches", "rows", "loss", "lr", "grad norm", "scale", "skipped", "updates")


def _row(difference: Difference, target: str, *, ours: bool) -> tuple[str, ...]:
    row = difference.ours if ours else difference.reference
    return (
        ROLES[difference.run],
        str(row.window),
        target,
        str(row.n_micro),
        str(row.rows),
        number(row.loss),
        number(row.lr),
        number(row.grad_norm),
        number(row.scale),
        "yes" if row.skipped else "no",
        str(row.updates),
    )


def _runs(report: ParityReport) -> Table:
    half = report.dtype != "float32"
    head = (
        "run",
        "target",
        "kind",
        "half",
        "windows",
        "skipped",
        "eval loss",
        "accuracy",
        "s",
        "end",
    )
    return Table(
        "Runs",
        head,
        tuple(
            (
                run.name,
                run.target,
                ROLES[run.role],
                run.execution if half else "not used",
                str(len(run.rows)),
                str(sum(row.skipped for row in run.rows)),
                *_evaluation(run),
                f"{run.outcome.seconds:.1f}",
                run.outcome.kind,
            )
            for run in report.runs
        ),
        tuple("pass" if run.outcome.complete else "fail" for run in report.runs),
    )


def _evaluation(run: Run) -> tuple[str, str]:
    result = run.outcome.status.eval if run.outcome.status else None
    if result is None:
        return ("", "")
    return (
        number(result.loss),
        "not finite" if result.accuracy is None else f"{result.accuracy:.4f}",
    )


def _versions(report: ParityReport) -> Table:
    rows = []
    for run in report.main_runs():
        status = run.outcome.status
        versions = status.versions if status else {}
        device = status.device if status else ""
        rows.append((run.target, device, ", ".join(f"{k} {v}" for k, v in versions.items())))
    return Table("Environment", ("target", "device", "versions"), tuple(rows), ("",) * len(rows))


def _log(run: Run) -> str:
    return run.outcome.log_tail or "(nothing was printed)"
