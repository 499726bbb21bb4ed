"""Whether the rows of training are shuffled: by a loader, its sampler, a dataset, or `fit`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.pysource.libraries.packages import is_of_framework
from crosscast_reading.pysource.names import classes
from crosscast_reading.pysource.names.containers import chase, definitions
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.syntax.nodes import identifier
from crosscast_reading.pysource.values.value import Instance, Known, Value
from crosscast_reading.readers.python.library_calls import last, matching
from crosscast_reading.trainstep.steps.search import training_steps

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program
    from crosscast_reading.readers.python.fact_writer import FactWriter

_WRAPS = frozenset(
    {
        *("enumerate", "zip", "iter", "next", "list", "cycle", "islice", "tqdm", "trange"),
        *("Subset", "ConcatDataset", "random_split", "Prefetcher"),
        "experimental_distribute_dataset",
    }
)
"""What hands on the rows of its first argument in their order."""
_SHUFFLES_IN_PLACE = re.compile(r"(numpy|random)\.")
"""Whose `shuffle` changes an array or list, which may be done once."""
_BY_INDEX = re.compile(
    r"^(torch\.utils\.data|paddle\.io)(\.\w+)*\.(TensorDataset|StackDataset|Subset|random_split)$"
    r"|^(torchvision|torchaudio|paddle\.vision)\.datasets\.\w+(\.\w+)*$"
    r"|^datasets\.(load_dataset|load_from_disk|Dataset\.from_\w+)$"
)
"""Data sets of libraries whose rows are asked for by number, which is for the loader to draw."""
_OF_TENSORFLOW = re.compile(
    r"^tensorflow\.data\.(Dataset\.\w+|TFRecordDataset|TextLineDataset|FixedLengthRecordDataset)$"
)

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
    if data is not None and _shuffles(data, call.module):
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
    elif data is not None and _is_by_index(data, call.module):
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
        mixed = _shuffles(over, module)
        if mixed or _begins_in_tensorflow(over, module):
            writer.say(FIELD, "yes" if mixed else "no", module.span(over), confidence="likely")
            return
    shuffled = [
        call
        for module in program.modules
        for call in module.calls
        if call.method == "shuffle" and not _SHUFFLES_IN_PLACE.match(call.name)
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


def _shuffles(data: ast.expr, module: Module) -> bool:
    """Whether a call of `shuffle` is among those that make a data set."""
    return any(
        isinstance(here, ast.Call)
        and isinstance(here.func, ast.Attribute)
        and here.func.attr == "shuffle"
        and not _SHUFFLES_IN_PLACE.match(where.resolve(here.func))
        for here, where in made_of(data, module)
    )


def _begins_in_tensorflow(data: ast.expr, module: Module) -> bool:
    """Whether the call that a data set of TensorFlow begins with is visible."""
    return any(
        isinstance(here, ast.Call) and _OF_TENSORFLOW.match(where.resolve(here.func))
        for here, where in made_of(data, module)
    )


def _is_by_index(data: ast.expr, module: Module) -> bool:
    """Whether rows of a data set are asked for by number: a list, a class with `__getitem__`."""
    return any(_has_numbers(here, where) for here, where in made_of(data, module))


def _has_numbers(node: ast.expr, module: Module) -> bool:
    match node:
        case ast.List() | ast.Tuple() | ast.ListComp():
            return True
        case ast.Call(func=ast.Name(id="list" | "range" | "tuple")):
            return True
        case ast.Call(keywords=words):
            name = module.resolve(node.func)
            if any(word.arg == "streaming" for word in words):
                return False
            return bool(_BY_INDEX.match(name)) or _is_own(node, module)
    return False


def _is_own(node: ast.Call, module: Module) -> bool:
    """Whether a class of the program has `__getitem__`, or an ancestor of it in the program."""
    class_scope = module.program.class_named(module.call(node).name)
    return class_scope is not None and any(
        isinstance(scope.node, ast.ClassDef)
        and any(
            isinstance(part, ast.FunctionDef) and part.name == "__getitem__"
            for part in scope.node.body
        )
        for scope in classes.lineage(module.program, class_scope)
    )


def made_of(data: ast.expr, module: Module) -> Iterator[tuple[ast.expr, Module]]:
    """Yield an expression and what it comes from, through methods and what hands rows on."""
    waiting, seen = [(data, module)], set[ast.expr]()
    while waiting:
        for here, where in chase(*waiting.pop()):
            if here in seen:
                continue
            seen.add(here)
            yield here, where
            match here:
                case ast.Call(func=function, args=[inner, *_]) if identifier(function) in _WRAPS:
                    waiting.append((inner, where))
                case ast.Call(func=ast.Attribute(value=inner)) | ast.Subscript(value=inner):
                    waiting.append((inner, where))
                case _:
                    pass
