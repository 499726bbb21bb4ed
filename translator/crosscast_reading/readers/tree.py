"""Configuration documents as trees: plain values, each with the place of its key and its text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from crosscast.messages.diagnostics import Diagnostic, Span
from crosscast_reading.facts.fact import Origin, Plain, PlainValue
from crosscast_reading.readers.settings import Setting, Settings, normal


@dataclass(slots=True)
class Tree:
    """One value of a document: a mapping, a list, or a plain value."""

    span: Span
    value: Plain = None
    keys: dict[str, Tree] | None = None
    """Of a mapping."""
    items: list[Tree] | None = None
    """Of a list."""
    key: Span | None = None
    """Place of the key that leads here."""
    tag: str = ""
    """A type given in the text (`!LinearWarmup`), never acted upon."""
    reason: str = ""
    """Why the value is not known, if it is not."""
    origin: Origin = "literal"
    plain: bool = False
    """Whether it is a scalar without quotes."""

    def get(self, *path: str | int) -> Tree | None:
        """Return the entry under a path of keys, None if there is none."""
        entry: Tree | None = self
        for part in path:
            if entry is None:
                return None
            if isinstance(part, int):
                entry = entry.items[part] if entry.items and part < len(entry.items) else None
            else:
                entry = entry.keys.get(part) if entry.keys else None
        return entry

    def section(self, *path: str) -> Tree:
        """Return the entry under a path of keys, one without anything if there is none."""
        return self.get(*path) or Tree(self.span)

    def setting(self, *path: str) -> Setting | None:
        """Return the entry under a path of keys as a setting, None if there is none."""
        entry = self.get(*path)
        return None if entry is None else entry.as_setting(".".join(map(str, path)))

    def as_setting(self, name: str) -> Setting:
        """Return this value as a setting."""
        return Setting(
            name=name,
            value=self.shown,
            known=not self.reason,
            reason=self.reason,
            places=tuple(dict.fromkeys(p for p in (self.key, self.span) if p is not None)),
            origin=self.origin,
        )

    @property
    def home(self) -> tuple[Span, ...]:
        """The place of the first entry, of a value without entries its own."""
        return next(iter((self.keys or {}).values()), self).as_setting("").places[:1]

    @property
    def shown(self) -> PlainValue:
        """The value; a tuple for a list of plain values; None for anything else."""
        if self.items is not None:
            return tuple(item.value for item in self.items)
        return self.value

    @property
    def text(self) -> str:
        """The value as text; empty for null, mappings and lists."""
        return "" if self.value is None else str(self.value)

    def names(self) -> frozenset[str]:
        """Return the keys of a mapping."""
        return frozenset(self.keys or ())

    def settings(self) -> Settings:
        """Return the plain entries and lists of a mapping as settings."""
        settings = Settings()
        for name, entry in (self.keys or {}).items():
            if entry.keys is None:
                settings.entries[normal(name)] = entry.as_setting(name)
        return settings

    def walk(self) -> Iterator[Tree]:
        """Yield this value and everything below it."""
        waiting = [self]
        while waiting:
            tree = waiting.pop()
            yield tree
            waiting += (tree.keys or {}).values()
            waiting += tree.items or []


@dataclass(slots=True)
class Document:
    """A parsed text: its tree (None if it is not of the format) and diagnostics."""

    tree: Tree | None = None
    diagnostics: list[Diagnostic] = field(default_factory=list)
