"""The relation between the fields of a recipe and the lines of one emitted script."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from crosscast.carriers.effects import OtherRecipes
from crosscast.carriers.field_lines import carried_lines
from crosscast.carriers.operation_lines import operation_lines
from crosscast.carriers.text_changes import Line
from crosscast.emit.compiler import Compiled
from crosscast.explore.name_uses import name_uses

Place = tuple[str, int]
"""A file and the number of a line in it."""


@dataclass(frozen=True, slots=True)
class FieldLines:
    """The lines of one field, in three degrees."""

    own: frozenset[Place]
    """They change with the value of the field."""
    related: frozenset[Place]
    """They use what such a line defines, belong to an operation that the field configures, or
    change with one of the other values."""
    gaps: frozenset[Place]
    """Nothing is emitted for this value; another value emits something behind these lines."""
    operations: frozenset[str]


@dataclass(frozen=True, slots=True)
class ScriptLines:
    """The relation for one target."""

    fields: Mapping[str, FieldLines]
    operations: Mapping[str, frozenset[Place]]
    """Kind of an operation of the Plan to the lines that are printed for it."""


def script_lines(others: OtherRecipes, compiled: Compiled) -> ScriptLines:
    """Return the relation for a script of the recipe."""
    target = compiled.target.name
    operations = {
        kind: _places(lines) for kind, lines in operation_lines(others.recipe, target).items()
    }
    uses = {
        path: name_uses(file.text) for path, file in compiled.files.items() if path.endswith(".py")
    }
    fields = {}
    for path, carried in carried_lines(others, target).items():
        own, related = _places(carried.own), set(_places(carried.also))
        for file, file_uses in uses.items():
            related |= {(file, line) for line in file_uses.of([n for f, n in own if f == file])}
        for kind in carried.operations:
            related |= operations.get(kind, frozenset())
        related -= own
        gaps = _places(carried.gaps) - own - related
        fields[path] = FieldLines(own, frozenset(related), gaps, carried.operations)
    return ScriptLines(fields, operations)


def _places(lines: Iterable[Line]) -> frozenset[Place]:
    return frozenset((line.file, line.line) for line in lines)
