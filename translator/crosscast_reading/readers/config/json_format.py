"""What all readers of JSON formats share: a cheap, reliable sniff."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from crosscast.messages.diagnostics import Severity
from crosscast.messages.source import Source
from crosscast_reading.readers.config.json_places import read_json
from crosscast_reading.readers.protocol import Reading
from crosscast_reading.readers.settings import SettingWriter
from crosscast_reading.readers.tree import Tree

_MAX_SNIFFED = 200_000


@dataclass(slots=True)
class JsonFormat:
    """A reader of one JSON format."""

    name: str
    words: tuple[str, ...]
    """Every text of the format has one of them."""
    owns: Callable[[Source, Tree], bool]
    tell: Callable[[SettingWriter, Tree], None]
    refuses: str = ""
    """The tool that refuses to read what strict JSON forbids; empty if it may."""

    def sniff(self, source: Source) -> bool:
        """Return whether the text is of this format."""
        text = source.text
        if len(text) > _MAX_SNIFFED or not any(word in text for word in self.words):
            return False
        tree = read_json(source).tree if text.lstrip().startswith(("{", "//", "/*")) else None
        return tree is not None and self.owns(source, tree)

    def read(self, source: Source) -> Reading:
        """Return the facts of the configuration."""
        document = read_json(source)
        diagnostics = tuple(document.diagnostics)
        if document.tree is None:
            return Reading(diagnostics=diagnostics)
        if self.refuses:
            hint = f"{self.refuses} refuses to read this file"
            diagnostics = tuple(
                replace(each, severity=Severity.ERROR, hint=hint) for each in diagnostics
            )
        writer = SettingWriter(self.name, home=document.tree.home)
        self.tell(writer, document.tree)
        return Reading(
            facts=tuple(writer.facts),
            diagnostics=(*diagnostics, *writer.diagnostics),
            mentions=tuple(writer.mentions),
        )
