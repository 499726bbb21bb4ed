"""The command `crosscast sweep`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from crosscast.cli.options import JSON, options_of, output
from crosscast.cli.screens import show
from crosscast.messages.console import print_diagnostics, print_json
from crosscast.messages.missing_packages import package_missing

if TYPE_CHECKING:
    from crosscast.api.sweeping import Sweep


@options_of("sweeping.sweep")
def sweep_command(
    sweep: Callable[..., Sweep],
    *,
    recipes: list[str],
    output: Annotated[Path, output("Folder of the sweep; an existing sweep is continued.")],
    json: Annotated[bool, JSON] = False,
) -> int:
    """Train recipes x targets x seeds x settings; repeat the command to continue."""
    from crosscast.api.recipes import load

    for path in recipes:
        print_diagnostics(load(path).open)
    try:
        from crosscast_parity.sweep.progress import make_watch
    except ModuleNotFoundError as error:
        raise package_missing("sweeps need", error) from None
    grid = sweep(out=output, watch=make_watch())
    if json:
        print_json(grid.to_json())
        return grid.exit_code
    show(grid)
    print(f"cells: {output / 'sweep.csv'}, {output / 'sweep.json'}")
    return grid.exit_code
