"""A comparison of modules as suites of JUnit and in a badge, alone or with that of training."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from xml.etree.ElementTree import Element

from crosscast.messages.output import OutputFile
from crosscast.weights.document import NAME
from crosscast.weights.writer import text_of as weights_text
from crosscast_parity.judge.records import ParityReport
from crosscast_parity.modules.command import Result
from crosscast_parity.modules.page import module_cards, module_sections, render_models
from crosscast_parity.modules.report import as_json, not_tested, summary, text_of
from crosscast_parity.report.badge import Badge, badge_of, parity_badge
from crosscast_parity.report.files import PAGE, verdict_files, write_report, write_texts
from crosscast_parity.report.junit import junit_text
from crosscast_parity.report.junit_xml import add_case, add_result, add_verdict, document, new_suite
from crosscast_parity.report.page.render import render_page


def write_all(report: ParityReport, result: Result | None, folder: Path) -> Path:
    """Write a report with what was found of the modules; return the path of the page.

    Raises:
        DiagnosticError: CC708 if it cannot be written.
    """
    return write_report(
        report,
        folder,
        suites=suites_of(result),
        gaps=gaps_of(result),
        cards=module_cards(result),
        sections=module_sections(result),
    )


def write_untrained(result: Result, recipe: str, folder: Path) -> Path:
    """Write the page of models that were not trained, and what continuous integration reads.

    Returns:
        The path of the page.

    Raises:
        DiagnosticError: CC708 if it cannot be written.
    """
    texts = verdict_files(junit_of(None, result), verdict_badge(None, result))
    write_texts(folder, {**texts, PAGE: render_models(result, recipe)})
    return folder / PAGE


def page_of(report: ParityReport | None, result: Result | None, recipe: str) -> str:
    """Return the page of everything that was found; empty if that is nothing."""
    if report is not None:
        return render_page(report, module_cards(result), module_sections(result))[0]
    return "" if result is None or result.trains_alike else render_models(result, recipe)


def report_files(result: Result) -> dict[str, OutputFile]:
    """Return the report as files, and the pairs of weights if they were matched."""
    files = {
        "modules.txt": OutputFile("\n".join([*text_of(result), ""])),
        "modules.json": OutputFile(json.dumps(as_json(result), indent=1) + "\n"),
    }
    if result.matched:
        files[NAME] = OutputFile(weights_text(result.known))
    return files


def suites_of(result: Result | None) -> Iterator[Element]:
    """Yield a suite for every two frameworks, those of left weights, and of what was not tested."""
    if result is None:
        return
    for judgement in result.judgements:
        comparison = judgement.comparison
        suite = new_suite(f"modules of {comparison.first} and {comparison.other}")
        alike = judgement.same or result.trains_alike
        verdict = "EQUIVALENT" if alike else "DIFFERENT"
        group = f"parity.{comparison.other}.modules"
        add_verdict(suite, group, verdict, "\n".join(summary(judgement)))
        yield suite
    for framework, names in result.left.items():
        if names:
            suite = new_suite(f"weights of {framework}")
            words = f"weights without counterpart: {', '.join(names)}"
            add_verdict(suite, f"parity.{framework}.weights", "DIFFERENT", words)
            yield suite
    untested = not_tested(result)
    if untested:
        suite = new_suite("not tested with the modules")
        for level, words in untested:
            add_result(add_case(suite, f"parity.{level}", words), "skipped", "", words)
        yield suite


def gaps_of(result: Result | None) -> list[str]:
    """Return the parts of the modules that were not tested, in words."""
    return [] if result is None else [words for _, words in not_tested(result)]


def junit_of(report: ParityReport | None, result: Result | None) -> str:
    """Return everything that was found as JUnit XML."""
    suites = list(suites_of(result))
    if report is not None:
        return junit_text(report, suites)
    return document("parity of models" if result else "parity, interrupted", suites)


def verdict_badge(report: ParityReport | None, result: Result | None) -> Badge:
    """Return the badge of everything that was found."""
    if result is not None and not result.trains_alike:
        judged = (judgement for judgement in result.judgements if not judgement.same)
        words = "; ".join(line for judgement in judged for line in summary(judgement)[:1])
        return badge_of("parity", "DIFFERENT", words or "weights without counterpart", [])
    if report is None:
        return badge_of("parity", "NOT TESTED", "interrupted", [])
    badge = parity_badge(report, gaps_of(result))
    if result is not None and result.beside_training:
        words = f"the models differ in {', '.join(result.beside_training)}"
        badge = replace(badge, title=f"{badge.title}; {words}")
    return badge
