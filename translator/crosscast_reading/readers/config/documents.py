"""The content of configuration files, as programs that load them see it."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

from crosscast.messages.source import Source
from crosscast_reading.pysource.programs.program import Documents
from crosscast_reading.pysource.values.value import Known, Unknown
from crosscast_reading.readers.inheritance import files_of
from crosscast_reading.readers.tree import Tree

if TYPE_CHECKING:
    from crosscast_reading.readers.config.foreign_yaml import Loader

_SUFFIXES = (".yaml", ".yml", ".json")


def documents_of(sources: Sequence[Source]) -> Documents | None:
    """Return the function that gives the content of a file by the name that a program has for it.

    It takes the name, whether `1e-6` is a number to the loader, and whether Hydra composes the
    file from others. None if there are no such files.
    """
    files = files_of(source for source in sources if source.name.endswith(_SUFFIXES))
    if not files:
        return None

    @functools.cache
    def content(name: str, numbers: bool, composed: bool) -> Mapping[str, object] | None:
        path = PurePath(name if name.endswith(_SUFFIXES) else f"{name}.yaml")
        candidates = [s for own, s in files.items() if own.parts[-len(path.parts) :] == path.parts]
        if len(candidates) != 1:
            return None
        # Programs that load no configuration must not load YAML.
        from crosscast_reading.readers.config.foreign_yaml import read_yaml
        from crosscast_reading.readers.config.yaml_format import over_parents, resolve_references

        loader: Loader = "numbers" if numbers else "pyyaml"
        tree = read_yaml(candidates[0], loader).tree
        if tree is None or tree.keys is None:
            return None
        if composed:
            tree = over_parents(candidates[0], tree, files, "numbers")
        if numbers:
            resolve_references(tree)
        return _content(tree)

    return content


def _content(tree: Tree) -> dict[str, object]:
    values: dict[str, object] = {}
    for name, entry in (tree.keys or {}).items():
        if entry.reason:
            values[name] = Unknown(entry.text[:200], entry.reason, "config")
        elif entry.keys is not None:
            values[name] = _content(entry)
        else:
            shown = entry.shown
            values[name] = Known(list(shown) if isinstance(shown, tuple) else shown, "config")
    return values
