"""What `weights.yaml` says: the tensors of one model in several frameworks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from crosscast.messages.diagnostics import Span
from crosscast.weights.layout import SAME, Layout, Shape

VERSION = 1
NAME = "weights.yaml"
"""Name of the file beside a recipe."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a canonical tensor is in a framework."""

    name: str
    also: tuple[str, ...] = ()
    """More names of the same tensor, which is tied."""
    layout: Layout = SAME
    shape: Shape | None = None
    """Of the framework's tensor, where it does not follow from the canonical one."""
    frozen: bool = False
    """Whether it is a weight that is not trained."""
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A canonical tensor. `notes` are comments: what was found about it, and candidates."""

    name: str
    shape: Shape
    places: Mapping[str, Place]
    proved: bool = False
    notes: tuple[str, ...] = field(default=(), compare=False)
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightsMap:
    """All tensors of a model, in order of execution, and by framework those that have no
    counterpart."""

    frameworks: tuple[str, ...]
    entries: tuple[Entry, ...]
    left: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    heading: tuple[str, ...] = field(default=(), compare=False)
    """Comments at the top of the file."""
    file: str = field(default="", compare=False)

    def of(self, framework: str) -> dict[str, list[tuple[Entry, Place]]]:
        """Return the entries and places of a framework by its own first name of the tensor."""
        by_tensor: dict[str, list[tuple[Entry, Place]]] = {}
        for entry in self.entries:
            if framework in entry.places:
                place = entry.places[framework]
                by_tensor.setdefault(place.name, []).append((entry, place))
        return by_tensor

    def frozen(self, framework: str) -> set[str]:
        """Return all names of weights that a framework does not train."""
        places = (entry.places.get(framework) for entry in self.entries)
        return {name for p in places if p is not None and p.frozen for name in (p.name, *p.also)}

    def names(self, framework: str) -> set[str]:
        """Return all names that the file knows in a framework, also those that are left."""
        known = set(self.left.get(framework, ()))
        for name, held in self.of(framework).items():
            known |= {name, *(other for _, place in held for other in place.also)}
        return known
