"""Files that a configuration inherits from or is composed of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePath

from crosscast.messages.source import Source
from crosscast_reading.readers.config.hydra_defaults import (
    choices_of,
    parts_of_tree,
    paths_of_choices,
)
from crosscast_reading.readers.inheritance import Files, bases_of, is_based, lineage, plain_path

_NAME = re.compile(r"config_name[ \t]*=[ \t]*[\"']([\w./-]+)[\"']")
_FOLDER = re.compile(r"config_path[ \t]*=[ \t]*[\"']([\w./-]+)[\"']")


def ancestors(source: Source, files: Files) -> tuple[Source, ...]:
    """Return the given files that a configuration inherits from, nearest first."""
    return lineage(source, files) or parts_of_tree(source, files)


def paths_of_ancestors(source: Source) -> Iterator[Path]:
    """Yield where the files may be that a configuration names as its bases or parts."""
    yield from (Path(path) for path in bases_of(source))
    yield from (Path(path) for path in paths_of_choices(source))


def hydra_names(source: Source) -> tuple[str, ...]:
    """Return the names of the files that `hydra.main` of a program starts from."""
    if "hydra.main" not in source.text:
        return ()
    return tuple(f"{name.removesuffix('.yaml')}.yaml" for name in _NAME.findall(source.text))


def hydra_paths(source: Source) -> Iterator[Path]:
    """Yield where the files may be that `hydra.main` of a program starts from."""
    folder = Path(source.name).parent
    for name in hydra_names(source):
        for inner in _FOLDER.findall(source.text):
            yield Path(plain_path(PurePath(folder / inner / name)))


def is_run(source: Source) -> bool:
    """Whether a configuration that others inherit from is a run by itself, too."""
    return is_based(source) or bool(choices_of(source))
