"""Programs for the comparison of modules: the example problems with the changes of two files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from changed_programs import Change, Edit, changes_in

ALL = ("torch", "tensorflow", "paddle")
R, G, Z = "resnet-cifar", "gpt", "layer-zoo"
"""Two of the examples, and a network with layers of many kinds, of these tests."""
HERE = Path(__file__).parent


@dataclass(frozen=True)
class Program:
    """The models of an example after some edits.

    `against`: frameworks that are compared. `other_tensors`: the weights have other names than in
    the example and are matched again.
    """

    name: str
    example: str
    edits: tuple[Edit, ...]
    against: tuple[str, ...]
    other_tensors: bool


@dataclass(frozen=True)
class Plant(Program):
    """A difference. `module`: one of the modules that may be named; `kind`: what it is called."""

    module: str
    kind: str


def _rewrites(change: Change) -> list[Program]:
    """Return comparisons in all pairs of frameworks of which at least one is edited.

    Without edits of any, all pairs are compared.
    """
    example, other = change.field(0), change.field(1) == "other tensors"
    edited = {framework for framework, *_ in change.edits} or set(ALL)
    return [
        Program(f"{change.name}, {a} and {b}", example, change.edits, (a, b), other)
        for a, b in combinations(ALL, 2)
        if edited & {a, b}
    ]


def _plant(change: Change, programs: Mapping[str, Change]) -> Plant:
    example, module, kind, against, more = map(change.field, range(5))
    edits = change.edits
    if more.startswith("on "):
        edits = programs[more.removeprefix("on ")].edits + edits
    other = more == "other tensors"
    return Plant(change.name, example, edits, tuple(against.split()), other, module, kind)


def _changes(name: str) -> Sequence[Change]:
    changes = changes_in(HERE / name)[""]
    unknown = {framework for change in changes for framework, *_ in change.edits} - {*ALL}
    assert not unknown, f"{name}: edits of no framework that is compared: {unknown}"
    return changes


_RIGHT = _changes("module_rewrites.diff")
_OF_EXAMPLES = {change.name: change for change in _RIGHT if change.field(0) != Z}
PLANTS = [_plant(change, _OF_EXAMPLES) for change in _changes("module_plants.diff")]
RIGHT = [program for change in _OF_EXAMPLES.values() for program in _rewrites(change)]
LAYER_REWRITES = [p for change in _RIGHT if change.field(0) == Z for p in _rewrites(change)]
