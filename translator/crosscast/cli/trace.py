"""The command `crosscast trace`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from crosscast.cli.compile import JsonOption
from crosscast.cli.screens import show
from crosscast.messages.console import print_json

trace_app = typer.Typer(no_args_is_help=True, help="Export the traces that runs leave.")


@trace_app.command("export")
def export_command(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN...",
            help="Folders of runs, of comparisons or of sweeps, or trace.jsonl files.",
        ),
    ],
    to: Annotated[
        Literal["tensorboard", "mlflow", "wandb", "trackio", "csv"],
        typer.Option("--to", help="The tool that shows the runs, or csv."),
    ],
    output: Annotated[
        Path,
        typer.Option("-o", "--output", metavar="OUT", help="File to write for csv, else a folder."),
    ],
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier export.")] = False,
    json: JsonOption = False,
) -> int:
    """Write runs in the format of TensorBoard, MLflow, W&B or Trackio, or as CSV."""
    from crosscast.api.tracing import trace_export

    found = trace_export(runs, to, out=output, force=force)
    if json:
        print_json(found.to_json())
    else:
        show(found)
    return found.exit_code
