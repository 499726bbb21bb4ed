"""The command `crosscast diff`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

from crosscast.cli.options import JSON, options_of
from crosscast.cli.screens import show
from crosscast.messages.console import print_json

if TYPE_CHECKING:
    from crosscast.api.comparing import Diff


@options_of("comparing.diff")
def diff_command(diff: Callable[..., Diff], *, json: Annotated[bool, JSON] = False) -> int:
    """Compare the training that two sources define; exit with 1 if they differ."""
    comparison = diff()
    if json:
        print_json(comparison.to_json())
        return comparison.exit_code
    show(comparison)
    return comparison.exit_code
