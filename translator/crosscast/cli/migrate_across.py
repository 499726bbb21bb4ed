"""What `crosscast migrate ... --to TARGET -o DIR` prints."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crosscast.messages.console import print_diagnostics, print_report

if TYPE_CHECKING:
    from crosscast.api.migrated_across import Across


@contextmanager
def progress_of(runs: bool) -> Iterator[Callable[[Any], None]]:
    """Return a function that prints the progress of runs, if there will be any."""
    try:
        if not runs:
            raise ModuleNotFoundError
        from crosscast_parity.report.progress import progress_on
    except ModuleNotFoundError:  # without the harness nothing is run
        yield lambda progress: None
        return
    with progress_on(sys.stderr) as on_progress:
        yield on_progress


def print_across(migration: Across, root: Path) -> None:
    """Print what was done, the diagnostics, and where the report is."""
    print_report("\n".join(migration.head), sys.stdout)
    print_diagnostics(migration.diagnostics)
    _print_proof(migration.report)
    print(root / "report.md")


def _print_proof(data: Mapping[str, Any]) -> None:
    """Print what came of the runs, and why there is no stronger proof."""
    from crosscast_migrate.summary import READ_ONLY

    verification = data["verification"]
    if verification is None:
        return
    for entry in verification["targets"]:
        print(f"{entry['target']}: {entry['outcome']}: {entry['wording']}")
        for verdict in dict.fromkeys(field["verdict"] for field in entry["fields"]):
            count = sum(field["verdict"] == verdict for field in entry["fields"])
            print(f"  {count} fields {verdict}")
        if entry["outcome"] == "same":
            print("  the emitted script does what this recipe says (proven)")
    reading = verification["reading"]
    print(READ_ONLY if reading is None else reading["sentence"])
