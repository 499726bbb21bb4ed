"""The command `crosscast state`. NumPy is imported only when a command runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from crosscast.cli.compile import JsonOption
from crosscast.messages.console import print_diagnostics, print_json, print_table

if TYPE_CHECKING:
    from crosscast.state.convert import Outcome

state_app = typer.Typer(
    no_args_is_help=True, help="Inspect training states and convert them to another framework."
)

_COLUMNS = ("part", "number", "verdict", "how")
Checkpoint = Annotated[
    str,
    typer.Argument(
        metavar="CKPT", help="A checkpoint.safetensors, its folder, or a torch.save file."
    ),
]
RecipeFile = Annotated[
    str,
    typer.Option("--recipe", metavar="FILE", help="The recipe of the run, to validate the state."),
]
LayoutFile = Annotated[
    str,
    typer.Option(
        "--layout", metavar="FILE", help="Layout map (JSON) for the weights of a custom model."
    ),
]
LikeFile = Annotated[
    str,
    typer.Option(
        "--like",
        metavar="FILE",
        help="A model.safetensors of the target, to compare names and shapes.",
    ),
]
Windows = Annotated[
    int | None,
    typer.Option("--windows", min=0, help="Number of attempted steps, for a torch.save file."),
]
Updates = Annotated[
    int | None,
    typer.Option(
        "--updates", min=0, help="Number of steps that were not skipped, for a torch.save file."
    ),
]
Rows = Annotated[
    int | None,
    typer.Option("--rows", min=1, help="Number of training rows, to compute epoch and row."),
]


@state_app.command("convert")
def convert_command(
    checkpoint: Checkpoint,
    of: Annotated[
        str,
        typer.Option("--from", metavar="T", help="Target that wrote the state: NAME[@VERSION]."),
    ],
    to: Annotated[str, typer.Option("--to", metavar="T", help="Target that continues the run.")],
    output: Annotated[
        str,
        typer.Option("-o", "--output", metavar="OUT", help="A .safetensors file or a folder."),
    ] = "",
    recipe: RecipeFile = "",
    layout: LayoutFile = "",
    like: LikeFile = "",
    windows: Windows = None,
    updates: Updates = None,
    rows: Rows = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite an existing checkpoint.")
    ] = False,
    json: JsonOption = False,
) -> int:
    """Convert a training state to another framework: weights, moments, loss scale, position."""
    from crosscast.state.convert import as_json, convert
    from crosscast.state.sources import Request

    request = Request(
        source=checkpoint,
        of=of,
        to=to,
        output=output,
        recipe=recipe,
        layout=layout,
        like=like,
        windows=windows,
        updates=updates,
        rows=rows,
        force=force,
    )
    outcome = convert(request)
    if json:
        print_json(as_json(outcome, request))
        return 0
    _print(outcome)
    print(f"written: {outcome.output}")
    return 0


@state_app.command("show")
def show_command(
    checkpoint: Checkpoint,
    of: Annotated[
        str, typer.Option("--from", metavar="T", help="Target that wrote the state.")
    ] = "torch",
    recipe: RecipeFile = "",
    windows: Windows = None,
    updates: Updates = None,
    rows: Rows = None,
    json: JsonOption = False,
) -> int:
    """Validate a training state and print its contents."""
    from crosscast.state.convert import as_json, show
    from crosscast.state.sources import Request, keys_of

    request = Request(checkpoint, of, recipe=recipe, windows=windows, updates=updates, rows=rows)
    keys = keys_of(request)
    if keys is not None:
        _print_keys(keys, as_json=json)
        return 0
    outcome = show(request)
    if json:
        print_json(as_json(outcome, request))
        return 0
    _print(outcome)
    return 0


def _print_keys(keys: Sequence[tuple[str, int, int, str]], *, as_json: bool) -> None:
    from crosscast.state.outline import COLUMNS

    if as_json:
        print_json({"version": 1, "keys": [dict(zip(COLUMNS, key, strict=True)) for key in keys]})
    else:
        print_table(COLUMNS, [(key, str(t), str(n), taken) for key, t, n, taken in keys])


def _print(outcome: Outcome) -> None:
    rows = [(row.part, str(row.count), row.verdict, row.how) for row in outcome.rows]
    print_table(_COLUMNS, rows, long=("how",))
    if outcome.position:
        print(f"next window: {outcome.position}")
    print(f"recipe: {outcome.state.recipe}")
    print_diagnostics(outcome.notes)
