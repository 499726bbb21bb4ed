"""Reads how many rows a program trains with at once, and how long."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from crosscast_jax.reading.names import NAME
from crosscast_reading.facts.fact import unknown
from crosscast_reading.pysource.names.containers import chase
from crosscast_reading.pysource.syntax.nodes import identifier, walk
from crosscast_reading.pysource.values.value import Known, Unknown, Value
from crosscast_reading.readers.fact_builder import fact_of
from crosscast_reading.readers.python.fact_writer import content
from crosscast_reading.readers.python.library_calls import calls_of, value_of
from crosscast_reading.readers.python.loaders import batch_facts
from crosscast_reading.trainstep.steps.search import training_steps

if TYPE_CHECKING:
    from crosscast.messages.diagnostics import Span
    from crosscast_reading.facts.fact import Fact
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_EVALUATION = re.compile(r"val|test|eval|dev\b|infer|predict", re.I)
_SIZES = ("batch_size", "size")
_AROUND = ("zip", "tqdm", "enumerate")
_KEEPS = {"drop_remainder": "batch.drop_last", "drop_last_batch": "batch.drop_last"}


def row_facts(program: Program) -> Iterator[Fact]:
    """Yield the batch size of the loader that feeds the training, and its short last batch."""
    loaded = list(batch_facts(program, NAME))
    if loaded:
        yield from loaded
        return
    sizes = [size for call in _batched(program) if (size := _size(call)) is not None]
    shown = {str(content(value) if isinstance(value, Known) else value) for value, _ in sizes}
    if len(shown) != 1:
        return
    value, call = sizes[0]
    field = _field(call)
    span = call.module.span(call.node)
    yield fact_of(field, value, span, reader=NAME)
    for argument, told in _KEEPS.items():
        kept = content(call.argument(argument)) if argument in call.bound() else None
        named = next((k.value for k in call.node.keywords if k.arg == argument), None)
        if named is not None and kept is None:
            kept = content(value_of(named, call.module))
        if isinstance(kept, bool):
            yield fact_of(told, Known("yes" if kept else "no"), span, reader=NAME)


def _field(call: Call) -> str:
    """Return the field of a size: of the rows of all devices, where they are divided among them."""
    spread = any(
        call.module.program.calls("jax.local_device_count", "jax.device_count", "jax.pmap")
    )
    return "batch.global_batch_size" if spread else "batch.micro_batch_size"


def _batched(program: Program) -> Iterator[Call]:
    """Yield the calls that group rows for the training: `ds.batch(n)`, `ds.iter(batch_size=n)`."""
    for name, call in calls_of(program):
        if call.receiver is None or ":" in name:
            continue
        if call.method == "batch" or (call.method == "iter" and _named(call) is not None):
            around = call.module.statement_of(call.node)
            head = around.targets[0] if isinstance(around, ast.Assign) else call.receiver
            function = call.module.function_of(call.node)
            words = f"{call.module.text(head)} {call.receiver_text[:60]}"
            if _EVALUATION.search(words) or (function and _EVALUATION.search(function.name)):
                continue
            yield call


def _named(call: Call) -> ast.expr | None:
    return next((k.value for k in call.node.keywords if k.arg in _SIZES), None)


def _size(call: Call) -> tuple[Value, Call] | None:
    """Return the number of rows that a call groups; None if it is none."""
    node = _named(call)
    if node is None and call.method == "batch" and call.node.args:
        node = call.node.args[0]
    value = value_of(node, call.module)
    match value:
        case Known(value=bool() | None | str()):
            return None
        case Known(value=int()) | Unknown():
            return value, call
    return None


def length_facts(program: Program, schedules: Sequence[Fact]) -> Iterator[Fact]:
    """Yield how many updates a run has: those of its only loop, `for step in range(1000)`.

    Args:
        program: a program that trains.
        schedules: the facts about its schedule. One that is longer than the run is no recipe's.
    """
    lengths = [fact for fact in schedules if fact.field == "schedule.total_steps"]
    counted = _counted(program)
    if counted is None:
        yield from lengths
        return
    value, span = counted
    known = value.value if isinstance(value, Known) else None
    if not any(fact.field == "schedule.name" for fact in schedules):
        if isinstance(known, int) and not isinstance(known, bool) and known > 0:
            yield fact_of("schedule.total_steps", value, span, reader=NAME)
    elif all((fact.known and fact.value == known) or _same(fact, value) for fact in lengths):
        yield from lengths
    else:
        shown = known if known is not None else getattr(value, "text", "")
        reason = (
            f"the schedule is {lengths[0].value or lengths[0].expression} long, the run {shown}"
        )
        yield unknown("schedule.total_steps", reason, *lengths[0].places, span, reader=NAME)


def _same(length: Fact, value: Value) -> bool:
    """Whether the length of a schedule is what a loop counts to, as they are written."""
    return isinstance(value, Unknown) and bool(value.text) and length.expression == value.text


def _counted(program: Program) -> tuple[Value, Span] | None:
    """Return the end of the only loop around the updates; None if that is not read."""
    for step in training_steps(program)[:1]:
        updates = step.of("step")
        loops = updates[0].loops if updates else ()
        if len(loops) != 1 or not isinstance(loops[0].node, ast.For):
            return None
        loop = loops[0].node
        module = _module_of(loop, program)
        if module is None or any(isinstance(node, ast.Break) for node in walk(loop)):
            return None
        for over, where in chase(loop.iter, module):
            if (end := _count(over, where)) is not None:
                return value_of(end, where), module.span(loop.iter)
    return None


def _module_of(node: ast.AST, program: Program) -> Module | None:
    return next((m for m in program.modules if node in m.parents), None)


def _count(over: ast.expr, module: Module) -> ast.expr | None:
    """Return the end of a range from 0, or from the step that a run is continued at."""
    match over:
        case ast.Call(func=function, args=[first, *_]) if identifier(function) in _AROUND:
            ends = (_count(each, where) for each, where in chase(first, module))
            return next((end for end in ends if end is not None), None)
        case ast.Call(func=function, args=args) if identifier(function) in ("range", "trange"):
            start = _first(args[0], module) if len(args) == 2 else 0
            match start, args[-1] if len(args) <= 2 else None:
                case 0, ast.expr() as stop:
                    return stop
                case 1, ast.BinOp(left=last, op=ast.Add(), right=ast.Constant(value=1)):
                    return last
    return None


def _first(node: ast.expr, module: Module) -> int | None:
    """Return the number of the first step of a new run, where one is continued at a later one."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, int) else None
    if not isinstance(node, ast.Name | ast.Attribute):
        return None
    for value, _ in chase(node, module):
        match value:
            case ast.BinOp(op=ast.Add(), right=ast.Constant(value=1)):
                return 1  # the one after the last
    return 0
