"""Programs without their data (`built_programs.md`): what their frameworks refuse."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from program_files import entries_of

_PROGRAMS = entries_of(Path(__file__).with_suffix(".md"))


def programs_of(framework: str) -> dict[str, str]:
    """Return the programs of a framework by the names of their modules."""
    own = [entry for entry in _PROGRAMS if entry.of == framework]
    return {entry.title.removeprefix(f"{framework} "): entry.text for entry in own}


def write(folder: Path, programs: Mapping[str, str]) -> None:
    """Write the programs, and a script that imports them all."""
    for name, text in programs.items():
        (folder / f"{name}.py").write_text(text)
    (folder / "train.py").write_text("".join(f"import {name}\n" for name in programs))


def marked(programs: Mapping[str, str]) -> dict[tuple[str, int], str]:
    """Return the places that are refused: file and line, and a word of the message."""
    return {
        (f"{name}.py", number): refused[1]
        for name, text in programs.items()
        for number, line in enumerate(text.splitlines(), 1)
        if (refused := re.search(r"# raises (.+)", line))
    }
