"""Parts of values in brackets: `x[:, -1]`, `table[:, : x.shape[1]]`, `mask[:, None]`."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crosscast_migrate.models.network import Shape, UnreadableError
from crosscast_migrate.models.objects import Dim, Library, Opaque

if TYPE_CHECKING:
    from crosscast_migrate.models.machine import ModelMachine
    from crosscast_reading.pysource.machine.frames import Variables


@dataclass(frozen=True, slots=True)
class SizeOf:
    """The size of an axis of an input of a step, by the number of the input."""

    place: int
    axis: int


Bound = int | SizeOf | None


@dataclass(frozen=True, slots=True)
class Range:
    """A range of an axis."""

    start: Bound = None
    stop: Bound = None
    step: int | None = None


Part = Range | int | None
"""A range, one entry, or a new axis."""
WHOLE = Range()


def parts_of(
    machine: ModelMachine, node: ast.Subscript, frame: Variables
) -> tuple[list[Any], bool]:
    """Return the parts in brackets, and whether they begin with `...`.

    Sizes that are known only when the model runs are `Dim` in a `slice`.

    Raises:
        UnreadableError: a part is not known.
    """
    nodes = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    parts: list[Any] = []
    begins = False
    for place, part in enumerate(nodes):
        if isinstance(part, ast.Slice):
            bounds = [part.lower, part.upper, part.step]
            parts.append(slice(*(b and machine.value(b, frame) for b in bounds)))
            continue
        value = machine.value(part, frame)
        if value is Ellipsis and place == 0 and len(nodes) > 1:
            begins = True
        elif isinstance(value, Library) and value.name.endswith(".newaxis"):
            parts.append(None)
        elif value is None or (isinstance(value, int) and not isinstance(value, bool)):
            parts.append(value)
        else:
            if isinstance(value, Opaque) and not value.is_cause:
                raise UnreadableError(value.text, value.span)
            reason = "this part of a value is not carried"
            raise UnreadableError(reason, frame.module.span(node))
    return parts, begins


def ranges(
    parts: Sequence[Any], inputs: list[Any], node: ast.AST, frame: Variables
) -> tuple[Part, ...]:
    """Return parts with the sizes of values as those of inputs of the step, which are added."""

    def bound(value: Any) -> Bound:
        match value:
            case Dim(tensor=tensor, axis=axis):
                if tensor not in inputs:
                    inputs.append(tensor)
                return SizeOf(inputs.index(tensor), axis)
            case None | int():
                return value
        raise UnreadableError("a range that is not known", frame.module.span(node))

    chosen: list[Part] = []
    for part in parts:
        if isinstance(part, slice):
            step = bound(part.step)
            if isinstance(step, SizeOf) or (step is not None and step < 1):
                raise UnreadableError("a range backwards", frame.module.span(node))
            chosen.append(Range(bound(part.start), bound(part.stop), step))
        else:
            chosen.append(part)
    return tuple(chosen)


def parts_text(parts: Sequence[Part], inputs: Sequence[str] = (), size: str = "") -> str:
    """Return parts as code.

    Args:
        parts: what stands in brackets.
        inputs: code of the inputs of the step.
        size: an expression for the size of an axis: `{value}` and `{axis}`.
    """

    def shown(bound: Bound) -> str:
        if isinstance(bound, SizeOf):
            return size.format(value=inputs[bound.place], axis=bound.axis)
        return "" if bound is None else str(bound)

    texts = []
    for part in parts:
        if isinstance(part, Range):
            start, stop = shown(part.start), shown(part.stop)
            complex_ = len(start) > 3 or len(stop) > 3
            text = f"{start}{' ' if start and complex_ else ''}:{' ' if complex_ and stop else ''}"
            texts.append(f"{text}{stop}" + ("" if part.step is None else f":{part.step}"))
        else:
            texts.append(str(part))
    return ", ".join(texts)


def shape_of_parts(shape: Shape, parts: Sequence[Part]) -> Shape:
    """Return the shape of a part; None for sizes that are not known.

    Raises:
        UnreadableError: there are more parts than axes.
    """
    sizes, axis = list[int | None](), 0
    for part in parts:
        if part is None:
            sizes.append(1)
            continue
        if axis >= len(shape):
            raise UnreadableError("a part has more axes than its value")
        if isinstance(part, Range):
            sizes.append(_count(shape[axis], part))
        axis += 1
    return (*sizes, *shape[axis:])


def _count(size: int | None, part: Range) -> int | None:
    if part == WHOLE:
        return size
    bounds = (part.start, part.stop)
    if size is None or any(isinstance(bound, SizeOf) for bound in bounds):
        return None
    start, stop = (bound if isinstance(bound, int) else None for bound in bounds)
    return len(range(*slice(start, stop, part.step).indices(size)))
