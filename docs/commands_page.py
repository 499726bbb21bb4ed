"""The docs page about the commands and their options, generated from the application."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

from typer.main import get_command

from crosscast.cli import app
from crosscast.cli.parameters import value_word

_HEAD = """\
# Commands

Generated from the application; do not edit.

`crosscast COMMAND --help` prints the same in the terminal. `crosscast --install-completion` lets
your shell complete commands, options and values: targets with versions, fields, rules. `-` reads a
recipe from stdin and writes scripts to stdout. Exit codes: 0 success, 1 findings or not equivalent,
2 usage error or unreadable file, 3 cannot run on this machine, 130 interrupted. Data goes to
stdout, messages and progress to stderr.
"""


def commands_page() -> str:
    """Return the docs page docs/reference/commands.md."""
    lines = [_HEAD, "| command | what it does |", "|---|---|"]
    found = list(_commands(get_command(app), "crosscast"))
    for name, command in found:
        anchor = name.replace(" ", "-")
        lines.append(f"| [`{name}`](#{anchor}) | {_cell(_first(command.help))} |")
    for name, command in found:
        lines += ["", f"## `{name}`", "", *_section(name, command)]
    return "\n".join(lines) + "\n"


def _commands(group: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Return the commands below a group, each with its full name."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, f"{path} {name}")
        elif not command.hidden:
            yield f"{path} {name}", command


def _section(name: str, command: Any) -> list[str]:
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    options = [each for each in command.params if each.param_type_name == "option"]
    words = [name, *map(_usage, arguments), *(["[OPTIONS]"] if options else [])]
    lines = [*_paragraphs(command.help), "", "```text", " ".join(words), "```"]
    if arguments:
        lines += ["", "| argument | what |", "|---|---|"]
        lines += [f"| `{_name(each)}` | {_explained(each)} |" for each in arguments]
    if options:
        lines += ["", "| option | what |", "|---|---|"]
        lines += [f"| {_spelling(each)} | {_explained(each)} |" for each in options]
    return lines


def _usage(argument: Any) -> str:
    name = f"{_name(argument).removesuffix('...')}{'...' if argument.nargs == -1 else ''}"
    return name if argument.required else f"[{name}]"


def _name(parameter: Any) -> str:
    return str(parameter.metavar or parameter.name.upper())


def _spelling(option: Any) -> str:
    """Return how an option is written, with what follows it."""
    names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    if option.is_flag:
        return names
    return f"{names} {_value(option)}"


def _value(option: Any) -> str:
    """Return what follows an option: its choices, or a word for them."""
    annotation = option.type_descriptor.annotation
    if get_origin(annotation) is Literal:
        return " \\| ".join(f"`{choice}`" for choice in get_args(annotation))
    return f"`{_cell(value_word(option))}`"


def _explained(parameter: Any) -> str:
    """Return the help of a parameter, with its default or that it is required."""
    text = _cell(" ".join((parameter.help or "").split()))
    default = parameter.default
    if parameter.required:
        return text if parameter.param_type_name == "argument" else f"{text} **Required.**"
    if default in (None, False, (), [], "") or callable(default):
        return text
    return f"{text} Default: `{_cell(str(default))}`."


def _paragraphs(text: str | None) -> list[str]:
    return (text or "").strip().splitlines()


def _first(text: str | None) -> str:
    return " ".join((text or "").split("\n\n")[0].split())


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
