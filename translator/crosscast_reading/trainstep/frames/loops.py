"""Heads of loops: what they run over, and the variables that count their rounds."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from crosscast_reading.pysource.syntax.nodes import keyword, walk
from crosscast_reading.pysource.values.budget import NoValueError
from crosscast_reading.pysource.values.combine import derived
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.trainstep.events import Loop, LoopRole
from crosscast_reading.trainstep.frames.frame import CallFrame
from crosscast_reading.trainstep.frames.object_kinds import last_name

AnyLoop = ast.For | ast.While | ast.AsyncFor

_PASS_THROUGH = frozenset(
    {
        *("tqdm", "trange", "track", "progress_bar", "iter", "list", "reversed", "sorted", "Bar"),
        *("MpDeviceLoader", "ParallelLoader", "prefetch", "log_every", "notebook_tqdm", "tuple"),
    }
)  # fmt: skip
"""Functions around an iterable that leave its items as they are."""
RANGES = frozenset({"range", "trange", "xrange"})


@dataclass(frozen=True, slots=True)
class Counter:
    """A variable that a loop counts with."""

    name: str
    start: int | None
    """First value; None if unknown."""
    period: ast.expr | None = None
    """It starts again after so many rounds: `cycle(range(n))`, or the loop itself ends there."""
    whole: bool = False
    """Whether `period` is the length of the loop itself: `for micro in range(n)`."""


@dataclass(frozen=True, slots=True)
class LoopHead:
    """A loop being walked through."""

    loop: Loop
    frame: CallFrame
    counters: tuple[Counter, ...] = ()
    endless: bool = False
    """Whether it runs over data without end: `cycle(loader)`, `while True`."""

    def counter(self, name: str) -> Counter | None:
        """Return the counter of this name."""
        for counter in self.counters:
            if counter.name == name:
                return counter
        return None


def head_of(node: AnyLoop, frame: CallFrame) -> LoopHead:
    """Return a loop from its head; its role is provisional."""
    if isinstance(node, ast.While):
        text = frame.module.text(node.test)
        endless = isinstance(node.test, ast.Constant)
        return LoopHead(Loop(node=node, role="other", over=text), frame, (), endless)
    counters = tuple(_counters(node.target, node.iter, frame))
    text = frame.module.text(node.iter)
    first = counters[0] if counters else None
    loop = Loop(
        node=node,
        role=_role(node, text),
        counter=first.name if first else "",
        start=first.start or 0 if first else 0,
        over=text,
    )
    return LoopHead(loop, frame, counters, bool(_ENDLESS.search(text)))


def counted_to(node: AnyLoop) -> ast.expr | None:
    """Return N of `while done < N`, where every round adds 1 to `done`."""
    match node:
        case ast.While(
            test=ast.Compare(
                left=ast.Name(id=name), ops=[ast.Lt() | ast.NotEq()], comparators=[limit]
            )
        ):
            return limit if any(_adds_one(statement, name) for statement in node.body) else None
    return None


def rounds_in_strides(node: AnyLoop, frame: CallFrame) -> Known | None:
    """Return the rounds of `for start in range(0, rows, size)`, if they are known."""
    match node:
        case ast.For(iter=ast.Call(args=[_, _, _] as given, func=called)):
            if last_name(called) in RANGES:
                ends = [frame.value(each) for each in given]
                rounds = derived(frame.module.text(node.iter), ends, _rounds)
                return rounds if isinstance(rounds, Known) else None
    return None


def _rounds(first: object, stop: object, stride: object) -> int:
    match first, stop, stride:
        case int(), int(), int() if stride:
            return max(0, -((first - stop) // stride))
    raise NoValueError


def _adds_one(node: ast.stmt, name: str) -> bool:
    match node:
        case ast.AugAssign(target=ast.Name(id=target), op=ast.Add(), value=ast.Constant(value=1)):
            return target == name
        case ast.Assign(
            targets=[ast.Name(id=target)],
            value=ast.BinOp(left=ast.Name(id=left), op=ast.Add(), right=ast.Constant(value=1)),
        ):
            return target == left == name
    return False


_ENDLESS = re.compile(r"recycle|\bcycle\((?!range)|infinite|endless|repeat\(\)|InfiniteSampler")
_EPOCH = re.compile(r"epoch", re.I)


def _role(node: ast.For | ast.AsyncFor, text: str) -> LoopRole:
    names = " ".join(node.id for node in walk(node.target) if isinstance(node, ast.Name))
    if _EPOCH.search(names) or (_EPOCH.search(text) and "range" in text):
        return "epoch"
    return "other"


def _counters(target: ast.expr, iterable: ast.expr, frame: CallFrame) -> list[Counter]:
    if not isinstance(iterable, ast.Call):
        return _of_variable(target, iterable, frame)
    name = last_name(iterable.func)
    arguments = iterable.args
    if name in _PASS_THROUGH and name != "trange" and arguments:
        return _counters(target, arguments[0], frame)
    if name == "enumerate" and arguments and isinstance(target, ast.Tuple) and target.elts:
        start = arguments[1] if len(arguments) > 1 else keyword(iterable, "start")
        counters = _counters(target.elts[1], arguments[0], frame) if len(target.elts) > 1 else []
        if isinstance(target.elts[0], ast.Name):
            first = 0 if start is None else _integer(start, frame)
            return [Counter(target.elts[0].id, first), *counters]
        return counters
    if name == "zip" and isinstance(target, ast.Tuple):
        counters = []
        for part, source in zip(target.elts, arguments, strict=False):
            counters += _counters(part, source, frame)
        return counters
    if name == "islice" and arguments:
        return _counters(target, arguments[0], frame)
    if isinstance(target, ast.Name):
        return _of_range(target.id, iterable, name, frame)
    return []


def _of_variable(target: ast.expr, iterable: ast.expr, frame: CallFrame) -> list[Counter]:
    """Follow `bar = tqdm(enumerate(loader))`."""
    if isinstance(iterable, ast.Name):
        reference = frame.find(iterable.id)
        if (
            reference is not None
            and isinstance(reference.node, ast.Call)
            and reference.frame is frame
        ):
            text = frame.module.text(reference.node)
            if "enumerate" in text or "range" in text:
                return _counters(target, reference.node, frame)
    return []


def _of_range(target: str, iterable: ast.Call, name: str, frame: CallFrame) -> list[Counter]:
    arguments = iterable.args
    if name in RANGES and arguments:
        start = _integer(arguments[0], frame) if len(arguments) > 1 else 0
        return [Counter(target, start, _length(arguments, frame), True)]
    if name == "count":
        return [Counter(target, _integer(arguments[0], frame) if arguments else 0)]
    if name == "cycle" and arguments and isinstance(arguments[0], ast.Call):
        inner = arguments[0]
        if last_name(inner.func) == "range" and inner.args:
            start = _integer(inner.args[0], frame) if len(inner.args) > 1 else 0
            return [Counter(target, start, _length(inner.args, frame))]
    return []


def _length(arguments: list[ast.expr], frame: CallFrame) -> ast.expr | None:
    """Return n of `range(n)`, `range(0, n)`, `range(1, n + 1)`."""
    if len(arguments) == 1:
        return arguments[0]
    if len(arguments) > 2:
        return None  # of rounds in strides, only the number may be known
    start, stop = arguments[0], arguments[1]
    first = _integer(start, frame)
    if first == 0:
        return stop
    if first == 1 and isinstance(stop, ast.BinOp) and isinstance(stop.op, ast.Add):
        for operand, other in ((stop.left, stop.right), (stop.right, stop.left)):
            if isinstance(operand, ast.Constant) and operand.value == 1:
                return other
    return None


def _integer(node: ast.expr, frame: CallFrame) -> int | None:
    value = frame.value(node)
    if isinstance(value, Known) and isinstance(value.value, int):
        return int(value.value)
    return None
