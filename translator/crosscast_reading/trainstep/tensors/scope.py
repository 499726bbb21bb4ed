"""The state of a function whose forward pass is read, and what the readers of its parts share."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from crosscast_reading.pysource.libraries.precision_tables import Lookup
from crosscast_reading.pysource.libraries.precision_words import MixedPrecision
from crosscast_reading.trainstep.tensors.layers import Layer
from crosscast_reading.trainstep.tensors.tensor import Mark, Place, Tensor

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Function, Module
    from crosscast_reading.pysource.programs.program import Program


@dataclass(slots=True)
class ForwardScope:
    """One function while it is read."""

    module: Module
    half: bool
    """Whether mixed precision is on at the current statement."""
    tensors: dict[str, Tensor] = field(default_factory=dict)
    """By the text of the variable."""
    layers: dict[str, list[Layer]] = field(default_factory=dict)
    """Variables of loops over layers."""
    returned: list[Tensor] = field(default_factory=list)
    ended: bool = False
    """Whether the current statement is never reached: it follows a return."""


@dataclass(frozen=True, slots=True)
class Leak:
    """An activation that is kept in float32 where half would do."""

    mark: Mark
    consumer: Place
    """The operation that keeps it, or a half copy of it, for the backward pass."""


@dataclass(slots=True)
class Findings:
    """What a forward pass keeps."""

    leaks: dict[tuple[str, Place], Leak] = field(default_factory=dict)
    """The first one of each cause."""
    attentions: dict[Place, Place] = field(default_factory=dict)
    """Softmax of attention by hand, and the product of its result with the values."""
    given_away: set[Place] = field(default_factory=set)
    """Those whose weights something else gets as well."""


class Reader(ABC):
    """Reads forward passes; readers of expressions ask it for the functions that are called."""

    def __init__(self, program: Program, table: MixedPrecision) -> None:
        self.program = program
        self.table = table
        self.lookup = Lookup(table)
        self.findings = Findings()

    @abstractmethod
    def call(
        self,
        module: Module,
        function: Function,
        given: Sequence[Tensor],
        named: dict[str, Tensor],
        half: bool,
    ) -> Tensor:
        """Return the result of a function for tensors; methods get those after `self`."""

    def consume(self, tensors: Sequence[Tensor], place: Place, *, casts: bool) -> None:
        """Note the float32 sums that go into an operation that keeps its input."""
        for tensor in tensors:
            for mark in tensor.marked(*(("norm", "cast") if casts else ("norm",))):
                if mark.via is not None:
                    key = (mark.cause, mark.place)
                    self.findings.leaks.setdefault(key, Leak(mark, place))


def is_number(node: ast.expr) -> bool:
    """Whether an expression is a number or made of numbers."""
    match node:
        case ast.Constant(value=int() | float()):
            return True
        case ast.UnaryOp(operand=inner):
            return is_number(inner)
        case ast.BinOp(left=left, right=right):
            return is_number(left) and is_number(right)
    return False
