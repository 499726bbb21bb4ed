"""The report as JUnit XML: one suite per pair, one case per check.

A difference is a `failure`, and so is a check that cannot decide (type `INCONCLUSIVE`): neither may
pass for success. A crash is an `error`, what was not tested is `skipped`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from crosscast_parity.checks.check import Check
from crosscast_parity.judge.records import Pair, ParityReport, Verdict

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_OUTCOMES: dict[Verdict, tuple[str, str]] = {
    "DIFFERENT": ("failure", "DIFFERENT"),
    "INCONCLUSIVE": ("failure", "INCONCLUSIVE"),
    "ERROR": ("error", "ERROR"),
    "NOT TESTED": ("skipped", ""),
}


def junit_text(report: ParityReport) -> str:
    """Return the XML document; the same for the same report, without time stamps."""
    root = Element("testsuites", name=_text(f"parity of {report.recipe}"))
    for pair in report.pairs:
        _pair_suite(root, report, pair)
    compared = {pair.contestant for pair in report.pairs}
    for entrant in report.entrants:
        if entrant.name not in compared:
            seconds = _seconds(report, entrant.name)
            suite = _suite(root, f"{entrant.name} on its own", seconds)
            _cases(suite, entrant.name, entrant.checks)
            if not report.pairs:
                _endings(suite, report, entrant.name)
            _count(suite)
    if report.self_test:
        _self_test(root, report)
    _total(root)
    ElementTree.indent(root)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        + ElementTree.tostring(root, encoding="unicode")
        + "\n"
    )


def _pair_suite(root: Element, report: ParityReport, pair: Pair) -> None:
    name = f"{pair.contestant} against {pair.reference}"
    suite = _suite(root, name, _seconds(report, pair.contestant))
    verdict = _case(suite, pair.contestant, "verdict")
    if pair.verdict in _OUTCOMES:
        tag, kind = _OUTCOMES[pair.verdict]
        _result(verdict, tag, kind, pair.wording)
    else:
        SubElement(verdict, "system-out").text = _text(pair.wording)
    _cases(suite, pair.contestant, pair.checks)
    _endings(suite, report, pair.contestant)
    _count(suite)


def _self_test(root: Element, report: ParityReport) -> None:
    suite = _suite(root, "self-test", 0.0)
    for number, canary in enumerate(report.self_test, start=1):
        case = _case(suite, f"{canary.program}.{canary.level}", f"{number}. {canary.title}")
        if not canary.caught:
            message = f"{canary.level} did not detect the planted bug"
            _result(case, "failure", "NOT SEEN", message)
    _count(suite)


def _suite(root: Element, name: str, seconds: float) -> Element:
    return SubElement(root, "testsuite", name=_text(name), time=f"{seconds:.2f}")


def _seconds(report: ParityReport, contestant: str) -> float:
    return sum(run.outcome.seconds for run in report.runs if run.contestant == contestant)


def _cases(suite: Element, contestant: str, checks: Sequence[Check]) -> None:
    for name, check in _named(checks):
        case = _case(suite, f"{contestant}.{check.level}", name)
        if check.result == "fail":
            _result(case, "failure", "DIFFERENT", check.wording)
        elif check.result == "unclear":
            _result(case, "failure", "INCONCLUSIVE", check.wording)
        elif check.result == "not tested":
            _result(case, "skipped", "", check.wording)
        else:
            SubElement(case, "system-out").text = _text(check.wording)


def _named(checks: Sequence[Check]) -> Iterable[tuple[str, Check]]:
    """Give every check a name of its own: readers merge cases of one name."""
    seen: dict[tuple[str, str], int] = {}
    for check in checks:
        where = "/".join(part for part in (check.stage, check.run) if part)
        name = f"{check.name} ({where})" if where else check.name
        number = seen[check.level, name] = seen.get((check.level, name), 0) + 1
        yield (name if number == 1 else f"{name} [{number}]"), check


def _endings(suite: Element, report: ParityReport, contestant: str) -> None:
    """Add a case for every run that came to no end."""
    for run in report.runs:
        if run.contestant != contestant or run.outcome.complete:
            continue
        case = _case(suite, f"{contestant}.run", f"{run.stage}/{run.name}")
        outcome = run.outcome
        tag = "error" if outcome.kind in ("failed", "timeout") else "skipped"
        kind = outcome.kind if tag == "error" else ""
        _result(case, tag, kind, f"{outcome.kind}: {outcome.message}")
        if outcome.log_tail:
            SubElement(case, "system-out").text = _text(outcome.log_tail)


def _case(suite: Element, group: str, name: str) -> Element:
    names = {"classname": _text(f"crosscast.parity.{group}"), "name": _text(name), "time": "0"}
    return SubElement(suite, "testcase", names)


def _result(case: Element, tag: str, kind: str, message: str) -> None:
    result = SubElement(case, tag, message=_text(message))
    if kind:
        result.set("type", kind)
        result.text = _text(message)


def _count(suite: Element) -> None:
    suite.set("tests", str(len(suite.findall("testcase"))))
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(attribute, str(len(suite.findall(f"testcase/{tag}"))))


def _total(root: Element) -> None:
    for attribute in ("tests", "failures", "errors"):
        root.set(attribute, str(sum(int(suite.get(attribute, "0")) for suite in root)))
    root.set("time", f"{sum(float(suite.get('time', '0')) for suite in root):.2f}")


def _text(text: str) -> str:
    """Return text without the characters that XML 1.0 cannot hold in any spelling."""
    return _NOT_XML.sub("\ufffd", text)
