"""The command line: a typer application with one module per command.

Exit codes: 0 success, 1 findings or not equivalent, 2 usage error, 3 cannot run on this machine,
130 interrupted. Data goes to stdout, messages to stderr.
"""

from __future__ import annotations

import io
import sys
from typing import Annotated

import typer

from crosscast import __version__
from crosscast.cli.check_scaling import check_scaling
from crosscast.cli.compile import check, compile_command, explain, show
from crosscast.cli.data import data_app
from crosscast.cli.diff import diff
from crosscast.cli.environment import doctor, init, matrix, schema
from crosscast.cli.error_handling import guarded
from crosscast.cli.lift import lift
from crosscast.cli.lint import lint
from crosscast.cli.migrate import migrate
from crosscast.cli.parity import parity
from crosscast.cli.plan import plan
from crosscast.cli.state import state_app
from crosscast.cli.sweep import sweep

app = typer.Typer(
    name="crosscast",
    help="Compile one training recipe to PyTorch, TensorFlow/Keras and Paddle.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"crosscast {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Compile one training recipe to PyTorch, TensorFlow/Keras and Paddle."""


app.command("compile")(guarded(compile_command))
app.command()(guarded(check))
app.command()(guarded(show))
app.command()(guarded(explain))
app.command()(guarded(lift))
app.command()(guarded(lint))
app.command()(guarded(diff))
app.command()(guarded(migrate))
app.command()(guarded(plan))
app.command()(guarded(parity))
app.command("check-scaling")(guarded(check_scaling))
app.command()(guarded(sweep))
app.command()(guarded(init))
app.command()(guarded(schema))
app.command()(guarded(matrix))
app.command()(guarded(doctor))
for _group, _name in ((data_app, "data"), (state_app, "state")):
    for _command in _group.registered_commands:
        assert _command.callback is not None
        _command.callback = guarded(_command.callback)
    app.add_typer(_group, name=_name)


def run() -> None:
    """Run the command line; ends the process."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # its encoding may not support all file names
        sys.stdout.reconfigure(errors="backslashreplace")
    app()
