"""The report as JUnit XML, one suite per target, and as a badge."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element

from crosscast_parity.report.badge import Badge, badge_of
from crosscast_parity.report.files import DOCUMENT, verdict_files, write_texts
from crosscast_parity.report.junit_xml import add_checks, add_verdict, document, new_suite
from crosscast_parity.scaling_law.report import ScalingReport, TargetReport

WORST = ("DIFFERENT", "ERROR", "INCONCLUSIVE", "NOT TESTED")


def write_outputs(report: ScalingReport, folder: Path) -> None:
    """Write report.json, junit.xml, badge.svg and badge.json.

    Raises:
        DiagnosticError: CC708 if they cannot be written.
    """
    text = json.dumps(report.to_json(), indent=2, sort_keys=True) + "\n"
    write_texts(
        folder, {DOCUMENT: text, **verdict_files(scaling_junit(report), scaling_badge(report))}
    )


def scaling_junit(report: ScalingReport) -> str:
    """Return the XML document: a case per check of every run."""
    return document(f"scaling of {report.name}", _suites(report))


def _suites(report: ScalingReport) -> Iterator[Element]:
    for target in report.targets:
        suite = new_suite(target.target, sum(run.outcome.seconds for run in target.runs))
        group = f"check-scaling.{target.target}"
        add_verdict(suite, group, target.verdict, target.wording)
        for run in target.runs:
            named = [(f"{check.name} ({run.shape})", check) for check in run.checks]
            add_checks(suite, f"{group}.{run.scene}", named)
        yield suite


def scaling_badge(report: ScalingReport) -> Badge:
    """Return the badge: the worst verdict of the targets."""
    ranked = sorted(report.targets, key=_rank)
    gaps = [exemption.words for exemption in report.subject.exemptions]
    words = f"{ranked[0].target}: {ranked[0].wording}"
    return badge_of("scaling", ranked[0].verdict, words, gaps)


def _rank(target: TargetReport) -> int:
    return WORST.index(target.verdict) if target.verdict in WORST else len(WORST)
