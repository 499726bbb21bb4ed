"""Dockerfiles: variables of ENV lines, and the program that the container starts."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass, replace

from crosscast.messages.diagnostics import Span
from crosscast.messages.source import Source
from crosscast_reading.facts.command import Command
from crosscast_reading.facts.fact import Layer
from crosscast_reading.readers.protocol import Reading
from crosscast_reading.readers.settings import Setting, SettingWriter
from crosscast_reading.readers.shell.environment import tell_variable
from crosscast_reading.readers.shell.expand import Scope
from crosscast_reading.readers.shell.reader import read_script
from crosscast_reading.readers.shell.text import Piece

MAX_CHARACTERS = 400_000

_FROM = re.compile(r"^[ \t]*FROM\s+\S", re.M | re.I)
_LINE = re.compile(r"^[ \t]*(ENV|CMD|ENTRYPOINT)\s+((?:[^\n\\]|\\.|\\\r?\n)*)", re.M | re.I)
_OLD = re.compile(r"([A-Za-z_]\w*)\s+(.*)", re.S)
_PAIR = re.compile(r"(?<!\w)([A-Za-z_]\w*+)=((?:\"(?:[^\"\\]|\\.)*\"|'[^']*'|\\.|[^\s\"'])*)", re.S)


@dataclass(slots=True)
class DockerfileReader:
    """Reads Dockerfiles."""

    name: str = "dockerfile"

    def sniff(self, source: Source) -> bool:
        """Return whether the text is a Dockerfile, by its name and its FROM line."""
        base = re.split(r"[\\/]", source.name)[-1].lower()
        named = re.fullmatch(r"dockerfile([._-][\w.-]+)?|[\w.-]+\.dockerfile", base) is not None
        named = named and not base.endswith((".py", ".json", ".yaml", ".yml", ".md"))
        return named and bool(_FROM.search(source.text[:MAX_CHARACTERS]))

    def read(self, source: Source) -> Reading:
        """Return the variables and the command of the image."""
        text = source.text[:MAX_CHARACTERS]
        writer = SettingWriter(self.name, Layer.ENVIRONMENT)
        scope = Scope()
        commands: list[Command] = []
        for match in _LINE.finditer(text):
            span = _span(source, match.start(1))
            if match[1].upper() == "ENV":
                for name, value in _pairs(match[2]):
                    setting = Setting(name=name, value=value, places=(span,))
                    tell_variable(writer, setting)
                    scope.variables[name] = (Piece(text=value, span=span),)
                    scope.exported.add(name)
                continue
            padded = "\n" * (span.line - 1) + _shell(match[2])
            reading = read_script(replace(source, text=padded), scope.copy())
            commands += reading.commands
            writer.facts += [f for f in reading.facts if f.layer is not Layer.ENVIRONMENT]
        return Reading(facts=tuple(writer.facts), commands=tuple(commands))


def _pairs(text: str) -> list[tuple[str, str]]:
    body = re.sub(r"\\\r?\n", " ", text).strip()
    pairs = [(m[1], _bare(m[2])) for m in _PAIR.finditer(body)]
    if "=" in "".join(body.split()[:1]):
        return pairs
    old = _OLD.fullmatch(body)
    return [(old[1], _bare(old[2].strip()))] if old else []


def _bare(value: str) -> str:
    quoted = re.fullmatch(r"([\"'])(.*)\1", value, re.S)
    return quoted[2] if quoted else value


def _shell(text: str) -> str:
    """Return the command as shell text; JSON lists are quoted."""
    body = text.strip()
    try:
        words = json.loads(re.sub(r"\\\r?\n", " ", body))
    except (ValueError, RecursionError):
        return body
    return " ".join(shlex.quote(str(word)) for word in words) if isinstance(words, list) else body


def _span(source: Source, offset: int) -> Span:
    before = source.text[:offset]
    line = before.count("\n") + 1
    first = before.rfind("\n") + 1
    return Span(source.name, line, offset - first + 1, None, source.text[first:].split("\n", 1)[0])


READER = DockerfileReader()
