"""The command `crosscast drift`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

from crosscast.api.parameters import Parameter
from crosscast.cli.options import ALL, JSON, options_of
from crosscast.messages.console import print_json, print_screen

if TYPE_CHECKING:
    from crosscast.api.drifting import Drift


@options_of("drifting.drift")
def drift(
    drift: Callable[..., Drift],
    *,
    names: Annotated[bool, Parameter("List new names and names that are gone, too.")] = False,
    all: Annotated[bool, ALL] = False,
    json: Annotated[bool, JSON] = False,
) -> int:
    """Show what releases of a framework do differently, as observed by running them."""
    from crosscast.drift.words import lines_of

    observations = drift()
    if json:
        print_json(observations.to_json())
        return observations.exit_code
    parts = list(observations.parts(all=all))
    if names and not all and observations.names:
        parts[-1] = "\n".join(
            ["Names", *(line for c in observations.names for line in lines_of(c))]
        )
    print_screen(observations.head, parts)
    return observations.exit_code
