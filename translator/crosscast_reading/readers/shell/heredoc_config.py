"""Configurations that a script writes into a file with a here-document."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from crosscast.messages.source import Source
from crosscast_reading.readers.config.deepspeed_config import looks_like_deepspeed, tell_deepspeed
from crosscast_reading.readers.config.json_places import read_json
from crosscast_reading.readers.settings import SettingWriter
from crosscast_reading.readers.shell.programs import WRAPPERS
from crosscast_reading.readers.shell.simple_commands import Started
from crosscast_reading.readers.shell.text import Word, shown

_WRITERS = frozenset({"cat", "tee"})


def config_in(writer: SettingWriter, started: Iterable[Started]) -> None:
    """Record the facts of the DeepSpeed configurations that a script writes."""
    for command in started:
        if command.body is None or not _writes(command):
            continue
        text = _text(command.body)
        if not text.lstrip().startswith("{"):
            continue
        first = command.body[0].span
        source = Source(first.file, "\n" * (first.line - 1) + text)
        tree = read_json(source).tree
        if tree is None or not looks_like_deepspeed(tree):
            continue
        for node in tree.walk():
            if isinstance(node.value, str) and node.value.startswith("$"):
                node.reason = f"{node.value} of the script is not known"
        inner = replace(writer, facts=[], reader="deepspeed_json")
        tell_deepspeed(inner, tree)
        # The engine scales according to its own file; the script's flags only affect its loop.
        kept = [fact for fact in writer.facts if not fact.field.startswith("loss_scaling.")]
        writer.facts[:] = [*kept, *inner.facts]
        writer.diagnostics = inner.diagnostics


def _writes(command: Started) -> bool:
    """Whether a command passes its input on as it is: `cat`, `sudo tee`."""
    first, *others = (shown(word).rpartition("/")[2] for word in command.words)
    return first in _WRITERS or (first in WRAPPERS and not _WRITERS.isdisjoint(others))


def _text(body: Word) -> str:
    """Return the text with unquoted unknown parts in quotes."""
    parts: list[str] = []
    for piece in body:
        quoted = parts and parts[-1].endswith('"')
        parts.append(piece.text if piece.known or quoted else f'"{piece.text}"')
    return "".join(parts)
