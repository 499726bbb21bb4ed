"""What a framework's process tells of the user's model, as canonical tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from crosscast.messages.diagnostics import failure
from crosscast.weights.layout import Layout, Shape

STATISTICS = ("mean", "variance")
_GROUPS = {
    "embedding": "kernel",
    "kernel_ih": "kernel",
    "kernel_hh": "kernel",
    "bias_ih": "bias",
    "bias_hh": "bias",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A canonical tensor of a model.

    `tensor`: name of the framework's tensor. `known`: whether its layout is that of a known layer.
    `base`: the framework's class that its layer is. `rank`: place in the order of execution.
    `fixed`: a buffer that the model fills by itself. `called`: whether its layer is called.
    """

    tensor: str
    suffix: str
    role: str
    shape: Shape
    layout: Layout
    full: Shape
    also: tuple[str, ...]
    known: bool
    layer: str
    kind: str
    base: str
    rank: int
    trainable: bool
    fixed: bool
    called: bool = True

    @property
    def name(self) -> str:
        """Its name as a canonical tensor."""
        return f"{self.tensor}.{self.suffix}" if self.suffix else self.tensor

    @property
    def group(self) -> str:
        """What tensors can be the same: `kernel`, `bias`, `scale`, a statistic, or "" for any."""
        return _GROUPS.get(self.role, self.role)

    @property
    def statistic(self) -> bool:
        """Whether it is a running statistic, which has no gradient."""
        return self.role in STATISTICS

    @property
    def squeezed(self) -> Shape:
        """Its shape without sizes of 1."""
        return tuple(size for size in self.shape if size != 1)

    @property
    def text(self) -> str:
        """Name and shape in the framework, for messages."""
        return f"{self.tensor} {list(self.full)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A model in one framework; parts are in order of execution.

    `counters`: tensors on which no output depends. `shapes`: of all tensors, by every name.
    """

    framework: str
    parts: tuple[Part, ...]
    counters: tuple[str, ...]
    shapes: Mapping[str, Shape]
    outputs: tuple[Shape, ...]
    drawn: Mapping[str, tuple[float, ...]]
    """Mean, standard deviation and kurtosis of the initial values of tensors."""

    @property
    def fixed(self) -> set[str]:
        """Names of tensors that the model fills by itself; a map of weights need not name them."""
        held = [name for p in self.parts if p.fixed for name in (p.tensor, *p.also)]
        return {*held, *self.counters}

    def with_aliases(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return arrays by name, those of tied tensors by their other names, too."""
        also = {other: arrays[part.tensor] for part in self.parts for other in part.also}
        return {**arrays, **also}

    @property
    def trained(self) -> set[str]:
        """Names of the tensors that an optimizer changes."""
        return {p.tensor for p in self.parts if p.trainable and not (p.fixed or p.statistic)}

    def with_parts(self, parts: Sequence[Part]) -> Model:
        """Return the model with other canonical tensors."""
        return replace(self, parts=tuple(parts))


def model_of(framework: str, answer: Mapping[str, Any]) -> Model:
    """Return the model that a process has described (`inside.own_model`).

    Raises:
        DiagnosticError: CC761 if two tensors have one name.
    """
    ranks = Ranks(answer["order"])
    parts, counters = [], []
    shapes: dict[str, Shape] = {}
    for number, tensor in enumerate(answer["tensors"]):
        shape = tuple(tensor["shape"])
        if tensor["name"] in shapes:
            message = f"{framework}: two weights are called {tensor['name']!r}: name the layers"
            raise failure("CC761", message)
        shapes |= dict.fromkeys((tensor["name"], *tensor["also"]), shape)
        if tensor["counts"] or "float" not in tensor["dtype"]:
            counters += [tensor["name"], *tensor["also"]]
            continue
        rank = ranks.of(tensor["layer"])
        called = ranks.called(tensor["layer"])
        parts += [(rank, number, _part(tensor, part, called)) for part in tensor["parts"]]
    parts.sort(key=lambda item: item[:2])
    ordered = (replace(part, rank=rank) for rank, (_, _, part) in enumerate(parts))
    return Model(
        framework=framework,
        parts=tuple(ordered),
        counters=tuple(counters),
        shapes=shapes,
        outputs=tuple(tuple(shape) for shape in answer["outputs"]),
        drawn={tensor["name"]: tuple(tensor["drawn"]) for tensor in answer["tensors"]},
    )


def _part(tensor: Mapping[str, Any], part: Mapping[str, Any], called: bool) -> Part:
    fields = {
        name: None if part[name] is None else tuple(part[name])
        for name in ("axes", "part", "gates", "term")
    }
    statistic = part["role"] in STATISTICS
    return Part(
        tensor=tensor["name"],
        suffix=part["suffix"],
        role=part["role"],
        shape=tuple(part["shape"]),
        layout=Layout(**fields),
        full=tuple(tensor["shape"]),
        also=tuple(tensor["also"]),
        known=part["known"],
        layer=tensor["layer"],
        kind=tensor["kind"],
        base=tensor["base"],
        rank=0,
        trainable=tensor["trainable"],
        fixed=tensor["buffer"] and not statistic,
        called=called,
    )


class Ranks:
    """The order in which layers were called first."""

    def __init__(self, order: Sequence[str]) -> None:
        self._first: dict[str, int] = {}
        for number, path in enumerate(order):
            self._first.setdefault(path, number)
        self._last = len(order)

    def called(self, path: str) -> bool:
        """Whether a layer itself was called."""
        return path in self._first

    def of(self, path: str) -> int:
        """Return the rank of a layer, or of the nearest one around it that was called."""
        at = path
        while at not in self._first:
            cut = max(at.rfind("."), at.rfind("/"))
            if cut < 0:
                return self._first.get("", self._last) if path else self._last
            at = at[:cut]
        return self._first[at]
