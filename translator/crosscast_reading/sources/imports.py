"""Find the given files that a file imports."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath

from crosscast.messages.source import Source
from crosscast_reading.pysource.libraries.public_names import INSTALLED
from crosscast_reading.readers.inheritance import lineage
from crosscast_reading.sources.config_flags import default_files, settings_named
from crosscast_reading.sources.files import kind_of
from crosscast_reading.sources.prefilter import FLAGS, has_word, may_train

MAX_NEAR = 50_000
"""Maximum size, in characters, of a module included for its constants."""
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(?P<module>[.\w]+)[ \t]+import[ \t]+(?P<names>\([^)]{0,4000}\)|[^#\n]+)"
    r"|import[ \t]+(?P<modules>[\w., \t]+))",
    re.MULTILINE,
)
_NAME = re.compile(r"\w+")


@dataclass(slots=True)
class Files:
    """The given sources, by path."""

    sources: Sequence[Source]
    python: dict[PurePath, Source] = field(default_factory=dict)
    folders: set[PurePath] = field(default_factory=set)
    named: dict[str, list[Source]] = field(default_factory=dict)
    """Modules by the last part of their path."""

    def __post_init__(self) -> None:
        for source in self.sources:
            if kind_of(source) == "python":
                path = PurePath(source.name)
                self.python[path] = source
                self.folders.update(path.parents)
                self.named.setdefault(path.name, []).append(source)

    def module(self, folder: PurePath, parts: Sequence[str]) -> Source | None:
        """Return the module `a.b` in a folder."""
        if not parts:
            return self.python.get(folder / "__init__.py")
        path = folder.joinpath(*parts)
        return self.python.get(path.with_name(f"{path.name}.py")) or self.python.get(
            path / "__init__.py"
        )


class Imports:
    """Resolves the imports of a file to given files."""

    def __init__(self, files: Files, depth: int, helpers: int) -> None:
        self._files = files
        self._depth = depth
        self._helpers = helpers
        self._known: dict[str, tuple[Source, ...]] = {}

    def of(self, source: Source) -> tuple[Source, ...]:
        """Return the given files that a file imports."""
        if len(self._files.python) < 2:
            return ()
        if source.name not in self._known:
            names = dict.fromkeys(file.name for file in self._find(source))
            names.pop(source.name, None)
            self._known[source.name] = tuple(self._files.python[PurePath(n)] for n in names)
        return self._known[source.name]

    def closure(self, main: Source) -> tuple[Source, ...]:
        """Return a file and its relevant imported modules, nearest first."""
        members = {main.name: main}
        level = [main]
        for depth in range(self._depth):
            following = [
                two for source in level for two in self.of(source) if two.name not in members
            ]
            level = []
            for source in following:
                if len(members) > self._helpers:
                    return tuple(members.values())
                near = not depth and len(source.text) < MAX_NEAR
                if source.name not in members and (
                    near or may_train(source) or has_word(source.text, FLAGS)
                ):
                    members[source.name] = source
                    level.append(source)
        return tuple(members.values())

    def _find(self, source: Source) -> Iterator[Source]:
        own = PurePath(source.name).parent
        yield from lineage(source, self._files.python)
        yield from settings_named(default_files(source), own, self._files.named)
        for match in _IMPORT.finditer(source.text):
            if match["modules"]:
                for name in match["modules"].split(","):
                    yield from self._absolute(own, name.split()[:1], ())
                continue
            module, names = match["module"], tuple(_NAME.findall(match["names"]))
            dots = len(module) - len(module.lstrip("."))
            if not dots:
                yield from self._absolute(own, [module], names)
                continue
            folder = own
            for _ in range(dots - 1):
                folder = folder.parent
            rest = [part for part in module.lstrip(".").split(".") if part]
            yield from self._module_files(folder, rest, names)

    def _absolute(
        self, own: PurePath, module: Sequence[str], names: tuple[str, ...]
    ) -> Iterator[Source]:
        parts = module[0].split(".") if module else []
        if parts and parts[0] in INSTALLED:
            return  # a library
        for folder in (own, *own.parents):
            imported = list(self._module_files(folder, parts, names)) if parts else []
            if imported:
                yield from imported
                return
            if folder not in self._files.folders:
                return

    def _module_files(
        self, folder: PurePath, parts: Sequence[str], names: tuple[str, ...]
    ) -> Iterator[Source]:
        if file := self._files.module(folder, parts):
            yield file
        for name in names:
            if file := self._files.module(folder, [*parts, name]):
                yield file
