"""The value of a counter when it is tested for the first time."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.trainstep.frames.frame import CallFrame
from crosscast_reading.trainstep.frames.loops import LoopHead
from crosscast_reading.trainstep.windows.counters import Change, life_of, never_moves
from crosscast_reading.trainstep.windows.linear import Linear

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module


def counter_path(node: ast.expr) -> str:
    """Return `step` or `self.step` for a counter; empty for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name | ast.Attribute):
        inner = counter_path(node.value)
        return f"{inner}.{node.attr}" if inner else ""
    return ""


@dataclass(frozen=True, slots=True)
class Facts:
    """What else is known of a counter."""

    never_again: bool = False
    """Whether it only moves when the test is true."""
    restarts: bool | None = None


_BATCH_INDEX = ("batch_idx", "batch_nb", "batch_index")


def start_of(
    counter: Linear, frame: CallFrame, heads: Sequence[LoopHead], test: ast.expr
) -> tuple[int | None, Facts]:
    """Return the value of a counter at its first test, and what else is known."""
    name = counter_path(counter.core)
    if not name:
        return None, Facts(
            restarts=None if "epoch" not in frame.module.text(counter.core) else False
        )
    for head in reversed(heads):
        loop_counter = head.counter(name)
        if loop_counter is not None:
            return loop_counter.start, Facts(restarts=not head.endless)
    argument = frame.bound.get(name)
    if argument is not None and name not in frame.latest:
        linear_name = counter_path(argument.node)
        if linear_name:
            place = frame.call if frame.caller is argument.frame else None
            return start_of(Linear(argument.node, 0), argument.frame, heads, place or test)
    if name.endswith("state.iteration"):  # ignite counts from 1 before it calls the step
        return 1, Facts(restarts=False)
    if name in _BATCH_INDEX and getattr(frame.function, "name", "") == "training_step":
        return 0, Facts(restarts=True)  # Lightning counts from 0
    if not heads:
        return None, Facts()
    life = life_of(name, heads[-1].loop.node, frame)
    if not life.grows:
        return None, Facts(never_again=never_moves(name, heads[-1].loop.node, frame))
    outside = [growth for growth in life.grows if not _under(growth, test, frame)]
    if not outside:
        return None, Facts(never_again=True, restarts=life.per_epoch)
    if life.before is None or life.resets:
        first = _reset_start(life.resets, outside, test, frame) if life.resets else None
        return first, Facts(restarts=life.per_epoch)
    facts = Facts(restarts=life.per_epoch or False)
    before = any_precedes(outside, test, frame)
    return (None if before is None else life.before + before), facts


def _reset_start(
    resets: Sequence[Change], grows: Sequence[Change], test: ast.expr, frame: CallFrame
) -> int | None:
    first = resets[0].to
    if first is None:
        return None
    before = any_precedes(grows, test, frame)
    return None if before is None else first + before


def any_precedes(changes: Sequence[Change], test: ast.expr, frame: CallFrame) -> bool | None:
    """Whether a counter changes before it is tested; None if that is unknown."""
    answers = [precedes(change, test, frame) for change in changes]
    return True if True in answers else None if None in answers else False


def precedes(change: Change, test: ast.expr, frame: CallFrame) -> bool | None:
    """Whether a change comes before a test in a round, maybe in a function called there.

    None if the program calls that function in several places, or in none that leads to the test.
    """
    places = _places(test, frame)
    module = frame.module
    node: ast.AST = change.node
    for _ in range(_MOST_CALLS):
        home = module.function_of(node)
        place = places.get((module, home))
        if place is not None:
            return _position(node) < _position(place)
        if home is None:
            return None
        sites = module.program.call_sites(module, home)
        if len(sites) != 1:
            return None
        module, node = sites[0].module, sites[0].node
    return None


_MOST_CALLS = 4
"""Most calls between the loop and a change of its counter."""


def _places(test: ast.expr, frame: CallFrame) -> dict[tuple[Module, ast.AST | None], ast.AST]:
    """Return where a test is reached in each function that leads to it: by itself, or a call."""
    places: dict[tuple[Module, ast.AST | None], ast.AST] = {}
    place: ast.AST = test
    here: CallFrame | None = frame
    while here is not None:
        places[here.module, here.function] = place
        place = here.call or place
        here = here.caller
    return places


def _position(node: ast.AST) -> tuple[int, int]:
    return (getattr(node, "lineno", 0), getattr(node, "col_offset", 0))


def _under(change: Change, test: ast.expr, frame: CallFrame) -> bool:
    """Whether a counter only moves when the test (or a name for it) is true."""
    module = frame.module
    if any(
        isinstance(part, ast.Name) and part.id in _names_of(test, frame)
        for part in walk(getattr(change.node, "value", change.node))
    ):
        return True
    here = module.enclosing(change.node, ast.If)
    wanted = _names_of(test, frame)
    while here is not None:
        condition = here.test
        if condition is test or (isinstance(condition, ast.Name) and condition.id in wanted):
            return any(_inside(change.node, statement) for statement in here.body)
        if any(part is test for part in walk(condition)):
            return any(_inside(change.node, statement) for statement in here.body)
        here = module.enclosing(here, ast.If)
    return False


def _names_of(test: ast.expr, frame: CallFrame) -> frozenset[str]:
    """Return the names that a condition was given."""
    return frozenset(name for name, reference in frame.latest.items() if reference.node is test)


def _inside(node: ast.AST, around: ast.stmt) -> bool:
    first, last = around.lineno, around.end_lineno or around.lineno
    return first <= getattr(node, "lineno", 0) <= last
