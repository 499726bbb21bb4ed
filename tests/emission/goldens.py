"""Emitted files kept whole in the repository, so that a change to them is seen in review.

The modules of `runtime/` depend on the dialect alone, so each is kept once: in runtimes/shared if
all frameworks have it, or else in runtimes/<target>.

With CROSSCAST_WRITE_GOLDENS=1 in the environment the tests write the files instead.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from crosscast.emit.compiler import Compiled
from crosscast.emit.runtime import SHARED
from crosscast.messages.output import OutputFile

FOLDER = Path(__file__).parent / "goldens"
RUNTIMES = Path(__file__).parent / "runtimes"
SHARED_FILES = {f"runtime/{name}.py" for name in ("__init__", *SHARED)}


def check(compiled: Compiled, name: str) -> None:
    """Compare the files of a target with tests/emission/goldens/<name>/."""
    files = compiled.files.items()
    check_files({path: file for path, file in files if not path.startswith("runtime/")}, name)


def check_files(files: Mapping[str, OutputFile], name: str) -> None:
    """Compare some files with those that are kept."""
    # The fingerprint changes with every new field of the recipe.
    fingerprint = re.compile(r"\b[0-9a-f]{16}\b")
    texts = {path: fingerprint.sub("(fingerprint)", file.text) for path, file in files.items()}
    compare(texts, FOLDER / name)


def check_runtime(texts: Mapping[str, str], target: str) -> None:
    """Compare the modules of a target's `runtime/` with tests/emission/runtimes/."""
    assert texts.keys() >= SHARED_FILES
    for folder in ("shared", target):
        shared = folder == "shared"
        kept = {path for path in texts if (path in SHARED_FILES) == shared}
        compare({path.removeprefix("runtime/"): texts[path] for path in kept}, RUNTIMES / folder)


def compare(texts: Mapping[str, str], folder: Path) -> None:
    """Compare texts by path with the files of a folder, each with the ending .txt."""
    wanted = {f"{path}.txt": text for path, text in texts.items()}
    if os.environ.get("CROSSCAST_WRITE_GOLDENS"):
        folder.mkdir(parents=True, exist_ok=True)
        for stale in folder.iterdir():
            stale.unlink()
        for path, text in wanted.items():
            (folder / path).write_text(text, encoding="utf-8")
    kept = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*")}
    assert kept.keys() == wanted.keys()
    for path, text in wanted.items():
        accept = "CROSSCAST_WRITE_GOLDENS=1 accepts it"
        assert text == kept[path], f"{folder.name}/{path}: {accept}"
