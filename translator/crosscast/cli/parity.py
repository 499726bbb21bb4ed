"""The command `crosscast parity`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from crosscast.cli.options import options_of, output
from crosscast.messages.console import print_diagnostics, print_screen
from crosscast.messages.missing_packages import package_missing

if TYPE_CHECKING:
    from crosscast.api.parity_result import Parity


@options_of("parity.parity")
def parity_command(
    parity: Callable[..., Parity],
    *,
    recipe: str,
    output: Annotated[Path, output("Folder for the runs and the report.")],
) -> int:
    """Train programs on the same weights and batches and compare them, level by level."""
    from crosscast.api.recipes import load

    loaded = load(recipe)
    print_diagnostics(loaded.open)
    try:
        from crosscast_parity.report.progress import progress_on
    except ModuleNotFoundError as error:
        raise package_missing("the parity harness needs", error) from None
    with progress_on(sys.stderr) as on_progress:
        comparison = parity(
            recipe=loaded,
            out=output,
            command=shlex.join(["crosscast", *sys.argv[1:]]),
            on_progress=on_progress,
        )
    _print(comparison, output)
    print_diagnostics(comparison.diagnostics)
    return comparison.exit_code


def _print(comparison: Parity, output: Path) -> None:
    """Print what was found, and where more is written."""
    from crosscast_parity.report.terminal import print_summary

    print_screen(comparison.head)
    print()

    if comparison.models is not None:
        from crosscast_parity.modules.report import text_of

        print(*text_of(comparison.models), sep="\n")
        if comparison.models.matched:
            from crosscast.weights.document import NAME

            print(f"weights were matched on the way: {output / NAME}")
        print(f"report: {output / 'modules.txt'}", flush=True)
        if comparison.report is None and comparison.page is not None:
            print(f"html: {comparison.page}")
    if comparison.self_test:
        print(*comparison.lines, sep="\n")
        print(f"html: {comparison.page}")
    elif comparison.report is not None:
        print_summary(comparison.report, files=[comparison.page] if comparison.page else [])
