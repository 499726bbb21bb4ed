"""Code that is written into migrated programs, from the files of `templates/migrated`.

A file is a module beside the program, or its definitions go into modules of the program. Imports
of the latter are for the tools that check them and are never written. What differs in a few words
is a template (`.py.j2`).
"""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

from crosscast.emit.render import render, template_root


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A function or class of the migrated program."""

    name: str
    text: str
    """With decorators and one line break at its end."""
    needs: tuple[str, ...]
    """Names of the other definitions that it uses, in their order."""


def written_text(path: str, **values: object) -> str:
    """Return the text of a file.

    Args:
        path: below `templates/migrated`.
        values: what a template reads.
    """
    folder = template_root() / "migrated"
    return render(folder, path, values) if path.endswith(".j2") else _read(folder / path)


@cache
def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8")


@cache
def definitions(*paths: str, **values: Hashable) -> Mapping[str, Definition]:
    """Return name to definition, in the order of files and lines.

    Args:
        paths: files below `templates/migrated` whose definitions may use each other.
        values: what their templates read.
    """
    defined: dict[str, tuple[str, ast.stmt]] = {}
    for path in paths:
        text = written_text(path, **values)
        lines = text.splitlines(keepends=True)
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
                defined[node.name] = "".join(lines[first - 1 : node.end_lineno]), node
    return MappingProxyType(
        {
            name: Definition(name=name, text=text, needs=_needs(name, node, defined))
            for name, (text, node) in defined.items()
        }
    )


def _needs(name: str, node: ast.stmt, known: Iterable[str]) -> tuple[str, ...]:
    used = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    return tuple(other for other in known if other in used and other != name)


def with_needed(names: Iterable[str], known: Mapping[str, Definition]) -> Iterator[Definition]:
    """Yield definitions and what they need, each once, needed ones first."""
    done: set[str] = set()

    def visit(name: str) -> Iterator[Definition]:
        if name not in done:
            done.add(name)
            for needed in known[name].needs:
                yield from visit(needed)
            yield known[name]

    for name in names:
        yield from visit(name)
