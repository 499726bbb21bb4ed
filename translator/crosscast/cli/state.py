"""The command `crosscast state`. NumPy is imported only when a command runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from crosscast.cli.options import JSON, options_of, output
from crosscast.cli.screens import show
from crosscast.messages.console import print_json

if TYPE_CHECKING:
    from crosscast.api.states import State

state_app = typer.Typer(
    no_args_is_help=True, help="Inspect training states and convert them to another framework."
)


@state_app.command("convert")
@options_of("states.state_convert", output="to")
def convert_command(
    state_convert: Callable[..., State],
    *,
    output: Annotated[str, output("A .safetensors file or a folder.", "OUT")] = "",
    json: Annotated[bool, JSON] = False,
) -> int:
    """Convert a training state to another framework: weights, moments, loss scale, position."""
    state = state_convert(out=output)
    if json:
        print_json(state.to_json())
        return 0
    show(state)
    return 0


@state_app.command("show")
@options_of("states.state_show")
def show_command(state_show: Callable[..., State], *, json: Annotated[bool, JSON] = False) -> int:
    """Validate a training state and print its contents."""
    state = state_show()
    if json:
        print_json(state.to_json())
    else:
        show(state)
    return 0
