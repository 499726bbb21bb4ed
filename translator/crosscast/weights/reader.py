"""Read `weights.yaml`, which anybody may have edited, strictly."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from crosscast.messages.diagnostics import Collector, Diagnostic
from crosscast.messages.source import read_source
from crosscast.recipe.yaml_source import PathKey, YamlDocument, parse
from crosscast.weights.document import VERSION, Entry, Place, WeightsMap
from crosscast.weights.layout import Layout, Misfit, Shape
from crosscast.weights.shapes import shape_of

MAX_BYTES = 16 * 2**20
MAX_NODES = 400_000
MOST_AXES = 12
MOST_NAME = 1000
_TOP = {"version", "frameworks", "tensors", "left"}
_LAYOUT = ("expand", "axes", "part", "gates", "term")
_PLACE = {"name", "also", "shape", "frozen", *_LAYOUT}


def read_weights(path: str) -> WeightsMap:
    """Read a map of weights.

    Raises:
        DiagnosticError: CC001-CC015 for the file, CC763 for each mistake in it.
    """
    source = read_source(path, max_bytes=MAX_BYTES)
    document = parse(source.text, source.name, max_nodes=MAX_NODES)
    reader = _Reader(document, Collector())
    known = reader.read()
    reader.collect.raise_errors()
    assert known is not None
    reader.check(known)
    reader.collect.raise_errors()
    return known


@dataclass
class _Reader:
    """Reads a document; problems are collected with their places."""

    document: YamlDocument
    collect: Collector

    def wrong(self, message: str, path: PathKey, *, of_key: bool = False) -> None:
        """Report a mistake."""
        span = self.document.span(path, of_key=of_key)
        self.collect.add(Diagnostic(code="CC763", message=message, span=span))

    def read(self) -> WeightsMap | None:
        """Return the map; None, after a report, if its outline is wrong."""
        data = self.document.data
        if not isinstance(data, dict):
            self.wrong("needs version, frameworks and tensors", ())
            return None
        for key in data.keys() - _TOP:
            self.wrong(f"unknown key {key!r}", (key,), of_key=True)
        if type(data.get("version")) is not int or data["version"] != VERSION:
            self.wrong(f"version must be {VERSION}", ("version",))
            return None
        listed: Any = data.get("frameworks")
        frameworks = list(listed) if _are_names(listed) else []
        if len(set(frameworks)) != len(frameworks) or len(frameworks) < 2:
            self.wrong("frameworks must list two or more names", ("frameworks",))
            return None
        tensors = data.get("tensors")
        if not isinstance(tensors, list | tuple) or not tensors:
            self.wrong("tensors must be a list", ("tensors",))
            return None
        entries = [self._entry(item, ("tensors", i), frameworks) for i, item in enumerate(tensors)]
        left = self._read_left(data.get("left", {}), frameworks)
        whole = tuple(entry for entry in entries if entry is not None)
        return WeightsMap(
            frameworks=tuple(frameworks), entries=whole, left=left, file=self.document.file
        )

    def _read_left(self, data: Any, frameworks: list[str]) -> dict[str, tuple[str, ...]]:
        left = {}
        if not isinstance(data, dict):
            self.wrong("left must map frameworks to lists of names", ("left",))
            return {}
        for framework, names in data.items():
            if framework not in frameworks or not _are_names(names):
                self.wrong("needs a framework and a list of names", ("left", framework))
            else:
                left[framework] = tuple(names)
        return left

    def _entry(self, data: Any, path: PathKey, frameworks: list[str]) -> Entry | None:
        if not isinstance(data, dict):
            self.wrong("a tensor needs name, shape and a name for each framework", path)
            return None
        for key in data.keys() - {"name", "shape", "proved", *frameworks}:
            self.wrong(f"unknown key {key!r}", (*path, key), of_key=True)
        name: Any = data.get("name")
        shape = _shape(data.get("shape"))
        if not _is_name(name):
            self.wrong("name must be the name of the tensor", (*path, "name"))
        if shape is None:
            self.wrong("shape must be a list of positive integers", (*path, "shape"))
        if type(data.get("proved", False)) is not bool:
            self.wrong("proved must be true or false", (*path, "proved"))
        named = [framework for framework in frameworks if framework in data]
        if len(named) < 2:
            self.wrong(f"{name!r} needs a place in two frameworks", path)
        places = {f: self._place(data[f], (*path, f)) for f in named}
        whole = {f: place for f, place in places.items() if place is not None}
        if not _is_name(name) or shape is None or len(whole) < max(2, len(named)):
            return None
        proved = data.get("proved") is True
        span = self.document.span((*path, "name"))
        return Entry(name=name, shape=shape, places=whole, proved=proved, span=span)

    def _place(self, data: Any, path: PathKey) -> Place | None:
        span = self.document.span(path)
        if _is_name(data):
            return Place(name=data, span=span)
        if not isinstance(data, dict) or not _is_name(data.get("name")):
            self.wrong("needs the name of a tensor", path)
            return None
        problems = len(self.collect.diagnostics)
        for key in data.keys() - _PLACE:
            self.wrong(f"unknown key {key!r}", (*path, key), of_key=True)
        also = data.get("also", ())
        if not _are_names(also):
            self.wrong("also must be a list of names", (*path, "also"))
        shape = _shape(data["shape"]) if "shape" in data else None
        if "shape" in data and shape is None:
            self.wrong("shape must be a list of positive integers", (*path, "shape"))
        frozen = data.get("frozen", False)
        if type(frozen) is not bool:
            self.wrong("frozen must be true or false", (*path, "frozen"))
        layout = self._layout(data, path)
        if len(self.collect.diagnostics) > problems:
            return None
        return Place(
            name=data["name"],
            also=tuple(also),
            layout=layout,
            shape=shape,
            frozen=frozen,
            span=span,
        )

    def _layout(self, data: Mapping[str, Any], path: PathKey) -> Layout:
        fields: dict[str, Any] = {}
        for key in _LAYOUT:
            if key not in data:
                continue
            value = data[key]
            if key == "expand":
                fields[key] = _shape(value)
            elif key in ("axes", "gates"):
                fields[key] = _order(value)
            else:
                fields[key] = _share(value)
            if fields[key] is None:
                self.wrong(_NEEDS[key], (*path, key))
        if "part" in fields and "term" in fields:
            self.wrong("part and term exclude each other", path)
        return Layout(**fields)

    def check(self, known: WeightsMap) -> None:
        """Report names that are used twice, and layouts that contradict shapes."""
        seen: set[str] = set()
        for entry in known.entries:
            if entry.name in seen:
                self._problem_at(entry, f"{entry.name!r} is there twice")
            seen.add(entry.name)
        for framework in known.frameworks:
            for name, message, entry in _contradictions(known, framework):
                self._problem_at(entry, f"{framework}: {name!r} {message}")

    def _problem_at(self, entry: Entry, message: str) -> None:
        self.collect.add(Diagnostic(code="CC763", message=message, span=entry.span))


_NEEDS = {
    "expand": "expand must be a list of positive integers",
    "axes": "axes must be an order of the numbers from 0 on",
    "gates": "gates must be an order of the numbers from 0 on",
    "part": "part must be [k, n], with k from 0 and less than n",
    "term": "term must be [k, n], with k from 0 and less than n",
}


def _contradictions(known: WeightsMap, framework: str) -> Iterator[tuple[str, str, Entry]]:
    owner: dict[str, str] = dict.fromkeys(known.left.get(framework, ()), "")
    for name, held in known.of(framework).items():
        last = held[-1][0]
        try:
            shape_of(held)
        except Misfit as error:
            yield name, str(error), last
        for other in {name, *(more for _, place in held for more in place.also)}:
            if owner.setdefault(other, name) != name:
                taken = f"is a name of {owner[other]!r}" if owner[other] else "is listed as left"
                yield other, f"{taken}, too", last


def check_against(
    known: WeightsMap, framework: str, shapes: Mapping[str, Shape], optional: set[str]
) -> None:
    """Check the map against the tensors that a model or a file has.

    Args:
        known: The map.
        framework: Of the model.
        shapes: All its tensors, also by their other names.
        optional: Those that the map need not name.

    Raises:
        DiagnosticError: CC763 for every tensor that is unknown, missing or of another shape.
    """
    collect = Collector()

    def wrong(message: str, entry: Entry | None = None) -> None:
        text = f"{framework}: {message}" if entry else f"{known.file}: {framework}: {message}"
        span = entry.span if entry else None
        collect.add(Diagnostic(code="CC763", message=text, span=span))

    for name, held in known.of(framework).items():
        for other in (name, *(more for _, place in held for more in place.also)):
            if other not in shapes:
                wrong(f"the model has no tensor {other!r}", held[0][0])
            elif (shape := shape_of(held)) != shapes[other]:
                actual = list(shapes[other])
                wrong(f"{other!r} has the shape {actual}, not {list(shape)}", held[0][0])
    for name in known.left.get(framework, ()):
        if name not in shapes:
            wrong(f"the model has no tensor {name!r}")
    for name in sorted(shapes.keys() - known.names(framework) - optional):
        wrong(f"{name!r} of the model is missing in the file")
    collect.raise_errors()


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= MOST_NAME and value.isprintable()


def _are_names(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(map(_is_name, value))


def _numbers(value: Any) -> tuple[int, ...] | None:
    whole = isinstance(value, list | tuple) and all(type(item) is int for item in value)
    return tuple(value) if whole and len(value) <= MOST_AXES else None


def _shape(value: Any) -> Shape | None:
    numbers = _numbers(value)
    right = numbers is not None and min(numbers, default=1) >= 1 and math.prod(numbers) <= 2**40
    return numbers if right else None


def _order(value: Any) -> tuple[int, ...] | None:
    numbers = _numbers(value)
    return numbers if numbers and sorted(numbers) == list(range(len(numbers))) else None


def _share(value: Any) -> tuple[int, int] | None:
    numbers = _numbers(value)
    if numbers is None or len(numbers) != 2 or not 0 <= numbers[0] < numbers[1] <= 64:
        return None
    return numbers[0], numbers[1]
