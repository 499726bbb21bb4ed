"""Whether the rows of training are shuffled: by a loader, its sampler, a dataset, or `fit`."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from crosscast.pysource.programs.call import Call
from crosscast.pysource.programs.evaluate import evaluate
from crosscast.pysource.values.value import Instance, Known, Value
from crosscast.readers.python.library_calls import last, matching

if TYPE_CHECKING:
    from crosscast.pysource.programs.program import Program
    from crosscast.readers.python.fact_writer import FactWriter

FIELD = "data.shuffle"
_DATASET = re.compile(r"tensorflow\.data\.Dataset\.from_tensor_slices")
_IN_PLACE = re.compile(r"(numpy|random)\.")
"""Whose `shuffle` changes an array or list, which may be done once."""
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
    """Record whether a loader of PyTorch or Paddle shuffles."""
    place = call.module.span(call.node)
    bound = call.bound()
    if call.has_star:
        return
    sampler = bound.get("batch_sampler") or bound.get("sampler")
    if sampler is not None and not _is_none(sampler, call):
        found = _of_sampler(evaluate(sampler, call.module))
        if found is None:
            text = call.module.text(sampler)
            writer.unknown(FIELD, "a sampler draws the rows", place, expression=text)
        else:
            writer.say(FIELD, "yes" if found else "no", place)
    elif "shuffle" in bound:
        _say(writer, call, call.argument("shuffle"), call.module.text(bound["shuffle"]))
    else:
        writer.say(FIELD, "no", place)


def tell_of_fit(writer: FactWriter, call: Call) -> None:
    """Record whether Keras' `fit` shuffles the arrays that it gets; it does unless it is told."""
    given = call.bound().get("shuffle")
    if given is None:
        writer.say(FIELD, "yes", call.module.span(call.node))
    else:
        _say(writer, call, call.argument("shuffle"), call.module.text(given))


def tell_of_datasets(writer: FactWriter, program: Program) -> None:
    """Record whether a program of tf.data shuffles: any call of `shuffle` on a data set."""
    made = [call for _, call in matching(program, _DATASET)]
    shuffled = [
        call
        for module in program.modules
        for call in module.calls
        if call.method == "shuffle" and not _IN_PLACE.match(call.name)
    ]
    if not made:
        return
    if shuffled:
        call = shuffled[0]
        writer.say(FIELD, "yes", call.module.span(call.node), confidence="likely")
    else:
        writer.say(FIELD, "no", made[0].module.span(made[0].node), confidence="likely")


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


def _of_sampler(value: Value) -> bool | None:
    """Return whether a sampler of a library shuffles; of one around another, whether that does."""
    match value:
        case Instance(made_by=name, call=Call() as made) if name.startswith(("torch.", "paddle.")):
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
