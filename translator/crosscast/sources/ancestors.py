"""Files that a configuration inherits from or is composed of."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from crosscast.messages.source import Source
from crosscast.readers.config.hydra_defaults import choices_of, parts_of_tree, paths_of_choices
from crosscast.readers.inheritance import Files, bases_of, is_based, lineage


def ancestors(source: Source, files: Files) -> tuple[Source, ...]:
    """Return the given files that a configuration inherits from, nearest first."""
    return lineage(source, files) or parts_of_tree(source, files)


def paths_of_ancestors(source: Source) -> Iterator[Path]:
    """Yield where the files may be that a configuration names as its bases or parts."""
    yield from (Path(path) for path in bases_of(source))
    yield from (Path(path) for path in paths_of_choices(source))


def is_run(source: Source) -> bool:
    """Whether a configuration that others inherit from is a run by itself, too."""
    return is_based(source) or bool(choices_of(source))
