"""Tables of checks, and of the first rows of a trace that differ."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from crosscast_parity.checks.check import Check, number
from crosscast_parity.checks.kinds import LEVELS
from crosscast_parity.judge.records import Pair
from crosscast_parity.recordings.trace import TraceRow
from crosscast_parity.report.page.blocks import (
    RESULT_TONES,
    RESULT_WORDS,
    Cell,
    Table,
    cells,
    value_text,
)
from crosscast_parity.report.page.summary import RESULTS_WORST_FIRST

SHOWN_DIFFERENCES = 6
MAIN = "main"
"""The longest run: of equal results, its is shown."""
COLUMNS = ("micro-batches", "rows", "loss", "lr", "grad norm", "scale", "skipped", "updates")
ORDER = {level: place for place, level in enumerate(LEVELS)}


def failed_table(checks: Iterable[Check]) -> Table | None:
    """Return the checks that did not pass, the most telling first."""
    failed = [check for check in checks if check.result in ("fail", "unclear")]
    if not failed:
        return None
    failed.sort(key=lambda check: (check.result != "fail", ORDER[check.level]))
    return Table(
        title="Failed and unclear checks",
        head=("level", "check", "in", "value", "limit", "found", "result"),
        rows=[
            (
                Cell(check.level),
                Cell(check.name),
                Cell(place(check)),
                Cell(value_text(check.value)),
                Cell(value_text(check.limit)),
                Cell(check.wording),
                Cell(RESULT_WORDS[check.result], RESULT_TONES[check.result]),
            )
            for check in failed
        ],
    )


def worst_table(title: str, checks: Sequence[Check]) -> Table:
    """Return one row per level and statistic: its worst value over all stages and runs."""
    groups: dict[tuple[str, str], list[Check]] = {}
    for check in sorted(checks, key=lambda check: ORDER[check.level]):
        groups.setdefault((check.level, check.name), []).append(check)
    return Table(
        title=title,
        note="Each statistic with the run in which it came closest to its limit. The margin is "
        "the limit divided by the value.",
        head=("level", "statistic", "value", "limit", "margin", "worst in", "runs", "result"),
        rows=[_worst_row(checks_of_group) for checks_of_group in groups.values()],
    )


def _worst_row(checks: Sequence[Check]) -> tuple[Cell, ...]:
    worst = min(
        checks, key=lambda c: (RESULTS_WORST_FIRST.index(c.result), -_share(c), c.run != MAIN)
    )
    exact = worst.value is None or (worst.limit == 0 and worst.result == "pass")
    words = exact or worst.level == "L3"  # there, the sentence holds mean and interval
    return (
        *cells(worst.level, worst.name),
        Cell(worst.wording if words else value_text(worst.value)),
        *cells(value_text(worst.limit), margin(worst), place(worst), str(len(checks))),
        Cell(RESULT_WORDS[worst.result], RESULT_TONES[worst.result]),
    )


def _share(check: Check) -> float:
    if check.value is None or math.isnan(check.value) or not check.limit:
        return 0.0
    return abs(check.value) / check.limit


def all_checks_table(title: str, checks: Sequence[Check]) -> Table:
    """Return every check with what it found, folded: it is long."""
    return Table(
        title=title,
        head=("level", "check", "in", "value", "limit", "margin", "found", "result"),
        rows=[
            (
                *cells(check.level, check.name, place(check), value_text(check.value)),
                *cells(value_text(check.limit), margin(check), check.wording),
                Cell(RESULT_WORDS[check.result], RESULT_TONES[check.result]),
            )
            for check in sorted(checks, key=lambda check: ORDER[check.level])
        ],
        folded=True,
    )


def place(check: Check) -> str:
    """Return the training that a check is about, as `tiny/main`."""
    return "/".join(part for part in (check.stage, check.run) if part)


def margin(check: Check) -> str:
    """Return how often a value that passed fits into its limit, as `12 x`."""
    if check.result != "pass" or check.limit is None or check.value is None:
        return ""
    if not check.value:
        return "exact"
    times = check.limit / abs(check.value)
    return f"{times:.0f} x" if times >= 10 else f"{times:.1f} x"


def difference_table(pair: Pair) -> Table | None:
    """Return the first rows that differ, two lines each."""
    if not pair.differences:
        return None
    rows: list[tuple[Cell, ...]] = []
    for difference in pair.differences[:SHOWN_DIFFERENCES]:
        ours, reference = row_texts(difference.ours), row_texts(difference.reference)
        where = f"{difference.stage}/{difference.run}"
        head = cells(where, str(difference.ours.window))
        marked = [
            Cell(text, "bad" if text != other else "")
            for text, other in zip(ours, reference, strict=True)
        ]
        rows.append((*head, Cell(pair.contestant), *marked))
        rows.append((*cells("", ""), Cell(pair.reference), *cells(*reference)))
    return Table(
        title="First differing rows of the trace",
        note="Differences are highlighted, including those that are only due to rounding.",
        head=("in", "window", "program", *COLUMNS),
        rows=rows,
    )


def row_texts(row: TraceRow) -> tuple[str, ...]:
    """Return a row of a trace as the cells under `COLUMNS`."""
    return (
        str(row.n_micro),
        str(row.rows),
        number(row.loss),
        number(row.lr),
        number(row.grad_norm),
        number(row.scale),
        "yes" if row.skipped else "no",
        str(row.updates),
    )
