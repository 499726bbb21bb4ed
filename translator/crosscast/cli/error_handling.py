"""Convert exceptions of a command to diagnostics and exit codes."""

from __future__ import annotations

import functools
import io
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn, TypeVar

import typer

from crosscast.api.parameters import LARGEST
from crosscast.messages.console import EXIT_INTERRUPTED, print_diagnostics
from crosscast.messages.diagnostics import DiagnosticError, os_failure, refuse_null
from crosscast.messages.terminal import escaping, plain_stream

Command = TypeVar("Command", bound=Callable[..., Any])


def guarded(command: Command) -> Command:
    """Wrap a command; a returned integer becomes its exit code."""

    @functools.wraps(command)
    def wrapper(*args: Any, **kwargs: Any) -> None:
        stream = plain_stream(sys.stdout)
        if isinstance(stream, io.TextIOWrapper):  # names of files may be in no encoding
            stream.reconfigure(errors="backslashreplace")
        with escaping():
            code = run(*args, **kwargs)
        raise typer.Exit(code)

    def run(*args: Any, **kwargs: Any) -> int:
        try:
            for value in kwargs.values():
                refuse_null(value if isinstance(value, list | tuple) else (value,))
            _refuse_numbers(kwargs)
            with _termination_as_interrupt():
                code: int = command(*args, **kwargs) or 0
            if not sys.stdout.closed:  # by the server, whose editor asked it to end
                sys.stdout.flush()
        except DiagnosticError as error:
            print_diagnostics(error.diagnostics, as_json=bool(kwargs.get("json")))
            code = error.exit_code
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
            code = EXIT_INTERRUPTED
        except BrokenPipeError:
            # The reader has closed the pipe; avoid a second error when Python flushes at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = 0
        except OSError as error:
            failed = os_failure(error)
            print_diagnostics(failed.diagnostics, as_json=bool(kwargs.get("json")))
            code = failed.exit_code
        return code

    return wrapper  # type: ignore[return-value]


def _refuse_numbers(arguments: Mapping[str, Any]) -> None:
    """Refuse numbers that no option takes: those that are none, infinite, or beyond int32.

    Raises:
        BadParameter: a usage error, which names the option.
    """
    for name, value in arguments.items():
        if type(value) in (int, float) and not abs(value) <= LARGEST:
            message = f"{str(value)[:40]} is not a number from -{LARGEST} to {LARGEST}"
            raise typer.BadParameter(message, param_hint=f"--{name.replace('_', '-')}")


def positive(value: float | None) -> float | None:
    """Refuse 0 and less, as the callback of an option whose values have no smallest one."""
    if value is not None and value <= 0:
        raise typer.BadParameter("must be more than 0")
    return value


@contextmanager
def _termination_as_interrupt() -> Iterator[None]:
    """Treat SIGTERM and SIGHUP like Ctrl-C, so that a command cleans up.

    Otherwise its child processes and temporary files would remain. Ignored signals (nohup) stay
    ignored.
    """

    def interrupt(number: int, frame: FrameType | None) -> NoReturn:
        raise KeyboardInterrupt

    before = {}
    if threading.current_thread() is threading.main_thread():
        names = (name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))  # Windows
        numbers = [getattr(signal, name) for name in names]
        before = {n: signal.getsignal(n) for n in numbers if signal.getsignal(n) == signal.SIG_DFL}
    for number in before:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
