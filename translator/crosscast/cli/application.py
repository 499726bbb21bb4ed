"""The command line: a typer application.

Exit codes: 0 success, 1 findings or not equivalent, 2 usage error, 3 cannot run on this machine,
130 interrupted. Data goes to stdout, messages to stderr.
"""

from __future__ import annotations

import gc
import io
import os
import sys
from typing import Annotated

import typer

from crosscast import __version__
from crosscast.cli.commands import CommandGroup
from crosscast.cli.completion import rejoin_words

app = typer.Typer(
    name="crosscast",
    cls=CommandGroup,
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


def run() -> None:
    """Run the command line; ends the process."""
    # Trees of programs are many objects and hardly any cycles: with its usual thresholds the
    # collector would visit them again and again.
    gc.set_threshold(50_000, 20, 50)
    if isinstance(sys.stdout, io.TextIOWrapper):  # its encoding may not support all file names
        sys.stdout.reconfigure(errors="backslashreplace")
    rejoin_words(os.environ)
    app()
