"""What the verdict does not cover: fields that were not exercised, levels that were not tested."""

from __future__ import annotations

from crosscast_parity.checks.kinds import LEVELS
from crosscast_parity.checks.table import GAPS
from crosscast_parity.judge.records import BisectionRecord, ParityReport
from crosscast_parity.report.page.blocks import (
    Block,
    Cell,
    Items,
    Log,
    Table,
    Text,
    cells,
    value_text,
)
from crosscast_parity.report.page.evidence import place


def exercise_blocks(report: ParityReport) -> list[Block]:
    """Return the fields of the recipe that this run could not have shown a wrong value of."""
    blocks: list[Block] = []
    idle = [field for field in report.exercise if not field.exercised]
    if idle:
        blocks.append(
            Table(
                title="Recipe fields that this run did not exercise",
                note="This run would not have detected a wrong value of these fields. --stress "
                "derives a recipe in which as many fields as possible are active.",
                head=("field", "reason"),
                rows=[(Cell(field.field, code=True), Cell(field.why)) for field in idle],
            )
        )
    elif report.exercise:
        blocks.append(Text(text="This run exercised every field of the recipe.", tone="good"))
    active = [field for field in report.exercise if field.exercised]
    if active:
        blocks.append(
            Table(
                title=f"Exercised fields ({len(active)})",
                head=("field", "how a wrong value would have been detected"),
                rows=[(Cell(field.field, code=True), Cell(field.why)) for field in active],
                folded=True,
            )
        )
    if report.stress:
        blocks.append(Items(title="Changed by --stress", items=report.stress))
    return blocks


def untested(report: ParityReport) -> list[str]:
    """Return every check that was not tested, with its reason, each once."""
    by_check: dict[str, list[str]] = {}
    sources = [(pair.contestant, pair.checks) for pair in report.pairs]
    sources += [(entrant.name, entrant.checks) for entrant in report.entrants]
    for name, checks in sources:
        for check in checks:
            if check.result == "not tested":
                where = f"{name} {place(check)}".strip()
                places = by_check.setdefault(f"{check.level} {check.name}: {check.wording}", [])
                if where not in places:
                    places.append(where)
    return [f"{check_text} ({_first_places(places)})" for check_text, places in by_check.items()]


def _first_places(places: list[str], most: int = 4) -> str:
    rest = len(places) - most
    return ", ".join(places[:most]) + (f" and {rest} more" if rest > 0 else "")


def limits_blocks(report: ParityReport) -> list[Block]:
    """Return the gaps of this run, and those of the harness."""
    blocks: list[Block] = []
    missing = untested(report)
    if missing:
        blocks.append(Items(title="Not tested in this run", items=missing))
    if report.left_out:
        blocks.append(Items(title="Left out of the recipe", items=report.left_out))
    blocks.append(Items(title="Not tested by this harness", items=[gap.what for gap in GAPS]))
    meanings = [cells(level, meaning) for level, meaning in LEVELS.items()]
    blocks.append(Table(title="Levels", head=("level", "what it compares"), rows=meanings))
    return blocks


def command_blocks(report: ParityReport) -> list[Block]:
    """Return how to make the same comparison again."""
    if not report.command:
        return []
    return [Log(title="How to repeat this comparison", text=report.command)]


def self_test_table(report: ParityReport) -> Table:
    """Return the planted bugs, with the levels that saw them."""
    rows = []
    for canary in report.self_test:
        also = ", ".join(level for level in canary.seen if level != canary.level)
        words = Cell("seen", "good") if canary.caught else Cell("NOT SEEN", "bad")
        rows.append((*cells(canary.program, canary.title, canary.level, also), words))
    return Table(
        title="Planted bugs",
        note="Each planted bug must be detected by its own level.",
        head=("program", "bug", "level", "also seen by", "result"),
        rows=rows,
    )


def bisection_table(bisection: BisectionRecord) -> Table:
    """Return the trials of a bisection, in order."""
    return Table(
        title=f"Trials for {bisection.contestant} against {bisection.reference}",
        head=("trial", "fields changed", "gap", "check", "value", "limit"),
        rows=[
            cells(
                str(number),
                ", ".join(step.changes) or "none",
                value_text(step.gap) if step.gap == step.gap else "not tried",
                step.level,
                value_text(step.value),
                value_text(step.limit),
            )
            for number, step in enumerate(bisection.steps, start=1)
        ],
        folded=True,
    )
