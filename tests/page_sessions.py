"""Pages whose commands are run: files that a page shows are written, commands print what it says.

CROSSCAST_WRITE_GOLDENS=1 rewrites the page.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from crosscast.cli import app
from crosscast.targets.source_support import migration_apis
from crosscast_migrate import verifying

NAMED = re.compile(r"`([\w.]+)`[:,]")


def printed(command: str) -> str:
    """Return what a command prints, both streams as a terminal shows them."""
    program, *words = shlex.split(command)
    if program == "grep":
        pattern, path = words
        text = Path(path).read_text(encoding="utf-8")
        return "".join(f"{line}\n" for line in text.splitlines() if pattern in line)
    assert program == "crosscast"
    found = CliRunner().invoke(app, words)
    assert found.exception is None or isinstance(found.exception, SystemExit), found.exception
    return found.output


def session(lines: list[str]) -> list[str]:
    """Return a block of commands with what they print now."""
    commands = [line for line in lines if line.startswith("$ ")]
    return [text for line in commands for text in (line, *printed(line[2:]).splitlines())]


def blocks(lines: list[str]) -> list[tuple[int, int, str, str]]:
    """Return first line, end, kind and the paragraph before of every fenced block."""
    found, start, before = [], -1, ""
    for number, line in enumerate(lines):
        if line.startswith("```") and start < 0:
            start = number
        elif line == "```":
            found.append((start + 1, number, lines[start].removeprefix("```"), before))
            start, before = -1, ""
        elif start < 0 and line:
            before = line
    return found


def check_page(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Run the commands of a page in folders of their own; return the number of folders.

    A block after a paragraph that begins with a file's name and a colon or a comma is that file.
    """
    monkeypatch.setattr(verifying, "is_installed", lambda package: True)  # as on every machine
    for api in migration_apis().values():
        monkeypatch.delenv(api.old_python or "-", raising=False)
    lines = page.read_text(encoding="utf-8").splitlines()
    wanted, end, number, run = [], 0, 0, True
    for first, last, kind, before in blocks(lines):
        now = lines[first:last]
        if name := NAMED.match(before):
            if run:  # files that follow each other belong together
                number, run = number + 1, False
                folder = tmp_path / str(number)
                folder.mkdir()
                monkeypatch.chdir(folder)
            Path(name[1]).write_text("\n".join([*now, ""]), encoding="utf-8")
        elif kind == "console":
            now, run = session(now), True
        wanted += [*lines[end:first], *now]
        end = last
    wanted += lines[end:]
    if "CROSSCAST_WRITE_GOLDENS" in os.environ:
        page.write_text("\n".join([*wanted, ""]), encoding="utf-8")
    else:
        assert wanted == lines
    return number
