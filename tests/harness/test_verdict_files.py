"""What services for continuous integration read: JUnit XML by its schema, and badges."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from crosscast.weights.document import WeightsMap
from crosscast_parity.checks.check import Check
from crosscast_parity.judge.records import ComparisonVerdict, ParityReport
from crosscast_parity.modules.command import Result
from crosscast_parity.modules.comparison import Comparison
from crosscast_parity.modules.judgement import Judgement
from crosscast_parity.modules.outputs import junit_of, verdict_badge
from crosscast_parity.report.badge import COLORS, WIDTHS, Badge, badge_of, parity_badge
from crosscast_parity.report.files import verdict_files, write_report
from crosscast_parity.report.junit import junit_text
from crosscast_parity.scaling_law.outputs import scaling_badge, scaling_junit
from crosscast_parity.scaling_law.report import ScalingReport, ShapeReport, TargetReport
from parity_recipes import plain
from parity_reports import REPORTS, different, equivalent, finished, lone
from scaling_bench import subject_of

SVG = "{http://www.w3.org/2000/svg}"
EVIL = "a\x00]]> <b> & \"'"
NAMED = {"name", "time", "tests", "failures", "errors"}
SCHEMA: Mapping[str, tuple[set[str], set[str], set[str]]] = {
    "testsuites": (NAMED, set(), {"testsuite"}),
    "testsuite": (NAMED | {"skipped"}, NAMED - {"time"}, {"testcase"}),
    "testcase": (
        {"name", "classname", "time"},
        {"name"},
        {"failure", "error", "skipped", "system-out"},
    ),
    "failure": ({"type", "message"}, {"type"}, set()),
    "error": ({"type", "message"}, {"type"}, set()),
    "skipped": ({"type", "message"}, set(), set()),
    "system-out": (set(), set(), set()),
}
"""Of the schema of Jenkins (junit-10.xsd), as far as it is used: attributes, those that are needed,
and elements within an element. The schema of Ant needs the type of a failure besides."""


def check_schema(element: ElementTree.Element) -> None:
    attributes, needed, children = SCHEMA[element.tag]
    assert needed <= set(element.keys()) <= attributes, element.tag
    assert {child.tag for child in element} <= children, element.tag
    for name in ("tests", "failures", "errors", "skipped"):
        assert element.get(name, "0").isdigit()
    float(element.get("time", "0"))
    for child in element:
        check_schema(child)


def whole(report: ParityReport) -> ParityReport:
    """Return a report of which everything was tested."""
    pairs = tuple(
        replace(pair, checks=tuple(c for c in _levels() if c.result == "pass"))
        for pair in report.pairs
    )
    return replace(report, pairs=pairs, left_out=(), exercise=())


def _levels() -> list[Check]:
    names = {"L0b": "scale", "L0d": "types", "L1b": "update", "L1a": "first loss"}
    return [
        Check(level=check.level, name=check.name, result="pass", wording="fine")
        for pair in equivalent().pairs
        for check in pair.checks
        if check.level in names
    ] + [Check(level="L0d", name="gradient grid", result="pass", wording="fine")]


def judged(verdict: ComparisonVerdict) -> ParityReport:
    report = whole(equivalent())
    first, *others = report.pairs
    return replace(report, pairs=(*others, replace(first, verdict=verdict, wording=EVIL)))


def scaling(*verdicts: str) -> ScalingReport:
    subject = subject_of(plain())
    checks = (
        Check(level="L0a", name="data", result="pass", wording="equal", value=0, limit=0),
        Check(level="L2", name="loss", result="fail", wording=EVIL, value=7.5, limit=1.0),
    )
    run = ShapeReport(
        scene="overflow", shape=subject.shapes[-1], outcome=finished(), checks=checks, cause=""
    )
    targets: list[Any] = [
        TargetReport(target=f"t{n}", verdict=verdict, wording=EVIL, runs=(run,))  # type: ignore[arg-type]
        for n, verdict in enumerate(verdicts)
    ]
    return ScalingReport(name="r", subject=subject, targets=tuple(targets))


def models(*, same: bool, metrics: bool = True) -> Result:
    known = WeightsMap(frameworks=("torch", "paddle"), entries=())
    outputs = 1e-7 if same else 0.5
    compared = Comparison(
        first="torch", other="paddle", ours=(), theirs=(), compared=(), outputs=outputs, weights=0.0
    )
    judgement = Judgement(comparison=compared, output=None, gradient=None, differences=())
    left: dict[str, list[str]] = {"torch": [], "paddle": [] if same else ["spare [3]"]}
    return Result(
        known=known, matched=True, left=left, state=True, metrics=metrics, judgements=(judgement,)
    )


# JUnit


@pytest.mark.parametrize("kind", REPORTS)
def test_junit_of_a_comparison_follows_the_schema(kind: str) -> None:
    check_schema(ElementTree.fromstring(junit_text(REPORTS[kind](EVIL)).encode()))


def test_junit_of_scaling_has_a_suite_per_target() -> None:
    root = ElementTree.fromstring(scaling_junit(scaling("DIFFERENT", "EQUAL")).encode())
    check_schema(root)
    assert [suite.get("name") for suite in root] == ["t0", "t1"]
    verdict, data, loss = root[0]
    assert verdict.get("classname") == "crosscast.check-scaling.t0"
    assert data.get("classname") == "crosscast.check-scaling.t0.overflow.L0a"
    assert loss.get("name") == "loss (2 processes x 2 x 4 rows)"
    assert root[0].get("time") == "3.20"


def test_a_failure_has_the_measured_number_and_its_limit() -> None:
    failures = ElementTree.fromstring(junit_text(different()).encode()).findall(".//failure")
    texts = {str(failure.text) for failure in failures}
    expected = "window 9: 1024, expected 512 (10 of 19)\nmeasured 10, limit 0, first in window 0"
    assert expected in texts
    assert {failure.get("type") for failure in failures} == {"DIFFERENT"}


def test_what_was_not_tested_is_skipped_with_its_reason() -> None:
    skipped = ElementTree.fromstring(junit_text(equivalent()).encode()).findall(".//skipped")
    wanted = {c.wording for p in equivalent().pairs for c in p.checks if c.result == "not tested"}
    assert {element.get("message") for element in skipped} == wanted != set()


def test_models_that_differ_are_a_failure_and_their_training_is_skipped() -> None:
    root = ElementTree.fromstring(junit_of(None, models(same=False)).encode())
    check_schema(root)
    names = ["modules of torch and paddle", "weights of paddle", "not tested with the modules"]
    assert [suite.get("name") for suite in root] == names
    assert [suite.get("failures") for suite in root] == ["1", "1", "0"]
    assert root[2].get("skipped") == "1"
    words = [str(failure.text) for failure in root.iter("failure")]
    assert "modules DIFFERENT" in words[0]
    assert "spare [3]" in words[1]
    both = ElementTree.fromstring(junit_of(equivalent(), models(same=True)).encode())
    assert len(both) == 4


# badges


def texts_of(badge: Badge) -> list[str]:
    root = ElementTree.fromstring(badge.svg())
    assert root.get("role") == "img"
    return [str(text.text) for text in root.iter(f"{SVG}text")]


@pytest.mark.parametrize("verdict", ["DIFFERENT", "ERROR", "INCONCLUSIVE", "NOT TESTED"])
def test_the_worst_verdict_is_on_the_badge(verdict: ComparisonVerdict) -> None:
    badge = parity_badge(judged(verdict))
    assert texts_of(badge) == ["parity", verdict]
    title = ElementTree.fromstring(badge.svg()).findtext(f"{SVG}title")
    assert title == f"parity: {verdict}: tensorflow against torch: {EVIL}".replace("\0", "\ufffd")
    assert badge.endpoint() == {
        "schemaVersion": 1,
        "label": "parity",
        "message": verdict,
        "color": COLORS[verdict],
        "isError": verdict in ("DIFFERENT", "ERROR"),
    }


GREEN = COLORS["EQUIVALENT"]
FIELD = equivalent().exercise[-1]


def gapped(**changes: Any) -> ParityReport:
    return replace(whole(equivalent()), **changes)


def test_a_badge_is_green_only_if_everything_was_tested() -> None:
    assert parity_badge(whole(equivalent())).color == GREEN
    assert texts_of(parity_badge(whole(equivalent()))) == ["parity", "EQUIVALENT"]
    pair = whole(equivalent()).pairs[0]
    missing = replace(pair, checks=tuple(c for c in pair.checks if c.level != "L1b"))
    for report in (
        equivalent(),
        gapped(pairs=(pair, missing)),
        gapped(left_out=("model.dropout: off",)),
        gapped(exercise=(FIELD,)),
    ):
        badge = parity_badge(report)
        assert texts_of(badge) == ["parity", "EQUIVALENT, not all tested"]
        assert (badge.color, badge.endpoint()["color"]) == (COLORS["IN PART"],) * 2
        assert "; not tested: " in badge.title
    assert parity_badge(gapped(exercise=(FIELD,), by_design=(FIELD.field,))).color == GREEN
    assert parity_badge(whole(equivalent()), ["metrics"]).color != GREEN


def test_nothing_compared_is_not_tested() -> None:
    assert parity_badge(lone()).message == "NOT TESTED"
    assert parity_badge(replace(whole(equivalent()), pairs=())).message == "NOT TESTED"
    assert verdict_badge(None, None).message == "NOT TESTED"
    failed = Check(level="L1b", name="update", result="fail", wording="off")
    entrant = replace(lone().entrants[0], checks=(failed,))
    assert parity_badge(replace(lone(), entrants=(entrant,))).message == "DIFFERENT"


def test_models_count() -> None:
    assert verdict_badge(None, models(same=False)).message == "DIFFERENT"
    assert verdict_badge(whole(equivalent()), models(same=True)).color == GREEN
    open_ = verdict_badge(whole(equivalent()), models(same=True, metrics=False))
    assert open_.message == "EQUIVALENT, not all tested"


def test_a_self_test_counts_what_was_seen() -> None:
    badge = parity_badge(REPORTS["self_test"]())
    assert texts_of(badge) == ["parity self-test", "1 of 2 seen"]
    assert badge.color != GREEN


@pytest.mark.parametrize("verdict", ["DIFFERENT", "ERROR", "INCONCLUSIVE", "NOT TESTED"])
def test_scaling_has_the_worst_verdict_of_the_targets(verdict: str) -> None:
    assert scaling_badge(scaling("EQUAL", verdict)).message == verdict
    report = scaling("EQUAL", "EQUAL")
    assert scaling_badge(report).message == "EQUAL, not all tested"  # a window is left out
    whole = replace(report, subject=replace(report.subject, exemptions=()))
    assert scaling_badge(whole).color == GREEN


def luminance(color: str) -> float:
    parts = [int(color[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("color", sorted({*COLORS.values(), "444444"}))
def test_white_text_can_be_read(color: str) -> None:
    assert 1.05 / (luminance(color) + 0.05) >= 4.5


def test_widths_are_those_of_the_font() -> None:
    ft2font = pytest.importorskip("matplotlib.ft2font", reason="matplotlib has the font")
    import matplotlib

    font = ft2font.FT2Font(str(Path(matplotlib.get_data_path(), "fonts/ttf/DejaVuSans.ttf")))
    font.set_size(1000, 72)
    found = [round(font.load_char(code).linearHoriAdvance / 65536) for code in range(32, 127)]
    assert list(WIDTHS) == found


def test_a_badge_is_as_wide_as_its_texts() -> None:
    root = ElementTree.fromstring(badge_of("parity", "EQUIVALENT", "", []).svg())
    label, message = (int(text.get("textLength", "0")) for text in root.iter(f"{SVG}text"))
    assert (label, message) == (32, 70)
    boxes = [(int(box.get("x", "")), int(box.get("width", ""))) for box in root.iter(f"{SVG}rect")]
    assert boxes == [(0, label + 12), (label + 12, message + 12)]
    assert int(root.get("width", "")) == label + message + 24


# files


@pytest.mark.usefixtures("without_figures")
def test_a_report_lists_its_runs_for_exports(tmp_path: Path) -> None:
    report = lone()
    runs = [replace(run, folder=tmp_path / "runs" / str(n)) for n, run in enumerate(report.runs)]
    runs[-1] = replace(runs[-1], rows=())
    write_report(replace(report, runs=tuple(runs)), tmp_path)
    listed = json.loads((tmp_path / "runs.json").read_text())
    assert listed["version"] == 1
    assert listed["runs"][0] == {"name": ["torch", "tiny", runs[0].name], "folder": "runs/0"}
    assert len(listed["runs"]) == len(runs) - 1
    junit, badge = junit_text(report), parity_badge(report)
    for name, text in verdict_files(junit, badge).items():
        assert name in ("junit.xml", "badge.svg", "badge.json")
        assert text
