"""The help of every command: values, flags and arguments as users of Click and Typer know them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from crosscast.cli import app
from crosscast.cli.parameters import value_word

_WORD = re.compile(r"(TEXT|INTEGER|FLOAT|[A-Z'][A-Za-z0-9=|:@.,\[\]' _-]*)")


def _commands(group: Any, *path: str) -> Iterator[tuple[str, ...]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, *path, name)
        else:
            yield (*path, name)


COMMANDS = [*_commands(get_command(app))]


def shown(*words: str) -> str:
    found = CliRunner().invoke(app, [*words, "--help"], prog_name="crosscast", terminal_width=120)
    assert found.exit_code == 0
    return found.stdout


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_has_no_types_of_python(command: tuple[str, ...]) -> None:
    text = shown(*command)
    (usage,) = re.findall(r"Usage: (.*)", text)
    assert usage.startswith(f"crosscast {' '.join(command)} [OPTIONS]")
    assert not re.search(r"[{}]|\[\[|\.\.\.\]\.\.\.", usage)
    assert not re.search(r"<(str|bool|int|float|list|path|\w+\|)", text)
    for name in re.findall(r"--json\s+(\S+)", text):
        assert name == "Print"


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_values_of_options(command: tuple[str, ...]) -> None:
    found: Any = get_command(app)
    for name in command:
        found = found.commands[name]
    for option in found.params:
        if option.param_type_name != "option":
            continue
        word = value_word(option)
        if option.is_flag:
            assert word == ""
        elif get_origin(option.type_descriptor.annotation) is Literal:
            choices = "|".join(get_args(option.type_descriptor.annotation))
            assert word in (f"[{choices}]", option.metavar)
        else:
            assert _WORD.fullmatch(word) or "|" in word


def test_arguments_are_named_once_and_in_capitals() -> None:
    assert "drift [OPTIONS] PACKAGE [SINCE] [UNTIL]" in shown("drift")
    assert "lint [OPTIONS] [PATH...]" in shown("lint")
    assert "check [OPTIONS] RECIPE..." in shown("check")
    assert "convert [OPTIONS] CKPT" in shown("state", "convert")
    assert re.search(
        r"--threads,?-*(cpus)?\s+INTEGER \[x>=1\]", shown("sweep").replace(",--cpus", "")
    )


def test_groups() -> None:
    text = shown()
    assert "crosscast [OPTIONS] COMMAND [ARGS]..." in text
    assert "<" not in text
    assert "<" not in shown("state")
