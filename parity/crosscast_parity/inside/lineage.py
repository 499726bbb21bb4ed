"""What the casts of a script make of the types of a forward pass.

Autocast and policies choose the type of an operation by what it gets, so a cast of the script's own
changes whatever follows. For every tensor that such a cast may have changed there is a mark here:
the type that it would have if the script cast nothing itself, and whether a cast of the script took
digits from its numbers. What has no mark is as the framework makes it; a tensor that went through a
function which is not known here has none, so that nothing is accused for what was not seen.

- A cast to half takes digits from float32 numbers that are computed from weights. A mask, whose
  numbers are given, may be cast like any constant.
- What was half before is no loss: `norm(x.float()).to(x.dtype)` computes in float32 and returns to
  the type that it came from.
- A float32 constant that is added to half numbers, such as a mask, makes no float32 numbers.
- Products are half by autocast or policy, whatever they get.
- Of an elementwise operation those inputs count that have the size of its result: a bias or a
  weight that is cast for it changes nothing that it would not change by autocast.

Standard library only, as all of this package.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from crosscast_parity.inside import emulate

MOVES = frozenset(
    {
        *("reshape", "view", "view_as", "flatten", "unflatten", "squeeze", "unsqueeze"),
        *("expand_dims", "expand", "expand_as", "broadcast_to", "tile", "repeat", "clone"),
        *("transpose", "permute", "swapaxes", "swapdims", "movedim", "moveaxis", "contiguous"),
        *("chunk", "split", "unbind", "unstack", "narrow", "slice", "strided_slice", "select"),
        *("getitem", "gather", "index_select", "roll", "flip", "identity", "assign"),
        *("masked_fill", "where", "cat", "concat", "stack", "pad", "t", "mT", "T"),
    }
)
"""Functions that hand on numbers as they are."""


@dataclass(frozen=True, slots=True)
class Mark:
    """What is known of a tensor.

    `plain`: the type that it would have without casts of the script. `rounded`: whether one took
    digits from its numbers. `lookup`: whether it was looked up in a table, or is a sum of such.
    """

    plain: str
    rounded: bool = False
    lookup: bool = False


@dataclass(frozen=True, slots=True)
class Told:
    """What is said of a call.

    `plain`: the type that its result would have without casts of the script. `rounded`: whether a
    cast of the script took digits from what it gets. `lookups`: whether it adds what was looked up.
    """

    plain: str
    rounded: bool
    lookups: bool


def size_of(value: Any) -> int | None:
    """Return the number of elements of a tensor; None if it is not known yet."""
    try:
        return math.prod(int(n) for n in value.shape)
    except (AttributeError, TypeError, ValueError):
        return None


def move_of(name: str) -> str | None:
    """Return the name under which a function moves numbers: of `__getitem__` and the like."""
    name = name.strip("_")
    return name if name in MOVES else None


class Lineage:
    """Marks of the tensors of a forward pass.

    `learned`: whether a tensor is computed from weights, None if it is not known. `listed`:
    operations that the framework's own autocast computes in float32 whatever they get.
    """

    def __init__(self) -> None:
        self._marks: dict[int, tuple[Any, Mark]] = {}
        self.learned: Callable[[Any], bool | None] = lambda value: None
        self.listed: frozenset[str] = frozenset()

    def clear(self) -> None:
        """Forget all tensors, which are kept in memory until then."""
        self._marks = {}

    def cast(self, value: Any, result: Any, kinds: tuple[str, str], *, by_policy: bool) -> None:
        """Follow a cast.

        Args:
            value: what is cast.
            result: the same in another type.
            kinds: both types.
            by_policy: whether the framework casts, or the script as its policy does.
        """
        before, after = kinds
        mark = self._mark(value, before)
        if before == after:
            self._set(result, after, mark)
        elif after in emulate.HALF:
            own = mark.plain == "float32" and not by_policy and bool(self.learned(value))
            plain = "float32" if own else after
            self._set(result, after, Mark(plain, own or mark.rounded, mark.lookup))
        else:
            self._set(result, after, Mark(mark.plain, mark.rounded, mark.lookup))

    def move(self, kind: Callable[[Any], str | None], operands: Sequence[Any], result: Any) -> None:
        """Follow numbers into another shape or place."""
        marks = [self._marks[id(value)][1] for value in operands if id(value) in self._marks]
        if not marks:
            return
        worst = next((mark for mark in marks if mark.rounded), marks[0])
        for part in emulate.flat(result):
            dtype = kind(part)
            if dtype:
                self._set(part, dtype, worst)

    def call(
        self,
        name: str,
        kinds: Sequence[tuple[Any, str]],
        result: Any,
        output: str,
        *,
        usual: bool,
        told: bool,
    ) -> Told:
        """Follow an operation, and say what casts of the script have to do with it.

        Args:
            name: canonical.
            kinds: its float inputs with their types, in their order.
            result: what it returns.
            output: the type of that.
            usual: whether the autocast around it is the one of the forward pass.
            told: whether the script names the type of the result as an argument.
        """
        counted = self._counted(name, kinds, result)
        marks = [(self._mark(value, dtype), dtype) for value, dtype in counted]
        rounded = any(_is_rounded(mark, dtype) for mark, dtype in marks)
        plain = self._plain(name, marks, output, usual=usual, told=told)
        if output == plain == "float32" and name in emulate.POINTWISE:
            plain = self._without_constants(kinds, marks)
        looked_up = sum(self._mark(value, dtype).lookup for value, dtype in kinds)
        lookups = name == "add" and looked_up > 1
        kept = name == "embedding" or lookups or (name == "dropout" and looked_up > 0)
        mark = Mark(plain, rounded and name in ("dropout", "embedding"), kept)
        for part in emulate.flat(result):
            self._set(part, output, mark)
        return Told(plain, rounded, lookups)

    def _counted(
        self, name: str, kinds: Sequence[tuple[Any, str]], result: Any
    ) -> Sequence[tuple[Any, str]]:
        """Return the inputs that decide about the type of a result."""
        if name in emulate.MATMUL:
            return ()
        if name not in emulate.POINTWISE:
            return kinds[:1]
        size = next((n for n in map(size_of, emulate.flat(result)) if n is not None), None)
        whole = [pair for pair in kinds if size is not None and size_of(pair[0]) == size]
        return whole or kinds[:1]

    def _plain(
        self,
        name: str,
        marks: Sequence[tuple[Mark, str]],
        output: str,
        *,
        usual: bool,
        told: bool,
    ) -> str:
        changed = any(mark.plain != dtype for mark, dtype in marks)
        as_usual = usual and not told and not changed
        if not marks or as_usual:
            return output
        if any(mark.plain == "float32" for mark, _ in marks):
            return "float32"
        if changed:  # the script computes in float32 what it returns to half
            return next(mark.plain for mark, dtype in marks if mark.plain != dtype)
        return "float32" if name in self.listed else output

    def _without_constants(
        self, kinds: Sequence[tuple[Any, str]], marks: Sequence[tuple[Mark, str]]
    ) -> str:
        """Return the type of an elementwise result in float32 if only constants made it that."""
        wide = [value for value, dtype in kinds if self._mark(value, dtype).plain == "float32"]
        half = next((mark.plain for mark, _ in marks if mark.plain in emulate.HALF), None)
        return "float32" if half is None or any(map(self.learned, wide)) else half

    def _mark(self, value: Any, dtype: str) -> Mark:
        entry = self._marks.get(id(value))
        return entry[1] if entry else Mark(dtype)

    def _set(self, value: Any, dtype: str, mark: Mark) -> None:
        if mark == Mark(dtype):
            self._marks.pop(id(value), None)
        else:
            self._marks[id(value)] = value, mark  # kept, so that no other has its number


def _is_rounded(mark: Mark, dtype: str) -> bool:
    return mark.rounded or (dtype in emulate.HALF and mark.plain == "float32")
