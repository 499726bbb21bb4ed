"""The commands by name. A command is imported and built when it is called, or for its help."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import typer
from typer.main import get_group

from crosscast.cli.error_handling import guarded
from crosscast.cli.language import accept_language
from crosscast.cli.parameters import Command, Group, conventional
from crosscast.messages.terminal import escaping

NAMES = (
    "compile",
    "check",
    "show",
    "explain",
    "explore",
    "lift",
    "lint",
    "diff",
    "migrate",
    "plan",
    "parity",
    "check-scaling",
    "sweep",
    "init",
    "schema",
    "matrix",
    "drift",
    "doctor",
    "server",
    "data",
    "state",
    "weights",
    "trace",
)
"""In the order of the help."""


def load(name: str) -> Callable[..., Any] | typer.Typer:
    """Return the function of a command, or the application of a group of commands.

    Raises:
        KeyError: No command has that name.
    """
    match name:
        case "compile":
            from crosscast.cli.compile import compile_command

            return compile_command
        case "check":
            from crosscast.cli.check import check_command

            return check_command
        case "show":
            from crosscast.cli.check import show_command

            return show_command
        case "explain":
            from crosscast.cli.explain import explain_command

            return explain_command
        case "explore":
            from crosscast.cli.explore import explore

            return explore
        case "lift":
            from crosscast.cli.lift import lift_command

            return lift_command
        case "lint":
            from crosscast.cli.lint import lint_command

            return lint_command
        case "diff":
            from crosscast.cli.diff import diff_command

            return diff_command
        case "migrate":
            from crosscast.cli.migrate import migrate_command

            return migrate_command
        case "plan":
            from crosscast.cli.plan import plan_command

            return plan_command
        case "parity":
            from crosscast.cli.parity import parity_command

            return parity_command
        case "check-scaling":
            from crosscast.cli.check_scaling import check_scaling_command

            return check_scaling_command
        case "sweep":
            from crosscast.cli.sweep import sweep_command

            return sweep_command
        case "init":
            from crosscast.cli.environment import init_command

            return init_command
        case "schema":
            from crosscast.cli.environment import schema_command

            return schema_command
        case "matrix":
            from crosscast.cli.environment import matrix_command

            return matrix_command
        case "drift":
            from crosscast.cli.drift import drift

            return drift
        case "server":
            from crosscast.cli.server import server

            return server
        case "doctor":
            from crosscast.cli.environment import doctor_command

            return doctor_command
        case "data":
            from crosscast.cli.data import data_app

            return data_app
        case "state":
            from crosscast.cli.state import state_app

            return state_app
        case "weights":
            from crosscast.cli.weights import weights_app

            return weights_app
        case "trace":
            from crosscast.cli.trace import trace_app

            return trace_app
    raise KeyError(name)


@cache
def build(name: str) -> Any:
    """Return a command, or a group with its commands, as typer runs it; each is guarded."""
    definition = load(name)
    parent = typer.Typer()
    if isinstance(definition, typer.Typer):
        for command in definition.registered_commands:
            assert command.callback is not None
            command.callback = guarded(command.callback)
        conventional(definition)
        parent.add_typer(definition, name=name)
    else:
        parent.command(name, cls=Command)(guarded(definition))
    return get_group(parent).commands[name]


def summary(name: str) -> Command:
    """Return a command that can be listed and not called: building it would take longer."""
    definition = load(name)
    help = (
        definition.info.help if isinstance(definition, typer.Typer) else inspect.getdoc(definition)
    )
    return Command(name, help=help)


class _Commands(Mapping[str, Any]):
    """All commands by name; a command is built when it is looked up."""

    def __init__(self, shared: Sequence[Any]) -> None:
        self._shared = shared
        """Options of the application that may also stand after a command."""

    def __getitem__(self, name: str) -> Any:
        command = build(name)
        for option in self._shared:
            accept_language(command, option)
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(NAMES)

    def __len__(self) -> int:
        return len(NAMES)


class CommandGroup(Group):
    """The group of all commands."""

    def __init__(self, **settings: Any) -> None:
        shared = [option for option in settings["params"] if option.name == "lang"]
        super().__init__(**settings | {"commands": _Commands(shared)})

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands."""
        return list(self.commands)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the part of a command that a list shows: its help, without its parameters."""
        return summary(cmd_name) if cmd_name in NAMES else None

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[Any, Any, list[str]]:
        """Return a command that is called, with its name and its arguments."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, None if name is None else self.commands[name], rest

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run a command; what is printed is escaped, also what is said of wrong arguments.

        Those and the help are printed by typer, which styles them.
        """
        with escaping(styled=True):
            return super().main(*args, **kwargs)
