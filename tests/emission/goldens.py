"""Emitted files kept whole in the repository, so that a change to them is seen in review.

With CROSSCAST_WRITE_GOLDENS=1 in the environment the tests write the files instead.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from crosscast.emit.compiler import Compiled
from crosscast.messages.output import OutputFile

FOLDER = Path(__file__).parent / "goldens"


def check(compiled: Compiled, name: str) -> None:
    """Compare the files of a target with tests/emission/goldens/<name>/."""
    check_files(compiled.files, name)


def check_files(files: Mapping[str, OutputFile], name: str) -> None:
    """Compare some files with those that are kept."""
    folder = FOLDER / name
    # The fingerprint changes with every new field of the recipe.
    texts = {
        f"{path}.txt": re.sub(r"\b[0-9a-f]{16}\b", "(fingerprint)", file.text)
        for path, file in files.items()
    }
    if os.environ.get("CROSSCAST_WRITE_GOLDENS"):
        folder.mkdir(parents=True, exist_ok=True)
        for stale in folder.iterdir():
            stale.unlink()
        for path, text in texts.items():
            (folder / path).write_text(text, encoding="utf-8")
    kept = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*")}
    assert kept.keys() == texts.keys()
    for path, text in texts.items():
        assert text == kept[path], f"{name}/{path}: CROSSCAST_WRITE_GOLDENS=1 accepts it"
