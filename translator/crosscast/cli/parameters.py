"""How the help shows arguments and options: as users of Click and Typer know it.

Typer 0.26 and newer shows types of Python, `<str>` and `<bool>`, also behind a flag. Here a value
is TEXT, INTEGER, FLOAT, PATH or the choices in brackets, a flag has none, and an argument has a
name in capitals and no type.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

_WORDS = {int: "INTEGER", float: "FLOAT", Path: "PATH"}


def value_word(option: Any) -> str:
    """Return the word that follows an option in the help: empty for a flag."""
    if option.is_flag:
        return ""
    if option.metavar:
        return str(option.metavar)
    annotation = option.type_descriptor.annotation
    if get_origin(annotation) is list:
        annotation = get_args(annotation)[0]
    if get_origin(annotation) is Literal:
        return f"[{'|'.join(map(str, get_args(annotation)))}]"
    return _WORDS.get(annotation, "TEXT")


class _Option(TyperOption):
    def display_type_rich(self, ctx: Any) -> str:
        return value_word(self)


class _Argument(TyperArgument):
    def display_type_rich(self, ctx: Any) -> None:
        """Return nothing: the name of an argument says what it is."""

    @property
    def display_name_raw(self) -> str:
        """The name in capitals, without what says that it may be missing or repeated."""
        return (self.metavar or str(self.name).upper()).strip("[]").removesuffix("...")

    def _usage_display_name(self) -> str:
        name = f"{self.display_name_raw}..." if self.nargs != 1 else self.display_name_raw
        return name if self.required else f"[{name}]"


_SHOWN: dict[type, type] = {TyperOption: _Option, TyperArgument: _Argument}


def _shown(parameters: list[Any]) -> list[Any]:
    """Let parameters that Typer has built show themselves as above."""
    for parameter in parameters:
        parameter.__class__ = _SHOWN.get(type(parameter), type(parameter))
    return parameters


class Command(TyperCommand):
    """A command with such parameters."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, with that for the help."""
        return _shown(super().get_params(ctx))


class Group(TyperGroup):
    """A group of commands with such parameters."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, with that for the help."""
        return _shown(super().get_params(ctx))


def conventional(application: typer.Typer) -> None:
    """Build the commands of an application with such parameters."""
    application.info.cls = Group
    for command in application.registered_commands:
        command.cls = Command
