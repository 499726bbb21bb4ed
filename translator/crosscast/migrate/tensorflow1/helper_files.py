"""The helper modules that migrated programs of TensorFlow 1 import."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import PurePath

from crosscast.emit.render import render, template_root
from crosscast.messages.source import Source
from crosscast.migrate.tensorflow1.moved_names import HELPERS

_IMPORT = re.compile(rf"^[ \t]*(?:import|from)[ \t]+({'|'.join(HELPERS)})\b", re.MULTILINE)


@cache
def helper_text(name: str) -> str:
    """Return the text of a helper module."""
    return render(template_root() / "tensorflow1", f"{name}.py.j2", {})


def helper_files(sources: Sequence[Source]) -> Mapping[str, str]:
    """Return path to text of the helper modules that sources import, beside those that start.

    A module that is part of a package finds the helper of the script that imports it.
    """
    users = {
        source.name: set(_IMPORT.findall(source.text))
        for source in sources
        if source.name.endswith(".py")
    }
    folders = {PurePath(name).parent for name, helpers in users.items() if helpers}
    packages = {
        PurePath(source.name).parent for source in sources if source.name.endswith("__init__.py")
    }
    found: dict[str, str] = {}
    for name, helpers in users.items():
        folder = PurePath(name).parent
        while folder in packages and folder.parent != folder:
            folder = folder.parent
        # The nearest folder above with a user of the helper holds the scripts of the program.
        above = [other for other in folders if folder.is_relative_to(other)]
        top = min(above, key=lambda other: len(other.parts), default=folder)
        for helper in helpers:
            found[str(top / f"{helper}.py")] = helper_text(helper)
    known = {source.name for source in sources}
    return {path: text for path, text in sorted(found.items()) if path not in known}
