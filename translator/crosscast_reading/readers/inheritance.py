"""Configurations that inherit from others: which ones, where they are, what both say together."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePath

from crosscast.messages.source import Source
from crosscast_reading.readers.tree import Tree

MAX_DEPTH = 8
_BASES = ("_base_", "_BASE_")
_PYTHON = re.compile(r"^_base_[ \t]*=[ \t]*(\[[^\]]*\]|\([^)]*\)|[^\n]+)", re.MULTILINE)
_YAML = re.compile(
    r"^(?:_base_|_BASE_)[ \t]*:[ \t]*(\[[^\]]*\]|[^\n]*(?:\n[ \t]*-[^\n]*)*)", re.MULTILINE
)
_BESIDE = re.compile(r"""^base_config[ \t]*:[ \t]*["']?([\w./-]+\.ya?ml)\b""", re.MULTILINE)
"""A base whose folder is that of all configurations, above that of this one."""
_ABOVE = 3
"""Folders in which such a base is searched for."""
_TEXT = re.compile(r"""["']([^"'\n]+)["']""")
_WORD = re.compile(r"(?<![\w./~-])[\w./~-]+\.ya?ml\b")
_READ_BASE = re.compile(r"^with read_base\(\):[^\n]*\n((?:[ \t]+[^\n]*\n|[ \t]*\n)+)", re.MULTILINE)
_IMPORT = re.compile(r"from[ \t]+(\.[\w.]*+)[ \t]+import")
_REPLACES = {"_delete_": True, "_inherited_": False}
"""Entries by which a section says that it inherits nothing."""

Files = Mapping[PurePath, Source]


def files_of(sources: Iterable[Source]) -> dict[PurePath, Source]:
    """Return sources by their paths without `..`."""
    return {plain_path(PurePath(source.name)): source for source in sources}


def plain_path(path: PurePath) -> PurePath:
    """Return a path without `..` where that is possible."""
    parts: list[str] = []
    for part in path.parts:
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        else:
            parts.append(part)
    return PurePath(*parts)


def bases_of(source: Source) -> tuple[PurePath, ...]:
    """Return where the files are that a configuration names as its bases.

    Bases in an installed package (`mmdet::_base_/runtime.py`) are not among them.
    """
    named = _located(source, (*_named(source), *_imported(source)))
    return (*named, *_in_folders_above(source))


def _in_folders_above(source: Source) -> tuple[PurePath, ...]:
    """Return where a base of which only the name is said can be, the nearest folder first."""
    match = _BESIDE.search(source.text) if "base_config" in source.text else None
    if match is None or source.name.endswith(".py"):
        return ()
    folders = PurePath(source.name).parents
    return tuple(plain_path(folder / match[1]) for folder in folders[:_ABOVE])


def is_based(source: Source) -> bool:
    """Whether a file says that it inherits from others, wherever those are."""
    return bool(_named(source) or _imported(source) or _in_folders_above(source))


def _located(source: Source, names: Iterable[str]) -> tuple[PurePath, ...]:
    folder = PurePath(source.name).parent
    return tuple(plain_path(folder / name) for name in names if "::" not in name)


def _imported(source: Source) -> tuple[str, ...]:
    """Return the files that a configuration of MMEngine imports within `read_base()`."""
    if not source.name.endswith(".py") or "read_base" not in source.text:
        return ()
    blocks = _READ_BASE.finditer(source.text)
    return tuple(_file_of(module) for block in blocks for module in _IMPORT.findall(block[1]))


def _named(source: Source) -> tuple[str, ...]:
    """Return the files whose sections a configuration merges with its own, as it writes them."""
    text = source.text
    if source.name.endswith(".py"):
        assignments = _PYTHON.finditer(text) if "_base_" in text else ()
        return tuple(dict.fromkeys(n for match in assignments for n in _TEXT.findall(match[1])))
    if not any(word in text for word in _BASES):
        return ()
    return tuple(
        dict.fromkeys(name for match in _YAML.finditer(text) for name in _WORD.findall(match[1]))
    )


def _file_of(module: str) -> str:
    """Return the path of `..common.optim` relative to the folder of the importing file."""
    rest = module.lstrip(".")
    return "../" * (len(module) - len(rest) - 1) + rest.replace(".", "/") + ".py"


def lineage(source: Source, files: Files) -> tuple[Source, ...]:
    """Return the given files that a configuration inherits from, nearest first, without itself."""
    ancestors: dict[str, Source] = {}
    level = [source]
    for _ in range(MAX_DEPTH):
        named = (files[path] for member in level for path in bases_of(member) if path in files)
        level = list(
            {s.name: s for s in named if s.name not in ancestors and s is not source}.values()
        )
        ancestors.update((member.name, member) for member in level)
    return tuple(ancestors.values())


@dataclass(slots=True)
class Inheritance:
    """Puts trees of configurations over those of their bases."""

    files: Files
    load: Callable[[Source], Tree | None]
    seen: list[str] = field(default_factory=list)

    def over_bases(self, source: Source, own: Tree) -> Tree:
        """Return a tree over those of its bases; of the bases it keeps those not found."""
        if own.keys is None or len(self.seen) > MAX_DEPTH or source.name in self.seen:
            return own
        self.seen.append(source.name)
        base, missing = Tree(own.span, keys={}), False
        named = _named(source)
        located = _located(source, named)
        for path in located:
            ancestor = self.files.get(path)
            tree = self.load(ancestor) if ancestor is not None else None
            if ancestor is None or tree is None:
                missing = True
            else:
                base = merged(base, self.over_bases(ancestor, tree))
        missing = missing or len(located) < len(named)
        above = (self.files[path] for path in _in_folders_above(source) if path in self.files)
        ancestor = next((each for each in above if each.name != source.name), None)
        if ancestor is not None and (tree := self.load(ancestor)) is not None:
            base = merged(base, self.over_bases(ancestor, tree))
        self.seen.pop()
        rest = {name: tree for name, tree in own.keys.items() if name not in _BASES or missing}
        return merged(base, replace(own, keys=rest))


def merged(base: Tree, own: Tree) -> Tree:
    """Return a tree put over another: sections are merged, everything else is replaced."""
    if base.keys is None or own.keys is None:
        return _without_marks(own)
    if any(own.keys[name].value is value for name, value in _REPLACES.items() if name in own.keys):
        return _without_marks(own)
    keys = dict(base.keys)
    for name, tree in own.keys.items():
        if name not in _REPLACES:
            keys[name] = merged(keys[name], tree) if name in keys else _without_marks(tree)
    return replace(own, keys=keys, tag=own.tag or base.tag)


def _without_marks(tree: Tree) -> Tree:
    if tree.keys is None:
        return tree
    keys = {n: _without_marks(t) for n, t in tree.keys.items() if n not in _REPLACES}
    return replace(tree, keys=keys)
