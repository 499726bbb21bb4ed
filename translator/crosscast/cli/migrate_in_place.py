"""What `crosscast migrate ... --to API` prints."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from crosscast.messages.console import print_diagnostics, print_diff, print_report

if TYPE_CHECKING:
    from crosscast.api.migrated_in_place import InPlace
    from crosscast_reading.lint.result import Result as Finding


def print_in_place(migration: InPlace, refusals: Sequence[Finding]) -> None:
    """Print what was done first, then the changes, what is left to decide, and the problems.

    `refusals`: those that were not shown yet.
    """
    print_report("\n".join(migration.head), sys.stderr)
    if migration.changes or migration.refusals:
        if migration.mode == "diff":
            _print_diff(migration)
        _print_details(migration, refusals)
        if migration.verified:
            _print_comparison(migration)
    if migration.smoke is not None:
        print_report("".join(f"{line}\n" for line in migration.smoke.lines), sys.stderr)
    print_diagnostics(migration.diagnostics)


def _print_diff(migration: InPlace) -> None:
    print_diff(migration.diff)
    sys.stdout.flush()
    for name, text in migration.added.items():
        print(f"New file: {name} ({len(text.splitlines())} lines)")


def _print_details(migration: InPlace, refusals: Sequence[Finding]) -> None:
    """Print the changes unless there is a diff, then the refusals, then the notes."""
    from crosscast_reading.lint.formats.text import text

    if migration.mode in ("check", "write", "interactive"):
        for change in migration.changes:
            print(f"{change.span}: {change.code} {change.message}")
        for name in migration.added:
            print(f"{name}: a new file, which the changed programs import")
    notes = dict.fromkeys(change.hint for change in migration.changes if change.hint)
    print_report(text(refusals) + "".join(f"Note: {note}\n" for note in notes), sys.stderr)


def _print_comparison(migration: InPlace) -> None:
    """Print the differences, the number of each verdict, and which proof it is."""
    for comparison in migration.compared:
        if comparison.verdict == "different":
            print(f"{comparison.name}: {comparison.field}: {comparison.why}", file=sys.stderr)
    counts = {
        verdict: sum(comparison.verdict == verdict for comparison in migration.compared)
        for verdict in ("same", "changed on purpose", "different", "not comparable")
    }
    words = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    executed = sum(comparison.evidence == "executed" for comparison in migration.compared)
    both = migration.proof.level == "both sides"
    shown = f" ({executed} of these by execution)" if both else ""
    print(f"compared: {words}{shown}", file=sys.stderr)
    print(f"proof: {migration.proof.sentence}", file=sys.stderr)
    for note in migration.execution.notes if migration.execution is not None else ():
        print(f"  {note}", file=sys.stderr)
