"""Schedules whose length counts other batches than those that advance them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crosscast_reading.lint.answers.windows import ACCUMULATES
from crosscast_reading.lint.rule import Finding, RuleForm
from crosscast_reading.pysource.syntax.nodes import identifier
from crosscast_reading.readers.python.library_calls import calls_of, canonical, last
from crosscast_reading.readers.python.value_flow import flow_of
from crosscast_reading.sources.subject import Subject
from crosscast_tensorflow.answers.summed_gradients import windowed_sums
from crosscast_tensorflow.reading.sum_windows import window_of

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program
    from crosscast_tensorflow.reading.sum_windows import SumWindow

_STEPS = re.compile(r"(total|decay|warm_?up|hold|training|first_decay|num)_\w*steps|boundaries")
_SCHEDULE = re.compile(r"(Decay|Schedule|WarmUp)(Schedule|Scheduler|r)?$")
"""Classes of other files that may be schedules."""
_REPLICAS = re.compile(r"num_replicas_in_sync|replica|shard|world_size|num_gpus", re.I)


@dataclass(frozen=True, slots=True, kw_only=True)
class _LengthInBatches:
    """A length of a schedule that divides rows by the size of a batch."""

    call: Call
    """What creates the schedule."""
    node: ast.expr
    """The length, as it is given."""
    quotient: ast.expr
    module: Module
    batch: str


def _of_replicas(subject: Subject) -> Iterator[Finding]:
    """Find lengths counted with the batch of one replica, for batches of all of them."""
    for length in _lengths_of_replicas(subject.program):
        call, node, batch = length.call, length.node, length.batch
        yield Finding(
            span=length.module.span(length.quotient),
            message=f"{call.module.text(node)} counts batches of {batch} rows, but the replicas "
            "take a batch of this size each, so there are fewer steps",
            hint="divide by the size of the global batch",
            related=(call.module.span(node),),
        )


def _of_sums(subject: Subject) -> Iterator[Finding]:
    """Find lengths in batches, where an update takes the sum of the gradients of several."""
    for length, window in _lengths_in_batches(subject, subject.program):
        call, node, steps = length.call, length.node, window.module.text(window.length)
        yield Finding(
            span=length.module.span(length.quotient),
            message=f"{call.module.text(node)} counts batches, but the schedule advances with "
            f"every update: once in {steps} batches where gradients are added up",
            hint=f"divide by {steps} there",
            related=(window.module.span(window.test), call.module.span(node)),
        )


def _lengths_of_replicas(program: Program) -> Iterator[_LengthInBatches]:
    """Yield one such length for every quotient, if only the global batch is used for the data."""
    batches = set(_local_batches(program))
    if len(batches) != 1:
        return
    batch = next(iter(batches))
    for call, node in _lengths(program):
        parts = flow_of(node, call.module, _counted)
        words = (identifier(p) for p, _ in parts if isinstance(p, ast.Name | ast.Attribute))
        if any(_REPLICAS.search(word) for word in words):
            continue
        for part, module in parts:
            match part:
                case ast.BinOp(op=ast.FloorDiv() | ast.Div(), right=right):
                    if module.text(right) == batch:
                        yield _LengthInBatches(
                            call=call, node=node, quotient=part, module=module, batch=batch
                        )


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
                used = list(_sizes(module))
                local = any(module.text(size) == text for size in used)
                if not local and any(_comes_from(size, product, module) for size in used):
                    yield text


def _comes_from(size: ast.expr, product: ast.AST, module: Module) -> bool:
    return any(part is product for part, _ in flow_of(size, module))


def _lengths_in_batches(
    subject: Subject, program: Program
) -> Iterator[tuple[_LengthInBatches, SumWindow]]:
    """Yield lengths of `rows // batch * epochs` if one update takes several such batches.

    A count of calls ends the windows: a loop over parts of one batch makes an update per batch.
    """
    windows = [window_of(total) for total, _ in windowed_sums(subject)]
    window = next((window for window in windows if window is not None), None)
    if window is None or window.never:
        return
    of_data = {module.text(size) for module in program.modules for size in _sizes(module)}
    of_window = _words(node for node, _ in flow_of(window.length, window.module))
    seen: set[ast.AST] = set()
    for call, node in _lengths(program):
        parts = flow_of(node, call.module, _counted)
        words = _words(part for part, _ in parts)
        if words & of_window or any(ACCUMULATES.search(word) for word in words):
            continue
        if not any("epoch" in word.lower() for word in words):
            continue
        for part, module in parts:
            match part:
                case ast.BinOp(op=ast.FloorDiv() | ast.Div(), right=right) if part not in seen:
                    if module.text(right) in of_data:
                        seen.add(part)
                        length = _LengthInBatches(
                            call=call,
                            node=node,
                            quotient=part,
                            module=module,
                            batch=module.text(right),
                        )
                        yield length, window
                        break


def _words(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names in nodes; of `args.steps` the last part."""
    named = [node for node in nodes if isinstance(node, ast.Name | ast.Attribute)]
    owners = {node.value for node in named if isinstance(node, ast.Attribute)}
    return {identifier(node) for node in named if node not in owners}


def _lengths(program: Program) -> Iterator[tuple[Call, ast.expr]]:
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


def _sizes(module: Module) -> Iterator[ast.expr]:
    """Yield the sizes of batches of data: `rows.batch(n)`, `load(batch_size=n)`."""
    for call in module.calls:
        yield from call.node.args[:1] if call.method == "batch" else ()
        yield from (k.value for k in call.node.keywords if k.arg == "batch_size")


def _counted(call: ast.Call, _: Module) -> bool:
    """Whether a call computes a number from its arguments, unlike one that loads data."""
    return identifier(call.func) in ("int", "float", "round", "ceil", "floor", "max", "min", "cast")


FORMS = (
    RuleForm(rule="CL503", check=_of_replicas),
    RuleForm(rule="CL503", check=_of_sums),
)
