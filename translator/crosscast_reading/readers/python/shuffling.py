"""Whether the rows of training are shuffled: by a loader, its sampler, a dataset, or `fit`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.pysource.libraries.packages import is_of_framework
from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.values.value import Instance, Known, Value
from crosscast_reading.readers.python.library_calls import last, matching
from crosscast_reading.readers.python.shuffled_data import (
    SHUFFLES_IN_PLACE,
    begins_in_tensorflow,
    is_by_index,
    shuffles,
)
from crosscast_reading.trainstep.steps.search import training_steps

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program
    from crosscast_reading.readers.python.fact_writer import FactWriter

FIELD = "data.shuffle"
_HOPS = 6
_DATASET = re.compile(r"tensorflow\.data\.Dataset\.from_tensor_slices")
_BY_DEFAULT: dict[str, bool] = {
    "RandomSampler": True,
    "SubsetRandomSampler": True,
    "SequentialSampler": False,
    "SequenceSampler": False,
    "DistributedSampler": True,
    "BatchSampler": False,
    "DistributedBatchSampler": False,
}
"""Samplers of PyTorch and Paddle, and whether they draw the rows at random unless told."""


def tell_of_loader(writer: FactWriter, call: Call) -> None:
    """Record whether a loader of PyTorch or Paddle shuffles, or its data set."""
    place = call.module.span(call.node)
    bound = call.bound()
    if call.has_star:
        return
    sampler, data = bound.get("batch_sampler") or bound.get("sampler"), bound.get("dataset")
    if data is not None and shuffles(data, call.module):
        writer.say(FIELD, "yes", place)
    elif sampler is not None and not _is_none(sampler, call):
        is_random = _of_ways(sampler, call)
        if is_random is None:
            text = call.module.text(sampler)
            writer.unknown(FIELD, "a sampler draws the rows", place, expression=text)
        else:
            writer.say(FIELD, "yes" if is_random else "no", place)
    elif "shuffle" in bound:
        _say(writer, call, call.argument("shuffle"), call.module.text(bound["shuffle"]))
    elif data is not None and is_by_index(data, call.module):
        writer.say(FIELD, "no", place)
    else:
        text = call.module.text(data) if data is not None else ""
        writer.unknown(FIELD, "the data set may shuffle", place, expression=text)


def tell_of_fit(writer: FactWriter, call: Call) -> None:
    """Record whether Keras' `fit` shuffles the arrays that it gets; it does unless it is told."""
    given = call.bound().get("shuffle")
    if given is None:
        writer.say(FIELD, "yes", call.module.span(call.node))
    else:
        _say(writer, call, call.argument("shuffle"), call.module.text(given))


def tell_of_datasets(writer: FactWriter, program: Program) -> None:
    """Record whether the data set of tf.data that a loop trains on shuffles.

    If the loop does not show it, any data set of the program that shuffles decides, if it has one.
    """
    made = [call for _, call in matching(program, _DATASET)]
    if not made:
        return
    for step in training_steps(program):
        loop, module = step.loop, step.module
        if loop is None or isinstance(loop.node, ast.While):
            continue
        over = loop.node.iter
        mixed = shuffles(over, module)
        if mixed or begins_in_tensorflow(over, module):
            writer.say(FIELD, "yes" if mixed else "no", module.span(over), confidence="likely")
            return
    shuffled = [
        call
        for module in program.modules
        for call in module.calls
        if call.method == "shuffle" and not SHUFFLES_IN_PLACE.match(call.name)
    ]
    if not shuffled:
        writer.say(FIELD, "no", made[0].module.span(made[0].node), confidence="likely")
    elif len(shuffled) < len(made):
        place = shuffled[0].module.span(shuffled[0].node)
        writer.unknown(FIELD, "one data set of several shuffles", place)
    else:
        call = shuffled[0]
        writer.say(FIELD, "yes", call.module.span(call.node), confidence="likely")


def _is_none(node: ast.expr, call: Call) -> bool:
    value = evaluate(node, call.module)
    return isinstance(value, Known) and value.value is None


def _say(writer: FactWriter, call: Call, value: Value | None, text: str) -> None:
    place = call.module.span(call.node)
    match value:
        case Known(value=bool() | 0 | 1 as said, origin=origin, flag=flag):
            word = "yes" if said else "no"
            writer.say(FIELD, word, place, origin=origin, expression=flag)
        case _:
            writer.unknown(FIELD, "a setting decides", place, expression=text)


def _of_ways(sampler: ast.expr, call: Call) -> bool | None:
    """Return whether rows are drawn at random in all cases, or in none, with a sampler or None."""
    answers = {
        _without_sampler(call) if _is_nothing(way) else _of_sampler(evaluate(way, where))
        for way, where in _ways(sampler, call.module, _HOPS)
    }
    return answers.pop() if len(answers) == 1 else None


def _ways(node: ast.expr, module: Module, hops: int) -> Iterator[tuple[ast.expr, Module]]:
    """Yield the expressions that a name or a conditional expression may stand for."""
    if isinstance(node, ast.IfExp):
        yield from _ways(node.body, module, hops)
        yield from _ways(node.orelse, module, hops)
        return
    bindings = definitions(node, module) if hops and isinstance(node, ast.Name) else ()
    if not bindings or any(binding.assigned is None for binding in bindings):
        yield node, module
        return
    for binding in bindings:
        if binding.assigned is not None:
            yield from _ways(binding.assigned, binding.module, hops - 1)


def _is_nothing(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _without_sampler(call: Call) -> bool | None:
    """Return the value of `shuffle` if the sampler is None: true for `shuffle=sampler is None`."""
    bound = call.bound()
    given, sampler = bound.get("shuffle"), bound.get("sampler")
    match given:
        case None:
            return False
        case ast.Compare(left=left, ops=[ast.Is() | ast.Eq()], comparators=[none]):
            named = sampler is not None and ast.dump(left) == ast.dump(sampler)
            return True if named and _is_nothing(none) else None
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return True if sampler is not None and ast.dump(inner) == ast.dump(sampler) else None
    match evaluate(given, call.module):
        case Known(value=bool() as said, flag=""):
            return said
    return None


def _of_sampler(value: Value) -> bool | None:
    """Return whether a sampler of a library shuffles; of one around another, whether that does."""
    match value:
        case Instance(made_by=name, call=Call() as made) if is_of_framework(name):
            pass
        case _:
            return None
    bound, usual = made.bound(), _BY_DEFAULT.get(last(name))
    inner = bound.get("sampler")
    if last(name) == "BatchSampler" and inner is not None and not _is_none(inner, made):
        return _of_sampler(evaluate(inner, made.module))
    if usual is None or made.has_star:
        return None
    if "shuffle" in bound:
        match evaluate(bound["shuffle"], made.module):
            case Known(value=bool() as said):
                return said
        return None
    return usual
