"""State that all parts of a walk share: position, recorded events, and continuation.

The parts know nothing of each other but through it; `walk.py` puts them together.
"""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from crosscast_reading.pysource.programs.module import Function, Module
from crosscast_reading.pysource.programs.program import Program
from crosscast_reading.pysource.values.value import Value
from crosscast_reading.trainstep.events import Context, Event, EventKind, Unfollowed
from crosscast_reading.trainstep.frames.frame import CallFrame
from crosscast_reading.trainstep.frames.function_index import Index
from crosscast_reading.trainstep.frames.loops import LoopHead
from crosscast_reading.trainstep.frames.losses import Division
from crosscast_reading.trainstep.walk.conditions import PathCondition

MAX_EVENTS = 3000


class Walker(ABC):
    """One walk from one function (or module body)."""

    def __init__(self, program: Program, index: Index) -> None:
        self.program = program
        self.index = index
        self.events: list[Event] = []
        self.heads: list[LoopHead] = []
        self.conditions: list[PathCondition] = []
        self.contexts: list[Context] = []
        self.blocks: list[int] = []
        """Number of conditions around each `with` block."""
        self.calls: list[ast.Call] = []
        self.running: list[Function] = []
        self.walked: set[ast.AST] = set()
        """Functions and module bodies that were walked through."""
        self.parts: dict[str, None] = {}
        self.divisions: dict[int, Event] = {}
        """Events of divisions, by the division's node."""
        self.unfollowed: list[Unfollowed] = []
        self.statements = 0
        self.lengths: dict[int, Value] = {}
        """Rounds of loops that count, by identity of the loop."""
        self.periods: dict[int, str] = {}
        """The same as `WindowTest.key`."""
        self.frame_of: dict[ast.AST, CallFrame] = {}
        """Where contexts were entered."""

    # ---- events

    def emit(
        self,
        kind: EventKind,
        node: ast.AST,
        frame: CallFrame,
        *,
        subject: str = "",
        scaler: str = "",
        library: str = "",
        detail: Mapping[str, Value] | None = None,
        extra: Sequence[PathCondition] = (),
    ) -> Event | None:
        """Note an event at this point of the walk."""
        if len(self.events) >= MAX_EVENTS:
            return None
        event = Event(
            kind=kind,
            node=node,
            module=frame.module,
            span=frame.module.span(node),
            subject=subject,
            scaler=scaler,
            library=library,
            guards=tuple(c.guard() for c in (*self.conditions, *extra)),
            contexts=tuple(self.contexts),
            loops=tuple(head.loop for head in self.heads),
            detail=detail or {},
            calls=tuple(self.calls),
            order=len(self.events),
        )
        self.events.append(event)
        return event

    @abstractmethod
    def divided(self, division: Division) -> None:
        """Note a division of a loss, once."""

    # ---- going on

    @abstractmethod
    def block(self, body: Sequence[ast.stmt], frame: CallFrame) -> None:
        """Walk through statements; what follows a conditional `continue` is under a condition."""

    @abstractmethod
    def expression(self, node: ast.AST, frame: CallFrame) -> None:
        """Walk through the calls of a statement, innermost first."""

    @abstractmethod
    def call(self, call: ast.Call, around: ast.AST, frame: CallFrame) -> None:
        """Walk through one call."""

    @abstractmethod
    def enter(self, node: ast.expr, frame: CallFrame) -> None:
        """Enter a context for the rest of the `with` block (`stack.enter_context`)."""

    @abstractmethod
    def run(self, module: Module, function: Function | None, frame: CallFrame) -> None:
        """Walk through a function from its start."""
