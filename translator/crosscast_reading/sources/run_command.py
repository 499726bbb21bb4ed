"""The command of `--run`: which script is executed, in which folder, with which arguments."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A script to execute. `folder` is copied for every run; `script` is a path below it."""

    folder: Path
    script: str
    arguments: tuple[str, ...]


def parse_command(text: str, code: str, option: str = "--run") -> Command:
    """Return the parts of a command.

    Args:
        text: the script and its arguments, without the interpreter.
        code: of the errors of this command's options.
        option: the option that has it.

    Raises:
        DiagnosticError: `code` for another form, CC001 for a missing script.
    """

    def refuse(message: str, hint: str = "") -> DiagnosticError:
        return DiagnosticError(Diagnostic(code=code, message=message, hint=hint))

    try:
        words = shlex.split(text)
    except ValueError as error:
        raise refuse(f"{option} {text!r}: {error}") from None
    if not words or Path(words[0]).suffix not in (".py", ".pyw"):
        raise refuse(
            f"{option} {text!r}: the command must begin with the Python script",
            f'{option} "train.py --steps 20", without the interpreter',
        )
    script = Path(words[0])
    if not script.is_file():
        raise DiagnosticError(Diagnostic(code="CC001", message=f"{script}: no such file"))
    current_folder, place = Path.cwd().resolve(), script.absolute()
    inside = place.parent.resolve() / place.name
    folder = current_folder if inside.is_relative_to(current_folder) else inside.parent
    return Command(
        folder=folder, script=inside.relative_to(folder).as_posix(), arguments=tuple(words[1:])
    )
