"""Trees of Hydra: the `defaults` of a configuration name the files that it is composed of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import TYPE_CHECKING

from crosscast.messages.source import Source
from crosscast_reading.readers.inheritance import MAX_DEPTH, Files, merged
from crosscast_reading.readers.tree import Tree

if TYPE_CHECKING:
    from crosscast_reading.readers.config.foreign_yaml import Loader

_UP = 3
"""Folders above a configuration in which the groups that it names are looked for."""
_PACKAGE = re.compile(r"^#[ \t]*@package[ \t]+(\S+)", re.MULTILINE)
_ENTRY = re.compile(
    r"^[ \t]*-[ \t]*(?:(?P<words>(?:override[ \t]+|optional[ \t]+)*)(?P<group>/?[\w/@.]+)[ \t]*:"
    r"[ \t]*)?(?P<name>\[[^\]]*\]|[^\s#\[]+)",
    re.MULTILINE,
)
_BLOCK = re.compile(r"^defaults[ \t]*:[^\n]*\n((?:[ \t]*(?:-|#)[^\n]*\n|[ \t]*\n)*)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Choice:
    """One entry of `defaults`."""

    group: str
    """Empty for a file beside the configuration."""
    name: str
    package: str
    """Where the file is put; empty if the group decides."""
    overrides: bool


def choices_of(source: Source) -> tuple[Choice, ...]:
    """Return the entries of `defaults`, `_self_` among them; empty if a file has none."""
    block = _BLOCK.search(source.text + "\n")
    choices: list[Choice] = []
    for entry in _ENTRY.finditer(block[1] if block else ""):
        group, _, package = (entry["group"] or "").partition("@")
        for name in re.findall(r"[\w./~-]+", entry["name"].strip("\"'")):
            if name not in ("null", "~"):
                overrides = "override" in (entry["words"] or "")
                choices.append(Choice(group.rstrip("/"), name, package, overrides))
    return tuple(choices)


def parts_of_tree(source: Source, files: Files) -> tuple[Source, ...]:
    """Return the given files that a configuration of Hydra is composed of, without itself."""
    parts: dict[str, Source] = {}
    level = [source]
    for _ in range(MAX_DEPTH):
        named = [_file(member, choice, files) for member in level for choice in choices_of(member)]
        new = {s.name: s for s in named if s is not None and s is not source}
        level = [*new.values()]
        parts |= new
    return tuple(parts.values())


def paths_of_choices(source: Source) -> Iterator[PurePath]:
    """Yield where the files that `defaults` names may be."""
    for choice in choices_of(source):
        yield from _paths(source, choice)


def over_defaults(source: Source, tree: Tree, files: Files, loader: Loader) -> Tree:
    """Return a tree over those of the files that its `defaults` name, in their order."""
    return _Composition(files, loader).compose(source, tree) if choices_of(source) else tree


def _paths(source: Source, choice: Choice) -> Iterator[PurePath]:
    folder = PurePath(source.name).parent
    above = list(folder.parents)[:_UP]
    name = choice.name.removesuffix(".yaml")
    for root in [*above, folder] if choice.group.startswith("/") else [folder, *above]:
        for suffix in (".yaml", ".yml"):
            yield root / choice.group.strip("/") / f"{name.lstrip('/')}{suffix}"
        if not choice.group:
            return


def _file(source: Source, choice: Choice, files: Files) -> Source | None:
    return next((files[path] for path in _paths(source, choice) if path in files), None)


@dataclass(slots=True)
class _Composition:
    files: Files
    loader: Loader
    overridden: dict[str, Choice] = field(default_factory=dict)
    """Group to the choice that an outer file makes instead of an inner one."""
    depth: int = 0

    def compose(self, source: Source, own: Tree) -> Tree:
        """Return a tree put between the files before and after its `_self_`, by default last."""
        choices = choices_of(source)
        own_choices = {choice.group.strip("/"): choice for choice in choices if choice.overrides}
        self.overridden = own_choices | self.overridden
        self.depth += 1
        whole = Tree(own.span, keys={})
        keys = {name: tree for name, tree in (own.keys or {}).items() if name != "defaults"}
        rest = replace(own, keys=keys)
        placed = False
        missing = False
        for choice in choices:
            if choice.name == "_self_":
                whole, placed = merged(whole, rest), True
            elif not choice.overrides or self.depth == 1:
                part = self._part(source, choice)
                missing |= part is None and not choice.group.startswith("hydra")
                whole = whole if part is None else merged(whole, part)
        self.depth -= 1
        whole = whole if placed else merged(whole, rest)
        if missing:  # what is not given may say more
            keys = {**(whole.keys or {}), "defaults": own.section("defaults")}
            return replace(whole, keys=keys)
        return whole

    def _part(self, source: Source, choice: Choice) -> Tree | None:
        group = choice.group.strip("/")
        chosen = self.overridden.get(group, choice) if group else choice
        file = _file(source, chosen, self.files)
        # Looking for the files of a configuration must not load YAML.
        from crosscast_reading.readers.config.foreign_yaml import read_yaml

        if file is None or self.depth > MAX_DEPTH:
            return None
        tree = read_yaml(file, self.loader).tree
        if tree is None or tree.keys is None:
            return None
        inner = self.compose(file, tree) if choices_of(file) else tree
        return _under(inner, choice.package or _package(file, group))


def _package(source: Source, group: str) -> str:
    """Return where a file is put: under its group, unless its first comment says otherwise."""
    said = _PACKAGE.search(source.text)
    named = said[1] if said else "_group_"
    return group.replace("/", ".") if named == "_group_" else named


def _under(tree: Tree, package: str) -> Tree:
    for part in reversed([p for p in package.split(".") if p and p not in ("_global_", "_here_")]):
        tree = Tree(tree.span, keys={part: tree})
    return tree
