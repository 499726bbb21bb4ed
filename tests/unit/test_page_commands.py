"""Commands on the pages are commands of the program, with options that it has."""

from __future__ import annotations

import re
import shlex
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from crosscast.cli import app
from translations import promised, translation

ROOT = Path(__file__).parents[2]
PAGES = [*(ROOT / "docs" / "tutorial").glob("*.md"), *(ROOT / "docs" / "how-to").glob("*.md")]
PAGES += [ROOT / "README.md", ROOT / "docs" / "index.md"]
PAGES += [ROOT / translation(page) for page in promised()]
FENCED = re.compile(r"^```(?:bash|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^(?:\$ )?(crosscast .*)$", re.MULTILINE)
INLINE = re.compile(r"`(crosscast [^`]*)`", re.DOTALL)


@cache
def commands() -> Any:
    return get_command(app)


def wrong(line: str) -> str:
    """Return what is wrong with a command line, or nothing."""
    command = commands()
    words = shlex.split(line.replace("\\\n", " "), comments=True)[1:]
    while words and hasattr(command, "commands"):
        if words[0] not in command.commands:
            return f"no command {words[0]}" if not words[0].startswith(("-", "COMMAND")) else ""
        command = command.commands[words.pop(0)]
    known = {name for each in command.params for name in (*each.opts, *each.secondary_opts)}
    options = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}
    return " ".join(sorted(options - known - {"--help", "-h"}))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_have_their_options(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    lines = [line for block in FENCED.findall(text) for line in COMMAND.findall(block)]
    lines += [part for line in INLINE.findall(FENCED.sub("", text)) for part in line.split("&& ")]
    assert {line: found for line in lines if (found := wrong(line))} == {}


def test_what_is_wrong_is_found() -> None:
    assert wrong("crosscast compile recipe.yaml --to torch -o out") == ""
    assert wrong("crosscast data xnli a.tsv --frobnicate") == "--frobnicate"
    assert wrong("crosscast fly recipe.yaml") == "no command fly"
