"""Schedules of TensorFlow whose length is counted with the batch of one replica."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast_reading.pysource.syntax.nodes import identifier
from crosscast_reading.readers.python.library_calls import calls_of, canonical, last
from crosscast_reading.readers.python.value_flow import flow_of

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_STEPS = re.compile(r"(total|decay|warm_?up|hold|training|first_decay|num)_\w*steps|boundaries")
_SCHEDULE = re.compile(r"(Decay|Schedule|WarmUp)(Schedule|Scheduler|r)?$")
"""Classes of other files that may be schedules."""
_REPLICAS = re.compile(r"num_replicas_in_sync|replica|shard|world_size|num_gpus", re.I)


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthInBatches:
    """A length of a schedule that divides rows by the size of a batch."""

    call: Call
    """What creates the schedule."""
    node: ast.expr
    """The length, as it is given."""
    quotient: ast.expr
    module: Module
    batch: str


def lengths_of_replicas(program: Program) -> Iterator[LengthInBatches]:
    """Yield one such length for every quotient, if only the global batch is used for the data."""
    batches = set(_local_batches(program))
    if len(batches) != 1:
        return
    batch = next(iter(batches))
    for call, node in lengths(program):
        parts = flow_of(node, call.module, counted)
        words = (identifier(p) for p, _ in parts if isinstance(p, ast.Name | ast.Attribute))
        if any(_REPLICAS.search(word) for word in words):
            continue
        for part, module in parts:
            match part:
                case ast.BinOp(op=ast.FloorDiv() | ast.Div(), right=right):
                    if module.text(right) == batch:
                        yield LengthInBatches(
                            call=call, node=node, quotient=part, module=module, batch=batch
                        )


def counted(call: ast.Call, _: Module) -> bool:
    """Whether a call computes a number from its arguments, unlike one that loads data."""
    return identifier(call.func) in ("int", "float", "round", "ceil", "floor", "max", "min", "cast")


def _local_batches(program: Program) -> Iterator[str]:
    """Yield B of `B * strategy.num_replicas_in_sync` if batches of data have just that size."""
    for module in program.modules:
        for product in module.every(ast.BinOp):
            if not isinstance(product.op, ast.Mult):
                continue
            for batch, other in ((product.left, product.right), (product.right, product.left)):
                if identifier(other) != "num_replicas_in_sync":
                    continue
                text = module.text(batch)
                used = list(sizes(module))
                local = any(module.text(size) == text for size in used)
                if not local and any(_comes_from(size, product, module) for size in used):
                    yield text


def sizes(module: Module) -> Iterator[ast.expr]:
    """Yield the sizes of batches of data: `rows.batch(n)`, `load(batch_size=n)`."""
    for call in module.calls:
        yield from call.node.args[:1] if call.method == "batch" else ()
        yield from (k.value for k in call.node.keywords if k.arg == "batch_size")


def _comes_from(size: ast.expr, product: ast.AST, module: Module) -> bool:
    return any(part is product for part, _ in flow_of(size, module))


def lengths(program: Program) -> Iterator[tuple[Call, ast.expr]]:
    """Yield the lengths that schedules advanced by every update get."""
    for name, call in calls_of(program):
        library = canonical(name).startswith("keras.optimizers.schedules.")
        scope = program.class_named(name) if ":" in name else None
        own = scope is not None and last(program.library_base(scope)) == "LearningRateSchedule"
        foreign = scope is None and _SCHEDULE.search(last(name) or call.method)
        if library or own or foreign:
            for argument, node in call.bound().items():
                if _STEPS.fullmatch(argument):
                    yield call, node
