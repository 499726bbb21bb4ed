"""The report as JUnit XML: one suite per pair, one case per check.

A difference is a `failure`, and so is a check that cannot decide (type `INCONCLUSIVE`): neither may
pass for success. A crash is an `error`, what was not tested is `skipped`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from xml.etree.ElementTree import Element, SubElement

from crosscast_parity.checks.check import Check
from crosscast_parity.judge.records import Pair, ParityReport
from crosscast_parity.report.junit_xml import (
    add_case,
    add_checks,
    add_result,
    add_verdict,
    document,
    new_suite,
    text_of,
)


def junit_text(report: ParityReport, more: Iterable[Element] = ()) -> str:
    """Return the XML document.

    Args:
        report: what was found.
        more: suites of which the report does not know.
    """
    return document(f"parity of {report.recipe}", [*_suites(report), *more])


def _suites(report: ParityReport) -> Iterator[Element]:
    for pair in report.pairs:
        yield _pair_suite(report, pair)
    compared = {pair.contestant for pair in report.pairs}
    for entrant in report.entrants:
        if entrant.name not in compared:
            suite = new_suite(f"{entrant.name} on its own", _seconds(report, entrant.name))
            _checks(suite, entrant.name, entrant.checks)
            if not report.pairs:
                _endings(suite, report, entrant.name)
            yield suite
    if report.self_test:
        yield _self_test(report)


def _pair_suite(report: ParityReport, pair: Pair) -> Element:
    name = f"{pair.contestant} against {pair.reference}"
    suite = new_suite(name, _seconds(report, pair.contestant))
    add_verdict(suite, f"parity.{pair.contestant}", pair.verdict, pair.wording)
    _checks(suite, pair.contestant, pair.checks)
    _endings(suite, report, pair.contestant)
    return suite


def _self_test(report: ParityReport) -> Element:
    suite = new_suite("self-test")
    for number, canary in enumerate(report.self_test, start=1):
        group = f"parity.{canary.program}.{canary.level}"
        case = add_case(suite, group, f"{number}. {canary.title}")
        if not canary.caught:
            message = f"{canary.level} did not detect the planted bug"
            add_result(case, "failure", "NOT SEEN", message)
    return suite


def _seconds(report: ParityReport, contestant: str) -> float:
    return sum(run.outcome.seconds for run in report.runs if run.contestant == contestant)


def _checks(suite: Element, contestant: str, checks: Sequence[Check]) -> None:
    add_checks(suite, f"parity.{contestant}", [(_case_name(check), check) for check in checks])


def _case_name(check: Check) -> str:
    where = "/".join(part for part in (check.stage, check.run) if part)
    return f"{check.name} ({where})" if where else check.name


def _endings(suite: Element, report: ParityReport, contestant: str) -> None:
    """Add a case for every run that came to no end."""
    for run in report.runs:
        if run.contestant != contestant or run.outcome.complete:
            continue
        case = add_case(suite, f"parity.{contestant}.run", f"{run.stage}/{run.name}")
        outcome = run.outcome
        tag = "error" if outcome.kind in ("failed", "timeout") else "skipped"
        kind = outcome.kind if tag == "error" else ""
        add_result(case, tag, kind, f"{outcome.kind}: {outcome.message}")
        if outcome.log_tail:
            SubElement(case, "system-out").text = text_of(outcome.log_tail)
