"""Turn whatever a command raises into diagnostics and a stable exit code, never a traceback."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import typer

from crosscast.console import EXIT_INTERRUPTED, exit_code, print_diagnostics
from crosscast.diagnostics import DiagnosticError

Command = TypeVar("Command", bound=Callable[..., Any])


def guarded(command: Command) -> Command:
    """Wrap a command; a returned integer becomes its exit code."""

    @functools.wraps(command)
    def wrapper(*args: Any, **kwargs: Any) -> None:
        try:
            code = command(*args, **kwargs) or 0
            sys.stdout.flush()
        except DiagnosticError as error:
            print_diagnostics(error.diagnostics, as_json=bool(kwargs.get("json")))
            code = exit_code(error.diagnostics)
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
            code = EXIT_INTERRUPTED
        except BrokenPipeError:
            # The reader is gone; Python would complain once more when it flushes at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = 0
        raise typer.Exit(code)

    return wrapper  # type: ignore[return-value]
