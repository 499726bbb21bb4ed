"""The command `crosscast trace`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crosscast.cli.options import JSON, options_of, output
from crosscast.cli.screens import show
from crosscast.messages.console import print_json

if TYPE_CHECKING:
    from crosscast.api.tracing import TraceExport

trace_app = typer.Typer(no_args_is_help=True, help="Export the traces that runs leave.")


@trace_app.command("export")
@options_of("tracing.trace_export")
def export_command(
    trace_export: Callable[..., TraceExport],
    *,
    output: Annotated[Path, output("File to write for csv, else a folder.", "OUT")],
    json: Annotated[bool, JSON] = False,
) -> int:
    """Write runs in the format of TensorBoard, MLflow, W&B or Trackio, or as CSV."""
    export = trace_export(out=output)
    if json:
        print_json(export.to_json())
    else:
        show(export)
    return export.exit_code
