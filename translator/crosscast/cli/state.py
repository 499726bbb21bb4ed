"""The command `crosscast state`. NumPy is imported only when a command runs."""

from __future__ import annotations

from typing import Annotated

import typer

from crosscast.cli.compile import JsonOption
from crosscast.cli.completion import complete_targets
from crosscast.cli.screens import show
from crosscast.messages.console import print_json

state_app = typer.Typer(
    no_args_is_help=True, help="Inspect training states and convert them to another framework."
)

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
        typer.Option(
            "--from",
            autocompletion=complete_targets,
            metavar="TARGET",
            help="Target that wrote the state: NAME[@VERSION].",
        ),
    ],
    to: Annotated[
        str,
        typer.Option(
            "--to",
            autocompletion=complete_targets,
            metavar="TARGET",
            help="Target that continues the run.",
        ),
    ],
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
    from crosscast.api.states import state_convert

    found = state_convert(
        checkpoint,
        of,
        to,
        out=output,
        recipe=recipe,
        layout=layout,
        like=like,
        windows=windows,
        updates=updates,
        rows=rows,
        force=force,
    )
    if json:
        print_json(found.to_json())
        return 0
    show(found)
    return 0


@state_app.command("show")
def show_command(
    checkpoint: Checkpoint,
    of: Annotated[
        str,
        typer.Option(
            "--from",
            autocompletion=complete_targets,
            metavar="TARGET",
            help="Target that wrote the state.",
        ),
    ] = "torch",
    recipe: RecipeFile = "",
    windows: Windows = None,
    updates: Updates = None,
    rows: Rows = None,
    json: JsonOption = False,
) -> int:
    """Validate a training state and print its contents."""
    from crosscast.api.states import state_show

    found = state_show(checkpoint, of, recipe=recipe, windows=windows, updates=updates, rows=rows)
    if json:
        print_json(found.to_json())
    else:
        show(found)
    return 0
