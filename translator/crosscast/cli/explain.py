"""The command `crosscast explain`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

from crosscast.cli.options import ALL, JSON, options_of
from crosscast.cli.screens import show
from crosscast.messages.console import print_diagnostics, print_json

if TYPE_CHECKING:
    from crosscast.api.explaining import Explanation


@options_of("explaining.explain", all="field")
def explain_command(
    explain: Callable[..., Explanation],
    *,
    all: Annotated[bool, ALL] = False,
    json: Annotated[bool, JSON] = False,
) -> int:
    """Explain how targets implement a recipe, or show the training step of a script.

    For a recipe: numbers of verdicts, and every field that is not exact. For a script: its step
    next to the neutral one.
    """
    explanation = explain()
    if not json:
        show(explanation, all=all)
    elif explanation.plan is not None:
        print_json(
            {"plan": explanation.plan.to_json(), "steps": [s.to_json() for s in explanation.steps]}
        )
    else:
        print_diagnostics(explanation.diagnostics)
        print_json([verdict.to_json() for verdict in explanation.verdicts])
    return explanation.exit_code
