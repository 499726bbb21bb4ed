"""Values that are losses or become one, and where one can come from; see `loss_flow`."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace
from typing import Literal

from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.programs.module import Function, Module
from crosscast_reading.pysource.programs.scopes import Binding

Operation = Literal["add", "divide", "multiply", "negate", "mean", "sum", "cast", "scale", "other"]


@dataclass(slots=True)
class Hops:
    """The hops that were made from one loss."""

    made: int = 0


@dataclass(frozen=True, slots=True)
class LossValue:
    """An expression whose value is a loss or becomes one, and how it was reached."""

    node: ast.expr
    module: Module
    key: str | int | None = None
    """The loss is this entry of the value, a container."""
    name: str = ""
    """The name that the entry is assigned to."""
    calls: tuple[ast.Call, ...] = ()
    """Calls of functions of the program around the expression, outermost first."""
    returned: bool = False
    """Whether it is within a function that returns the loss."""
    functions: tuple[Function, ...] = ()
    """The functions of the last of these calls that were entered on the way."""
    followed: frozenset[tuple[int, tuple[ast.Call, ...]]] = frozenset()
    """Assignments on the way, by `id` and the calls around: a function may be called again."""
    hops: Hops = field(default_factory=Hops, compare=False, repr=False)
    """Counted for all values that are reached from one loss."""

    @property
    def text(self) -> str:
        """The expression as it is written."""
        return self.module.text(self.node)

    def inside(self, node: ast.expr, key: str | int | None = None) -> LossValue:
        """Return a part of the expression."""
        return replace(self, node=node, key=key)

    def over(self, passed: ast.AST, node: ast.expr, module: Module) -> LossValue:
        """Return the value that an assignment gives, which is passed on the way."""
        followed = self.followed | {(id(passed), self.calls)}
        return replace(self, node=node, module=module, key=None, followed=followed)

    def has_passed(self, assignment: ast.AST) -> bool:
        """Whether an assignment is on the way, as in `total = total + loss` in a loop."""
        return (id(assignment), self.calls) in self.followed

    def into(self, call: ast.Call, function: Function, node: ast.expr, module: Module) -> LossValue:
        """Return the value returned by the function that a call runs."""
        return replace(
            self,
            node=node,
            module=module,
            calls=(*self.calls, call),
            functions=(*self.functions, function),
            followed=self.followed | {(id(call), self.calls)},
            returned=True,
        )

    def outside(self) -> LossValue:
        """Return the same as seen from the call around the innermost function."""
        return replace(self, calls=self.calls[:-1], functions=self.functions[:-1])


@dataclass(frozen=True, slots=True)
class Unfollowed:
    """What a value comes from is unknown, or something that the one who asks may know."""

    value: LossValue


@dataclass(frozen=True, slots=True)
class Criterion:
    """A loss function or class of a library."""

    value: LossValue
    call: Call


@dataclass(frozen=True, slots=True)
class Number:
    """A constant."""

    value: LossValue


@dataclass(frozen=True, slots=True)
class After:
    """Another value after an operation."""

    value: LossValue
    """The whole."""
    operation: Operation
    inner: LossValue
    operand: ast.expr | None = None
    """What is divided or multiplied by."""
    whole: bool = True
    """Whether a reduction is one of all elements."""


@dataclass(frozen=True, slots=True)
class Updated:
    """A statement such as `loss /= n` or `loss += x`, which changes what other assignments gave."""

    value: LossValue
    """The name."""
    operation: Operation
    operand: LossValue
    """What the statement has at its right."""


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of several values: of branches, assignments or returns, or those of a sum."""

    value: LossValue
    parts: tuple[LossValue | Updated | None, ...]
    """None for one that is not followed."""
    is_sum: bool = False
    bindings: tuple[Binding, ...] = ()
    """The assignments, where the value is a name."""


Origin = Unfollowed | Criterion | Number | After | OneOf
