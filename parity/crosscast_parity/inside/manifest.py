"""Which operations ran in which types (`manifest.json` of `observe`).

The module `manifest` of a backend watches the functions that a script calls and notes them
here by the names and classes of `emulate`.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from crosscast_parity.inside import emulate
from crosscast_parity.inside.lineage import Lineage, size_of

BIAS = {"bias_add"}
CLASSES: dict[str, frozenset[str]] = {
    "matmul": emulate.MATMUL | BIAS,
    "pointwise": emulate.POINTWISE - BIAS,
    "reductions": emulate.REDUCTIONS,
    "embeddings": emulate.EMBEDDINGS,
    "losses": emulate.LOSSES,
    "casts": frozenset({"cast"}),
}
SYNONYMS = {
    "subtract": "sub",
    "multiply": "mul",
    "divide": "div",
    "true_divide": "div",
    "truediv": "div",
    "p_norm": "norm",
    "linear_v2": "linear",
    "cross_entropy_with_softmax": "cross_entropy",
}
MOST_CALLS = 20_000
"""Operations whose order is kept."""
MOST_FRAMES = 60
_INHERITED = object()
_CLASS_OF = {name: kind for kind, names in CLASSES.items() for name in names}


def canonical(name: str) -> str | None:
    """Return the canonical name of an operation: of `__radd__`, `add_` and the like; or None."""
    if name.startswith("__") and name.endswith("__"):
        name = name[2:-2]
        if name[:1] in ("r", "i") and canonical(name[1:]) and not canonical(name):
            name = name[1:]
    name = name.removesuffix("_")
    name = SYNONYMS.get(name, name)
    return name if name in _CLASS_OF else None


class Recorder:
    """Counts operations by name and types, and keeps their order.

    `autocast`: the half type of autocast or policy. `is_usual`: whether it is in force, with the
    lists that the framework has by itself. `by_policy`: whether a cast that is made now is one of
    the framework's policy. `places`: path of each module of the model by `id`. `lineage`: what the
    script's own casts make of types. `frozen`: whether some weights of the model are not trained.
    """

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, tuple[str, ...], str]] = Counter()
        self._order: list[dict[str, Any]] = []
        self._closed: set[str] = set()
        self._narrowed: dict[int, Any] = {}
        self._depth = self._composing = 0
        self.autocast: str | None = None
        self.is_usual: Callable[[], bool] = lambda: True
        self.by_policy: Callable[[], bool] = lambda: False
        self.places: Mapping[int, str] = {}
        self.lineage = Lineage()
        self.frozen = False

    @property
    def used(self) -> bool:
        """Whether it has seen an operation."""
        return bool(self._counts)

    def facts(self) -> dict[str, Any]:
        """Return the manifest without its format."""
        operations: dict[str, dict[str, list[dict[str, Any]]]] = {kind: {} for kind in CLASSES}
        for (name, inputs, output), count in sorted(self._counts.items()):
            entries = operations[_CLASS_OF[name]].setdefault(name, [])
            entries.append({"in": list(inputs), "out": output, "count": count})
        return {"autocast": self.autocast, "operations": operations}

    def sequence(self) -> dict[str, Any]:
        """Return the calls in their order, and what was not looked into."""
        self._narrowed = {}
        self.lineage.clear()
        closed = sorted(self._closed)
        if len(self._order) >= MOST_CALLS:
            closed.append(f"what follows {MOST_CALLS} operations")
        return {"order": self._order, "closed": closed}

    def close(self, name: str) -> None:
        """Note a function whose operations are not seen."""
        if self._depth == 0:
            self._closed.add(name)

    def call(
        self,
        kind: Callable[[Any], str | None],
        name: str,
        function: Callable[..., Any],
        args: Any,
        kwargs: Any,
        others: Iterable[Any] = (),
    ) -> Any:
        """Call an operation and record it, without the operations it calls.

        Args:
            kind: returns the float type of a tensor, None for anything else.
            name: a canonical name.
            function: the operation.
            args: its arguments.
            kwargs: its arguments by name.
            others: tensors that it reads besides.
        """
        self._depth += 1
        try:
            result = function(*args, **kwargs)
        finally:
            self._depth -= 1
        if self._depth == 0:
            self._note(kind, name, result, (args, kwargs), others)
        return result

    def compose(
        self,
        kind: Callable[[Any], str | None],
        name: str,
        function: Callable[..., Any],
        args: Any,
        kwargs: Any,
        others: Iterable[Any] = (),
    ) -> Any:
        """Call an operation that the program makes of others, and record it as `call` does.

        Its parts are counted, too, but have no place in the order.
        """
        if self._depth:
            return function(*args, **kwargs)
        self._composing += 1
        try:
            result = function(*args, **kwargs)
        finally:
            self._composing -= 1
        self._note(kind, name, result, (args, kwargs), others)
        return result

    def _note(
        self,
        kind: Callable[[Any], str | None],
        name: str,
        result: Any,
        arguments: Any,
        others: Iterable[Any],
    ) -> None:
        inputs = {k for k in map(kind, (*emulate.flat(arguments), *others)) if k}
        output = next((k for k in map(kind, emulate.flat(result)) if k), None)
        moved = name == "cast" and inputs == {output}
        operands = [v for v in emulate.flat(arguments) if kind(v)]
        told = self._follow(kind, name, operands, result, output, arguments[1]) if output else {}
        to_half = "float32" in inputs and output in emulate.HALF
        if name == "cast" and (to_half or self._are_narrowed(operands)):
            self._narrowed[id(result)] = result  # kept, so that no other has its number
        if inputs and output and not moved:
            self._counts[name, tuple(sorted(inputs)), output] += 1
            if len(self._order) < MOST_CALLS and not self._composing:
                self._append(name, sorted(inputs), output, operands, result, told)

    def move(
        self,
        kind: Callable[[Any], str | None],
        function: Callable[..., Any],
        args: Any,
        kwargs: Any,
    ) -> Any:
        """Call a function that hands on numbers as they are (`move_of`), which is not recorded."""
        result = function(*args, **kwargs)
        if self._depth == 0:
            operands = [v for v in emulate.flat((args, kwargs)) if kind(v)]
            self.lineage.move(kind, operands, result)
        return result

    def _follow(
        self,
        kind: Callable[[Any], str | None],
        name: str,
        operands: list[Any],
        result: Any,
        output: str,
        kwargs: Any,
    ) -> dict[str, Any]:
        """Follow a call; say how the script's own casts bear on it."""
        kinds = [(value, dtype) for value in operands if (dtype := kind(value))]
        if name != "cast":
            usual, named = self.is_usual(), kwargs.get("dtype") is not None
            told = self.lineage.call(name, kinds, result, output, usual=usual, told=named)
            return {"plain": told.plain, "rounded": told.rounded, "lookups": told.lookups}
        if kinds:
            value, before = kinds[0]
            by_policy = self.by_policy()
            self.lineage.cast(value, result, (before, output), by_policy=by_policy)
        return {"plain": output, "rounded": False, "lookups": False}

    def _append(
        self,
        name: str,
        inputs: list[str],
        output: str,
        operands: Any,
        result: Any,
        told: dict[str, Any],
    ) -> None:
        sizes = [size_of(value) for value in operands]
        size = next((n for n in map(size_of, emulate.flat(result)) if n is not None), None)
        call: dict[str, Any] = {"name": name, "in": inputs, "out": output, "size": size}
        call["whole"] = size is not None and sizes.count(size) > 1
        call |= {"narrowed": self._are_narrowed(operands), "usual": self.is_usual()}
        trained = [self.lineage.learned(part) for part in emulate.flat(result)]
        learned = self.frozen or any(known is not False for known in trained)
        self._order.append({**call, **told, "learned": learned, "place": self._place()})

    def _are_narrowed(self, operands: Iterable[Any]) -> bool:
        return any(id(value) in self._narrowed for value in operands)

    def _place(self) -> str:
        """Return the path of the innermost module that is running."""
        frame = sys._getframe(3)
        for _ in range(MOST_FRAMES):
            if frame.f_back is None or not self.places:
                break
            frame = frame.f_back
            place = self.places.get(id(frame.f_locals.get("self")))
            if place is not None:
                return place
        return ""


class Tap(Protocol):
    """Passes the operations of a framework to a recorder, between start and stop."""

    def start(self, recorder: Recorder, model: Any) -> None:
        """Start recording calls, beginning with this model; no effect if already recording."""

    def stop(self) -> None:
        """Undo all changes; may be called twice."""


class Patches:
    """Temporarily replaced attributes."""

    def __init__(self) -> None:
        self._originals: list[tuple[Any, str, Any]] = []

    @property
    def made(self) -> bool:
        """Whether anything is replaced."""
        return bool(self._originals)

    def replace(self, owner: Any, name: str, value: Any) -> None:
        """Replace an attribute."""
        self._originals.append((owner, name, vars(owner).get(name, _INHERITED)))
        setattr(owner, name, value)

    def undo(self) -> None:
        """Put back what was there."""
        while self._originals:
            owner, name, value = self._originals.pop()
            if value is _INHERITED:
                delattr(owner, name)
            else:
                setattr(owner, name, value)
