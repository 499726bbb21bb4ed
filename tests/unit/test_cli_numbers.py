"""Numbers on the command line: what no option takes is a usage error that names the option."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from crosscast.api.parameters import LARGEST
from crosscast.cli import app
from crosscast.cli.error_handling import positive
from recipe_texts import FLOAT16, text_of

MANY = "9" * 300
WORDS = "nan NaN inf -inf infinity -1 0 -0.5 0.5 1e300 1e400 -1e400 2147483648 0x10 1,5 text --"
HOSTILE = (*WORDS.split(), "", MANY, f"-{MANY}", "9" * 5000)
TEXTS = {
    ("plan", "--memory"): ("nanGiB", "infGiB", "-1GiB", "0GiB", "1e400GiB", f"{MANY}GiB", "x", ""),
    ("sweep", "--seeds"): ("nan", "-1", "1e400", MANY, "1-", "3-1", "0-2147483648", "x", ""),
    ("parity", "--fault"): ("-1:0=inf", f"{MANY}:0=inf", "nan:0=inf", "1:-1=inf", "1:0=1", ""),
}
"""Options that are texts with a number in them, and what they must refuse."""


@dataclass(frozen=True)
class Number:
    """A numeric option of a command, and a command line that lacks only it."""

    command: str
    option: str
    kind: type
    least: float
    open: bool
    others: tuple[str, ...]

    def takes(self, text: str) -> bool:
        try:
            value = self.kind(text)
        except (ValueError, OverflowError):
            return False
        within = value > self.least if self.open else value >= self.least
        return math.isfinite(value) and within and value <= LARGEST


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, child in getattr(command, "commands", {}).items():
        yield from commands(child, (*path, name))
    if not hasattr(command, "commands"):
        yield path, command


def needed(command: Any, folder: str) -> Iterator[str]:
    """Yield what a command cannot be called without."""
    for parameter in command.params:
        if parameter.required:
            name = parameter.opts[0]
            value = "torch" if name in ("--to", "--from") else folder
            yield from (name, value) if name.startswith("-") else (value,)


def numbers(folder: str = "nothing") -> Iterator[Number]:
    for path, command in commands(typer.main.get_command(app)):
        for parameter in command.params:
            kind = parameter.type_descriptor.annotation
            if kind in (int, float):
                is_open = parameter.callback is not None
                least = 0.0 if is_open else parameter.min
                option = max(parameter.opts, key=len)
                yield Number(
                    " ".join(path), option, kind, least, is_open, tuple(needed(command, folder))
                )


ALL = list(numbers())


def refused(arguments: list[str], name: str) -> None:
    result = CliRunner().invoke(app, arguments, prog_name="crosscast", env={"COLUMNS": "200"})
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise AssertionError(arguments) from result.exception
    assert result.exit_code == 2, (arguments, result.output)
    assert "Traceback" not in result.output
    assert name in result.output, (arguments, result.output)


def test_every_numeric_option_says_what_it_takes() -> None:
    assert len(ALL) > 30
    assert [n for n in ALL if n.least is None] == []


@pytest.mark.parametrize("number", ALL, ids=lambda n: f"{n.command} {n.option}")
def test_other_numbers_are_refused(number: Number) -> None:
    below = number.least if number.open else number.least - 1
    texts = [text for text in (*HOSTILE, f"{below:g}") if not number.takes(text)]
    assert len(texts) > 12
    for text in texts:
        refused([*number.command.split(), *number.others, f"{number.option}={text}"], number.option)


def test_what_an_option_takes_gets_through(tmp_path: Path) -> None:
    least = {(n.command, n.option): n for n in ALL}
    assert least["parity", "--memory"].takes("0")
    assert least["parity", "--timeout"].takes("0.5")
    assert not least["parity", "--timeout"].takes("0")
    assert positive(1e-300) == 1e-300
    assert positive(None) is None
    for number in numbers(str(tmp_path / "nothing")):
        text = str(max(1, int(number.least)))
        line = [*number.command.split(), *number.others, f"{number.option}={text}"]
        result = CliRunner().invoke(app, line, prog_name="crosscast", env={"COLUMNS": "200"})
        assert f"Invalid value for {number.option}" not in result.output, line


@pytest.mark.parametrize(("command", "option"), TEXTS)
def test_numbers_in_texts_are_refused(command: str, option: str, tmp_path: Path) -> None:
    recipe = tmp_path / "r.yaml"
    recipe.write_text(text_of(precision=FLOAT16))
    line = [command, str(recipe), "--to", "torch"]
    if command != "plan":
        line += ["-o", str(tmp_path / "out")]
    for text in TEXTS[command, option]:
        refused([*line, f"{option}={text}"], "")
    assert not (tmp_path / "out").exists()
