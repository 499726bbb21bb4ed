"""The top of the page: the verdicts and the result of every level."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from crosscast_parity.checks.check import Check, Result
from crosscast_parity.checks.kinds import LEVELS, Level
from crosscast_parity.judge.records import Entrant, Pair, ParityReport
from crosscast_parity.planning.half_precision import in_words
from crosscast_parity.report.page.blocks import (
    RESULT_TONES,
    RESULT_WORDS,
    VERDICT_TONES,
    Block,
    Cell,
    Table,
    Tone,
)

WORST_FIRST = ("DIFFERENT", "ERROR", "INCONCLUSIVE", "NOT TESTED", "EQUIVALENT")
RESULTS_WORST_FIRST: tuple[Result, ...] = ("fail", "unclear", "pass", "info", "not tested")
NOTHING_TO_COMPARE = "NOTHING COMPARED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """The verdict on one pair, or on a program that stands alone."""

    name: str
    verdict: str
    tone: Tone
    wording: str
    blocks: Sequence[Block] = ()


def headline(report: ParityReport) -> tuple[str, Tone]:
    """Return the worst verdict of the report with its tone."""
    if report.self_test:
        caught = all(canary.caught for canary in report.self_test)
        return ("SELF-TEST PASSED", "good") if caught else ("SELF-TEST FAILED", "bad")
    verdicts = set(report.verdicts())
    if any(entrant_differs(entrant) for entrant in report.entrants):
        verdicts.add("DIFFERENT")
    for verdict in WORST_FIRST:
        if verdict in verdicts:
            return verdict, VERDICT_TONES[verdict]
    if any(not run.outcome.complete for run in report.runs):
        return "ERROR", "bad"
    return NOTHING_TO_COMPARE, "soft"


def entrant_differs(entrant: Entrant) -> bool:
    """Whether a program fails a check that needs no other program."""
    return any(check.result == "fail" for check in entrant.checks)


def facts(report: ParityReport) -> list[tuple[str, str]]:
    """Return the names and values of the options."""
    named_values = [
        ("recipe", report.recipe),
        ("check", report.check),
        *_reference(report),
        ("device", report.device),
        ("threads per process", str(report.threads)),
        ("half precision", _half(report)),
        ("stages", ", ".join(stage.name for stage in report.stages) or "none"),
    ]
    if report.reference not in (None, report.requested_reference):
        named_values.append(("reference asked for", report.requested_reference))
    return named_values


def _reference(report: ParityReport) -> list[tuple[str, str]]:
    if report.self_test:
        return []
    return [("reference", report.reference or "no run finished")]


def _half(report: ParityReport) -> str:
    if all(stage.dtype == "float32" for stage in report.stages):
        return "not used"
    return in_words({entrant.name: entrant.execution for entrant in report.entrants})


def pair_name(pair: Pair) -> str:
    """Return the name of a pair on the page."""
    return f"{pair.contestant} against {pair.reference}"


def alone_card(report: ParityReport) -> Card:
    """Return the card of a report without pairs."""
    verdict, tone = headline(report)
    failed = [c for e in report.entrants for c in e.checks if c.result == "fail"]
    ended = [r for r in report.runs if not r.outcome.complete]
    if report.self_test:
        caught = sum(canary.caught for canary in report.self_test)
        wording = f"{caught} of {len(report.self_test)} planted bugs were detected by their level"
    elif failed:
        wording = f"different at {failed[0].level} {failed[0].name}: {failed[0].wording}"
    elif ended:
        wording = f"run {ended[0].title} {ended[0].outcome.kind}: {ended[0].outcome.message}"
    else:
        wording = (
            "the program passes all checks that need no other program; there is nothing to compare"
        )
    names = ", ".join(entrant.name for entrant in report.entrants)
    return Card(name=names or report.recipe, verdict=verdict, tone=tone, wording=wording)


def level_table(report: ParityReport) -> Table:
    """Return levels by programs: the worst result of each level."""
    pairs = {pair_name(pair): pair.checks for pair in report.pairs}
    compared = {pair.contestant for pair in report.pairs}
    alone = {e.name: e.checks for e in report.entrants if e.name not in compared and e.checks}
    columns = {**pairs, **{f"{name} alone": checks for name, checks in alone.items()}}
    rows = []
    for level, meaning in LEVELS.items():
        results = [_worst(level, checks) for checks in columns.values()]
        if level != "result" and any(cell.text for cell in results):
            rows.append((Cell(level), Cell(meaning, "soft"), *results))
    return Table(
        title="",
        note="The first level that fails says most about the cause. L3 never overrides the levels "
        "before it.",
        head=("level", "what it compares", *columns),
        rows=rows,
    )


def _worst(level: Level, checks: Iterable[Check]) -> Cell:
    of_level = [check for check in checks if check.level == level]
    for result in RESULTS_WORST_FIRST:
        count = sum(check.result == result for check in of_level)
        if count:
            share = f"{count} of {len(of_level)}" if count < len(of_level) else f"all {count}"
            words = RESULT_WORDS[result]
            text = words if len(of_level) == 1 else f"{words} ({share})"
            return Cell(text, RESULT_TONES[result])
    return Cell("")
