"""Tell programs and their configurations from recipes."""

from __future__ import annotations

import re
from pathlib import Path, PurePath

from crosscast_reading.sources.files import CONFIG, Text, read_text

_VERSION = re.compile(r"""^[ \t{]*["']?version["']?\s*:""", re.MULTILINE)
"""The first field of every recipe."""
_PROGRAMS = (".py", ".pyw", ".ipynb", ".sh", ".bash", ".sbatch", ".slurm")


def is_program(path: str) -> bool:
    """Whether a path names a program or its configuration rather than a recipe."""
    suffix = PurePath(path).suffix.lower()
    return suffix in _PROGRAMS or (suffix in CONFIG and _is_foreign(path))


def _is_foreign(path: str) -> bool:
    """Whether a JSON or YAML file is that of another tool."""
    from crosscast_reading.readers.recipe_yaml import READER
    from crosscast_reading.readers.registry import text_readers

    text = read_text(Path(path))
    if not isinstance(text, Text) or _VERSION.search(text.source.text):
        return False
    return any(reader.sniff(text.source) for reader in text_readers() if reader.name != READER.name)
