"""JUnit XML: suites of cases, as the services for continuous integration read them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from crosscast_parity.checks.check import Check

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_OUTCOMES: dict[str, tuple[str, str]] = {
    "DIFFERENT": ("failure", "DIFFERENT"),
    "INCONCLUSIVE": ("failure", "INCONCLUSIVE"),
    "ERROR": ("error", "ERROR"),
    "NOT TESTED": ("skipped", ""),
}
_RESULTS = {"fail": "DIFFERENT", "unclear": "INCONCLUSIVE", "not tested": "NOT TESTED"}
"""Result of a check to the verdict that it would be."""


def document(name: str, suites: Iterable[Element]) -> str:
    """Return the XML document of suites; the same for the same suites, without time stamps."""
    root = Element("testsuites", name=text_of(name))
    root.extend(suites)
    for suite in root:
        suite.set("tests", str(len(suite.findall("testcase"))))
        for attribute, tag in (
            ("failures", "failure"),
            ("errors", "error"),
            ("skipped", "skipped"),
        ):
            suite.set(attribute, str(len(suite.findall(f"testcase/{tag}"))))
    for attribute in ("tests", "failures", "errors"):
        root.set(attribute, str(sum(int(suite.get(attribute, "0")) for suite in root)))
    root.set("time", f"{sum(float(suite.get('time', '0')) for suite in root):.2f}")
    ElementTree.indent(root)
    body = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'


def new_suite(name: str, seconds: float = 0.0) -> Element:
    """Return an empty suite."""
    return Element("testsuite", name=text_of(name), time=f"{seconds:.2f}")


def add_case(suite: Element, group: str, name: str) -> Element:
    """Add a case; readers show the groups, which have dots, as a tree."""
    names = {"classname": text_of(f"crosscast.{group}"), "name": text_of(name), "time": "0"}
    return SubElement(suite, "testcase", names)


def add_verdict(suite: Element, group: str, verdict: str, wording: str) -> None:
    """Add the case `verdict`."""
    _conclude(add_case(suite, group, "verdict"), verdict, wording)


def add_checks(suite: Element, group: str, checks: Sequence[tuple[str, Check]]) -> None:
    """Add a case for every check, with what comes before its level in the group.

    A failure says in words what is wrong, and the measured number with its limit. Every case has
    a name of its own: readers merge cases of one name.
    """
    seen: dict[tuple[str, str], int] = {}
    for name, check in checks:
        number = seen[check.level, name] = seen.get((check.level, name), 0) + 1
        case = add_case(
            suite, f"{group}.{check.level}", name if number == 1 else f"{name} [{number}]"
        )
        _conclude(case, _RESULTS.get(check.result, ""), check.wording, _measured(check))


def add_result(case: Element, tag: str, kind: str, message: str, detail: str = "") -> None:
    """Say that a case failed, is an error or was skipped; `detail`: more than the first line."""
    result = SubElement(case, tag, message=text_of(message))
    if kind:
        result.set("type", kind)
        result.text = text_of(f"{message}\n{detail}" if detail else message)


def _conclude(case: Element, verdict: str, wording: str, detail: str = "") -> None:
    if verdict in _OUTCOMES:
        add_result(case, *_OUTCOMES[verdict], wording, detail)
    else:
        SubElement(case, "system-out").text = text_of(wording)


def _measured(check: Check) -> str:
    parts = [
        f"{name} {value:.9g}"
        for name, value in (("measured", check.value), ("limit", check.limit))
        if value is not None
    ]
    if check.window is not None:
        parts.append(f"first in window {check.window}")
    return ", ".join(parts)


def text_of(text: str) -> str:
    """Return text without the characters that XML 1.0 cannot hold in any spelling."""
    return _NOT_XML.sub("\ufffd", text)
