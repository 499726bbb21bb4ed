"""Shared code of the rules about outdated APIs."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from crosscast.messages.diagnostics import Span
from crosscast_reading.pysource.syntax.nodes import walk

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program
    from crosscast_reading.sources.subject import Subject


def older(program: Program, package: str, version: str) -> bool:
    """Whether the sources pin a package below a version."""
    named = program.versions.get(package, "")
    return bool(named) and _numbers(named) < _numbers(version)


def _numbers(version: str) -> tuple[int, ...]:
    """Return the release part of a version as numbers: (2, 13, 0) for `2.13.0+cpu`."""
    return tuple(map(int, re.findall(r"\d+", version.partition("+")[0])[:3]))


def used(
    subject: Subject, wanted: Callable[[str], bool]
) -> Iterator[tuple[Module, str, list[ast.expr]]]:
    """Yield the library names that each module certainly uses, with their locations.

    A name that is only one of several possibilities (a fallback for old versions) does not count.
    """
    for module in subject.program.modules:
        uses: dict[str, list[ast.expr]] = {}
        for call in module.calls:
            names = call.names
            if names and all(wanted(name) for name in names):
                uses.setdefault(call.name, []).append(call.node.func)
        for name, places in uses.items():
            if not any(within_try(module, place) for place in places):
                yield module, name, places


def within_try(module: Module, node: ast.AST) -> bool:
    """Whether a failure of a name at a node is handled: `try: ... except (ImportError, ...)`."""
    child: ast.AST = node
    here = module.parent(node)
    while here is not None:
        if isinstance(here, ast.Try) and child in here.body and _handles(here):
            return True
        child, here = here, module.parent(here)
    return False


def _handles(node: ast.Try) -> bool:
    caught = {
        name.id if isinstance(name, ast.Name) else getattr(name, "attr", "")
        for handler in node.handlers
        for name in (walk(handler.type) if handler.type else ())
        if isinstance(name, ast.Name | ast.Attribute)
    }
    bare = any(handler.type is None for handler in node.handlers)
    return bare or bool(caught & {"ImportError", "AttributeError", "ModuleNotFoundError"})


def spans(module: Module, places: list[ast.expr], most: int = 4) -> tuple[Span, ...]:
    """Return the locations after the first one, up to a limit."""
    return tuple(module.span(place) for place in places[1 : most + 1])
