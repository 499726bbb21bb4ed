"""Python files of settings that `ml_collections.config_flags` reads: the defaults of its flags."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath

from crosscast.messages.source import Source
from crosscast_reading.pysource.evaluation.settings_files import is_end
from crosscast_reading.readers.inheritance import plain_path
from crosscast_reading.sources.file_names import FileNames

_FLAG = re.compile(r"DEFINE_config_file\(([^()]{0,400})")
_PROGRAM = FileNames(r"\w./-", "py")
_MAKER = "def get_config"


def defines_settings(source: Source) -> bool:
    """Whether a file defines a flag for a file of settings."""
    return _FLAG.search(source.text) is not None


def default_files(source: Source) -> Iterator[str]:
    """Yield the files that are defaults of a file's flags for settings."""
    for match in _FLAG.finditer(source.text):
        yield from _PROGRAM.find(match.group(1))


def settings_named(
    names: Iterator[str], folder: PurePath, named: Mapping[str, Sequence[Source]]
) -> Iterator[Source]:
    """Yield the files of settings that stand where a name says, from a folder or one above it.

    Args:
        names: paths; of one that begins at a variable (`$(pwd)/a.py`) or the root, the end counts.
        folder: that of the file which names them.
        named: Python files by the last part of their path.
    """
    for name in names:
        path = PurePath(name.lstrip("/"))
        for source in named.get(path.name, ()):
            own = PurePath(source.name)
            places = (plain_path(above / path) for above in (folder, *folder.parents))
            has_folder = min(len(own.parts), len(path.parts)) > 1
            if _MAKER in source.text and (own in places or (has_folder and is_end(own, path))):
                yield source
