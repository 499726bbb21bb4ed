"""The report in a terminal: verdict, levels and failed checks, within 80 columns."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from crosscast.messages.terminal import escaped, styled_stream
from crosscast_parity.checks.check import Check
from crosscast_parity.checks.kinds import LEVELS
from crosscast_parity.judge.records import Pair, ParityReport
from crosscast_parity.judge.verdict import by_level, place

WIDTH = 80
SHOWN = 6
"""Maximum number of failed checks shown per pair; the HTML page has all of them."""
_MARKS = {"fail": "FAIL", "unclear": "unclear", "pass": "ok", "not tested": "-", "info": "-"}
_STYLES = (
    (r"\bEQUIVALENT\b", "bold green"),
    (r"\b(DIFFERENT|ERROR|FAIL)\b", "bold red"),
    (r"\b(INCONCLUSIVE|unclear)\b", "bold yellow"),
    (r"\bNOT TESTED\b", "bold"),
    (r"(?<== )ok\b", "green"),
)
"""Words to highlight in color."""


def summary_lines(report: ParityReport, *, files: Sequence[Path] = ()) -> list[str]:
    """Return the report in plain lines of at most 80 columns (a long path may be longer).

    Args:
        report: what to say.
        files: where more is written.
    """
    lines: list[str] = []
    for pair in report.pairs:
        lines += _pair(pair)
    if not report.pairs:
        lines += _single_program_lines(report)
    for canary in report.self_test:
        result = "seen" if canary.caught else "NOT SEEN"
        lines += _wrapped(f"{canary.program}: {canary.title}: {canary.level} = {result}", keep=True)
    for bisection in report.bisections:
        lines += _wrapped(f"cause: {bisection.wording}", indent="  ")
    idle = [field.field for field in report.exercise if not field.exercised]
    if idle:
        lines += _wrapped(f"not exercised: {', '.join(idle)}")
    return lines + [f"{path.suffix.removeprefix('.')}: {path}" for path in files]


def print_summary(report: ParityReport, *, files: Sequence[Path] = ()) -> None:
    """Print the report to stdout: coloured in a terminal, plain elsewhere."""
    lines = summary_lines(report, files=files)
    if not sys.stdout.isatty() or "NO_COLOR" in os.environ:
        print(*lines, sep="\n", flush=True)
        return
    from rich.console import Console
    from rich.text import Text

    stream = styled_stream(sys.stdout)
    console = Console(file=stream, highlight=False, markup=False, soft_wrap=True)
    for line in lines:
        text = Text(escaped(line))
        for pattern, style in _STYLES:
            text.highlight_regex(pattern, style)
        console.print(text)


def _pair(pair: Pair) -> Iterator[str]:
    yield plain(f"{pair.contestant} against {pair.reference}: {pair.verdict}")
    yield from _wrapped(pair.wording, indent="  ")
    yield from _levels(pair.checks)
    yield from _troubles(pair.checks)


def _single_program_lines(report: ParityReport) -> Iterator[str]:
    for entrant in report.entrants:
        runs = [run for run in report.runs if run.contestant == entrant.name]
        ended = [run for run in runs if not run.outcome.complete]
        if ended:
            outcome = ended[0].outcome
            yield from _wrapped(f"{ended[0].title}: {outcome.kind}: {outcome.message}")
        else:
            yield from _wrapped(f"{entrant.name}: there is no other program to compare with")
        yield from _levels(entrant.checks)
        yield from _troubles(entrant.checks)


def _levels(checks: Sequence[Check]) -> Iterator[str]:
    """Say in a line or two how each level came out."""
    parts = []
    for level in LEVELS:
        results = {check.result for check in checks if check.level == level}
        worst = next((result for result in _MARKS if result in results), None)
        if worst and level != "result":
            parts.append(f"{level} = {_MARKS[worst]}")
    if parts:
        yield from _wrapped("   ".join(parts), indent="  ", keep=True)


def _troubles(checks: Sequence[Check]) -> Iterator[str]:
    troubles = [check for check in by_level(checks) if check.result in ("fail", "unclear")]
    troubles.sort(key=lambda check: check.result != "fail")
    for check in troubles[:SHOWN]:
        yield from _wrapped(f"{_MARKS[check.result]} {place(check)}: {check.wording}", indent="  ")
    if len(troubles) > SHOWN:
        yield f"  and {len(troubles) - SHOWN} more: see the report"


def _wrapped(text: str, *, indent: str = "", keep: bool = False) -> list[str]:
    """Wrap at words; `keep` leaves `level = result` whole."""
    text = plain(text)
    if keep:
        text = text.replace(" = ", "\0=\0")
    lines = textwrap.wrap(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent if keep else indent + "  ",
        break_on_hyphens=False,
    )
    return [line.replace("\0=\0", " = ") for line in lines]


def plain(text: str) -> str:
    """Return the text in one line without what could steer a terminal."""
    text = " ".join(text.split()) if "\n" in text or "\t" in text else text
    return "".join(letter if letter.isprintable() else "?" for letter in text)
