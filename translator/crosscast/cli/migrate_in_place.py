"""What `crosscast migrate ... --to API` prints."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from crosscast.messages.console import print_diagnostics, print_diff, print_report

if TYPE_CHECKING:
    from crosscast.api.migrated_in_place import InPlace
    from crosscast_reading.lint.result import Result as Finding


def print_in_place(found: InPlace, refusals: Sequence[Finding]) -> None:
    """Print what was done first, then the changes, what is left to decide, and the problems.

    `refusals`: those that were not shown yet.
    """
    print_report("\n".join(found.head), sys.stderr)
    if found.changes or found.refusals:
        if found.mode == "diff":
            _print_diff(found)
        _print_details(found, refusals)
        if found.verified:
            _print_comparison(found)
    print_diagnostics(found.diagnostics)


def _print_diff(found: InPlace) -> None:
    print_diff(found.diff)
    sys.stdout.flush()
    for name, text in found.added.items():
        print(f"New file: {name} ({len(text.splitlines())} lines)")


def _print_details(found: InPlace, refusals: Sequence[Finding]) -> None:
    """Print the changes unless there is a diff, then the refusals, then the notes."""
    from crosscast_reading.lint.formats.text import text

    if found.mode in ("check", "write", "interactive"):
        for change in found.changes:
            print(f"{change.span}: {change.code} {change.message}")
        for name in found.added:
            print(f"{name}: a new file, which the changed programs import")
    notes = dict.fromkeys(change.hint for change in found.changes if change.hint)
    print_report(text(refusals) + "".join(f"Note: {note}\n" for note in notes), sys.stderr)


def _print_comparison(found: InPlace) -> None:
    """Print the differences, the number of each verdict, and which proof it is."""
    for comparison in found.compared:
        if comparison.verdict == "different":
            print(f"{comparison.name}: {comparison.field}: {comparison.why}", file=sys.stderr)
    counts = {
        verdict: sum(comparison.verdict == verdict for comparison in found.compared)
        for verdict in ("same", "changed on purpose", "different", "not comparable")
    }
    words = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    executed = sum(comparison.evidence == "executed" for comparison in found.compared)
    both = found.proof.level == "both sides"
    shown = f" ({executed} of these by execution)" if both else ""
    print(f"compared: {words}{shown}", file=sys.stderr)
    print(f"proof: {found.proof.sentence}", file=sys.stderr)
    for note in found.execution.notes if found.execution is not None else ():
        print(f"  {note}", file=sys.stderr)
