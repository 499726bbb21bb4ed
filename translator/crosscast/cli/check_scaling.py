"""The command `crosscast check-scaling`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from crosscast.cli.options import JSON, options_of, output
from crosscast.cli.screens import show
from crosscast.messages.console import print_diagnostics, print_json
from crosscast.messages.missing_packages import package_missing

if TYPE_CHECKING:
    from crosscast.api.scaling import Scaling


@options_of("scaling.check_scaling", output="keep_model")
def check_scaling_command(
    check_scaling: Callable[..., Scaling],
    *,
    recipe: str,
    output: Annotated[Path | None, output("Folder in which to keep scripts and runs.")] = None,
    json: Annotated[bool, JSON] = False,
) -> int:
    """Check that W processes, W-fold accumulation and one large batch train the same."""
    from crosscast.api.recipes import load

    loaded = load(recipe)
    print_diagnostics(loaded.open)
    try:
        from crosscast_parity.report.progress import progress_on
    except ModuleNotFoundError as error:
        raise package_missing("check-scaling needs", error) from None
    with progress_on(sys.stderr) as on_progress:
        scaling = check_scaling(recipe=loaded, out=output, on_progress=on_progress)
    if json:
        print_json(scaling.to_json())
    else:
        show(scaling)
    return scaling.exit_code
