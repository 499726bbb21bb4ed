"""`crosscast state`: checkpoints of emitted scripts. Importing this loads no NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from crosscast.cli.compile import JsonOption
from crosscast.messages.console import print_diagnostics, print_json, print_table

if TYPE_CHECKING:
    from crosscast.state.convert import Outcome

state_app = typer.Typer(
    no_args_is_help=True, help="Look into training states; carry them to another framework."
)

_COLUMNS = ("part", "number", "verdict", "how")
Checkpoint = Annotated[
    str,
    typer.Argument(
        metavar="CKPT", help="checkpoint.safetensors, its folder, or a file of torch.save."
    ),
]
RecipeFile = Annotated[
    str, typer.Option("--recipe", metavar="FILE", help="The recipe of the run; checks all of it.")
]
LayoutFile = Annotated[
    str,
    typer.Option("--layout", metavar="FILE", help="JSON: weights of a model of your own."),
]
LikeFile = Annotated[
    str,
    typer.Option("--like", metavar="FILE", help="model.safetensors of the target: what must fit."),
]
Windows = Annotated[
    int | None, typer.Option("--windows", min=0, help="Steps tried, for a file of torch.save.")
]
Updates = Annotated[
    int | None, typer.Option("--updates", min=0, help="Steps not skipped, for such a file.")
]
Rows = Annotated[
    int | None, typer.Option("--rows", min=1, help="Rows of the data: tells epoch and row.")
]


@state_app.command("convert")
def convert_command(
    checkpoint: Checkpoint,
    of: Annotated[str, typer.Option("--from", metavar="T", help="Who wrote it: NAME[@VERSION].")],
    to: Annotated[str, typer.Option("--to", metavar="T", help="Who is to go on with it.")],
    output: Annotated[
        str,
        typer.Option("-o", "--output", metavar="OUT", help="A .safetensors file, or a folder."),
    ] = "",
    recipe: RecipeFile = "",
    layout: LayoutFile = "",
    like: LikeFile = "",
    windows: Windows = None,
    updates: Updates = None,
    rows: Rows = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a checkpoint.")] = False,
    json: JsonOption = False,
) -> int:
    """Carry a training state to another framework: weights, moments, loss scale, position."""
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
    of: Annotated[str, typer.Option("--from", metavar="T", help="Who wrote it.")] = "torch",
    recipe: RecipeFile = "",
    windows: Windows = None,
    updates: Updates = None,
    rows: Rows = None,
    json: JsonOption = False,
) -> int:
    """Print what a training state holds, after checking it."""
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
    rows = [(one.part, str(one.count), one.verdict, one.how) for one in outcome.rows]
    print_table(_COLUMNS, rows, long=("how",))
    if outcome.position:
        print(f"next window: {outcome.position}")
    print(f"recipe: {outcome.state.recipe}")
    print_diagnostics(outcome.notes)
