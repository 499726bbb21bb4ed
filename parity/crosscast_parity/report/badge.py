"""A verdict as a badge: an SVG image that needs nothing else, and the JSON of shields.io."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from crosscast_parity.judge.records import ComparisonVerdict, ParityReport
from crosscast_parity.judge.verdict import untested
from crosscast_parity.report.junit_xml import text_of

COLORS: dict[str, str] = {
    "EQUIVALENT": "2e7d32",
    "EQUAL": "2e7d32",
    "IN PART": "1f5fa8",
    "DIFFERENT": "b3261e",
    "ERROR": "b3261e",
    "INCONCLUSIVE": "8a5a00",
    "NOT TESTED": "5f6368",
}
"""White text on each has a contrast of at least 4.5 to 1. Only the first two are green."""
WORST: tuple[ComparisonVerdict, ...] = ("DIFFERENT", "ERROR", "INCONCLUSIVE", "NOT TESTED")
IN_PART = "{}, not all tested"
SIZE, HEIGHT, MARGIN = 11, 20, 6
WIDTHS = (
    (318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337)  # space to /
    + (636,) * 10
    + (337, 337, 838, 838, 838, 531, 1000)  # : to @
    + (684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656, 557, 863)  # A to M
    + (748, 787, 603, 787, 695, 635, 611, 732, 684, 989, 685, 611, 685)  # N to Z
    + (390, 337, 390, 838, 500, 500)  # [ to `
    + (613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579, 278, 974)  # a to m
    + (634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525)  # n to z
    + (636, 337, 636, 838)
)
"""Widths of the characters from the space to ~ in DejaVu Sans, in thousandths of the size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Badge:
    """What was compared, and the verdict.

    `title`: what an image says to those who do not see it, and when the mouse is over it.
    """

    label: str
    message: str
    color: str
    title: str

    def svg(self) -> str:
        """Return the image."""
        label, message = (_width(text) for text in (self.label, self.message))
        left, right = label + 2 * MARGIN, message + 2 * MARGIN
        root = Element(
            "svg",
            {
                "xmlns": "http://www.w3.org/2000/svg",
                "width": str(left + right),
                "height": str(HEIGHT),
                "viewBox": f"0 0 {left + right} {HEIGHT}",
                "role": "img",
                "aria-label": f"{self.label}: {self.message}",
            },
        )
        SubElement(root, "title").text = text_of(self.title)
        for begin, width, color in ((0, left, "444"), (left, right, self.color)):
            box = {"x": str(begin), "width": str(width), "height": str(HEIGHT)}
            SubElement(root, "rect", box | {"fill": f"#{color}"})
        font = {"font-family": "DejaVu Sans,Verdana,sans-serif", "font-size": str(SIZE)}
        group = SubElement(root, "g", font | {"fill": "#fff"})
        for begin, width, text in (
            (MARGIN, label, self.label),
            (left + MARGIN, message, self.message),
        ):
            place = {"x": str(begin), "y": "14", "textLength": str(width)}
            SubElement(group, "text", place).text = text_of(text)
        return ElementTree.tostring(root, encoding="unicode") + "\n"

    def endpoint(self) -> dict[str, Any]:
        """Return the data that shields.io reads; a bad verdict keeps its color there."""
        return {
            "schemaVersion": 1,
            "label": self.label,
            "message": self.message,
            "color": self.color,
            "isError": self.color == COLORS["DIFFERENT"],
        }


def _width(text: str) -> int:
    known = range(32, 32 + len(WIDTHS))
    wide = sum(WIDTHS[ord(c) - 32] if ord(c) in known else 1000 for c in text)
    return round(wide * SIZE / 1000)


def badge_of(label: str, verdict: str, words: str, gaps: Sequence[str]) -> Badge:
    """Return the badge of a verdict.

    Args:
        label: what was compared.
        verdict: one of `COLORS`.
        words: the reason.
        gaps: what was not tested; a good verdict then is not green.
    """
    good = verdict in ("EQUIVALENT", "EQUAL")
    color = COLORS["IN PART" if good and gaps else verdict]
    message = IN_PART.format(verdict) if good and gaps else verdict
    title = f"{label}: {verdict}: {words}"
    if gaps:
        title += f"; not tested: {', '.join(gaps)}"
    return Badge(label=label, message=message, color=color, title=title)


def parity_badge(report: ParityReport, more_gaps: Sequence[str] = ()) -> Badge:
    """Return the badge of a comparison: the worst verdict of its pairs.

    Args:
        report: what was found.
        more_gaps: what was not tested, of which the report does not know.
    """
    if report.self_test:
        missed = [canary.title for canary in report.self_test if not canary.caught]
        words = ", ".join(missed) or "every planted bug was seen"
        count = len(report.self_test)
        return Badge(
            label="parity self-test",
            message=f"{count - len(missed)} of {count} seen",
            color=COLORS["DIFFERENT" if missed else "EQUIVALENT"],
            title=f"parity self-test: {words}",
        )
    verdict, words = _verdict(report)
    return badge_of("parity", verdict, words, [*_gaps(report), *more_gaps])


def _verdict(report: ParityReport) -> tuple[ComparisonVerdict, str]:
    for verdict in WORST:
        for pair in report.pairs:
            if pair.verdict == verdict:
                return verdict, f"{pair.contestant} against {pair.reference}: {pair.wording}"
        if verdict == "DIFFERENT":
            for entrant in report.entrants:
                for check in entrant.checks:
                    if check.result == "fail":
                        return verdict, f"{entrant.name}: {check.name}: {check.wording}"
    if report.interrupted:
        return "NOT TESTED", "interrupted"
    if not report.pairs:
        return "NOT TESTED", "no two programs were compared"
    names = ", ".join(pair.contestant for pair in report.pairs)
    return "EQUIVALENT", f"{names} against {report.reference}"


def _gaps(report: ParityReport) -> list[str]:
    """Return the gaps of a good verdict, each once."""
    gaps = [gap for pair in report.pairs for gap in untested(pair.checks)]
    gaps += report.left_out
    idle = [field.field for field in report.exercise if not field.exercised]
    gaps += [field for field in idle if field not in report.by_design]
    return list(dict.fromkeys(gaps))
