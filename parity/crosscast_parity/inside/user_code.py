"""The user's code in a framework's process: import what a recipe names, tell where it failed."""

from __future__ import annotations

import importlib
import sys
import traceback
from pathlib import Path
from typing import Any


def named(text: str) -> Any:
    """Return the object named by `package.module:name`."""
    module, _, name = text.partition(":")
    return getattr(importlib.import_module(module), name)


def search_in(folder: str, last: str = "") -> None:
    """Let modules be found in a folder first, as scripts that lie there find them.

    Args:
        folder: That of the recipe.
        last: One that is searched last of all (see `search_last`).
    """
    sys.path[:] = [folder, *(place for place in sys.path if place != folder)]
    search_last(last)


def search_last(folder: str) -> None:
    """Let modules be found in a folder that nothing else has, if there is one.

    A migration writes the model beside the script of each target. There is a `runtime`, too, and
    whatever else the script needs: none of it may hide a module of another place.
    """
    if folder and folder not in sys.path and Path(folder).is_dir():
        sys.path.append(folder)


def failure_of(error: BaseException, folder: Path) -> dict[str, Any]:
    """Return the message of an exception, and its innermost place in the user's folder."""
    place: dict[str, Any] = {}
    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        frames.append(traceback.FrameSummary(error.filename, error.lineno, "", lookup_line=False))
    inside = []
    for frame in frames:
        file = Path(frame.filename)
        if file.is_relative_to(folder) and "site-packages" not in file.parts:
            name = str(file.relative_to(folder))
            place = {"file": name, "line": frame.lineno, "text": frame.line or ""}
            inside.append(f"{name}:{frame.lineno} in {frame.name}")
    name = getattr(error, "name", "") if isinstance(error, ModuleNotFoundError) else ""
    return {
        "type": type(error).__name__,
        "words": " ".join(str(error).split())[:300],
        "module": name or "",
        "place": place,
        "frames": inside,
    }
