"""The command `crosscast plan`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from crosscast.cli.options import ALL, JSON, options_of, output
from crosscast.cli.progress import waiting
from crosscast.messages.console import print_diagnostics, print_json, print_screen

if TYPE_CHECKING:
    from crosscast.api.planning import MemoryPlan


@options_of("planning.plan", output="answers")
def plan_command(
    plan: Callable[..., MemoryPlan],
    *,
    output: Annotated[
        str | None, output("Folder in which to write every answer as a recipe.")
    ] = None,
    trace: bool,
    all: Annotated[bool, ALL] = False,
    json: Annotated[bool, JSON] = False,
) -> int:
    """Find micro-batch size, accumulation and checkpointing that fit a memory limit.

    Global batch size and schedule do not change. Exits with 1 if a target does not fit.
    """
    with waiting("tracing the model" if trace else ""):
        planned = plan(out=output)
    names: dict[str, list[str]] = {}
    if output is not None:
        for target in planned.targets:
            if written := planned.names(target):
                names[target] = [str(Path(output) / name) for name in written]
    if json:
        print_json(planned.to_json(names))
        return planned.exit_code
    files = ["\n".join(name for some in names.values() for name in some)] if names else []
    print_screen(planned.head, [*planned.parts(all=all), *files])
    print_diagnostics(planned.diagnostics)
    return planned.exit_code
