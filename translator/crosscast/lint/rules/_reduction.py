"""Reduction of a loss over its batch: mean, sum, or unknown."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from crosscast.lint.rules._model_outputs import (
    is_output,
    reduction_of_entry,
    reduction_within,
    runs_model,
    uses_transformers,
)
from crosscast.lint.rules._windows import ACCUMULATES
from crosscast.pysource.names.containers import definitions, entry
from crosscast.pysource.programs.call import Call
from crosscast.pysource.programs.evaluate import evaluate
from crosscast.pysource.programs.module import Function, Module
from crosscast.pysource.programs.scopes import Binding
from crosscast.pysource.syntax.nodes import identifier
from crosscast.pysource.values.value import Instance, Known
from crosscast.readers.python.library_calls import fixed
from crosscast.trainstep.events import Context, Event
from crosscast.trainstep.frames.object_kinds import is_loss_name, last_name

Reduction = Literal["mean", "sum", "unknown"]

_LIBRARIES = ("torch.nn.", "paddle.nn.")
_KERAS = re.compile(r"\bkeras\.losses\.[A-Z]\w+\.__call__$")
_LOSS = re.compile(
    r"Loss$|^(cross_entropy|nll_loss|mse_loss|l1_loss|smooth_l1_loss|huber_loss|kl_div"
    r"|binary_cross_entropy(_with_logits)?|softmax_with_cross_entropy)$"
)
_CRITERIA = ("criterion", "loss_fn", "loss_func", "loss_function", "loss_fct", "criteria")
_NAMED = re.compile(rf"^(self\.)?({'|'.join(_CRITERIA)})$")
_COMPUTES = re.compile(r"^_?(get|compute|calc|calculate|forward)_(the_)?loss$|^loss$")
"""Functions that only compute a loss."""
_SUMMED = re.compile(
    r"reduction\s*=\s*['\"](sum|none)['\"]|size_average\s*=\s*False|reduce\s*=\s*False"
    r"|num_tokens(?!\s*=\s*[1-9])|n_tokens|ntokens|num_items|sample_size|loss_sum|sum_loss|\.sum\(\)\s*/"
)
_SCALER = re.compile(r"(GradScaler|AmpScaler)\.scale$")
_WRAPPER = re.compile(r"^(torch|paddle|apex)\..*DataParallel$")
_WRAPPERS = 3
"""Most wrappers around one model that are looked through."""
_CASTS = frozenset({"float", "to", "squeeze", "cuda", "contiguous", "double", "astype", "cast"})
_DEPTH = 12


@dataclass(frozen=True, slots=True)
class _Way:
    """How an expression was reached from the backward pass."""

    calls: tuple[ast.Call, ...]
    """Calls of functions of the program around it, outermost first."""
    followed: frozenset[int] = frozenset()
    """Assignments and calls on the way."""
    returned: bool = False
    """Whether it is within a function that returns the loss."""

    def over(self, node: ast.AST) -> _Way:
        """Return the way to what an assignment gives."""
        return _Way(self.calls, self.followed | {id(node)}, self.returned)

    def into(self, call: ast.Call) -> _Way:
        """Return the way into the function that a call runs."""
        return _Way((*self.calls, call), self.followed | {id(call)}, True)

    def has_been(self, node: ast.AST) -> bool:
        """Whether it came by here already, as in `total = total + loss` in a loop."""
        return id(node) in self.followed


def reduction_of(backward: Event) -> Reduction:
    """Return how the loss of a backward pass is reduced.

    A criterion passed as an argument counts as a mean, the default of all losses of PyTorch, and so
    does a loss that a model of another file returns, unless the program has names about sums or
    token counts.
    """
    loss = loss_expression(backward)
    return _joined(set(_of(loss, backward.module, _Way(backward.calls))), backward)


def reduction_by(binding: Binding, loss: ast.Name, backward: Event) -> Reduction:
    """Return how a loss is reduced that has its value from one of several assignments."""
    way = _Way(backward.calls).over(binding.node)
    return _joined(set(_of_binding(binding, loss, way)), backward)


def _joined(found: set[str], backward: Event) -> Reduction:
    """Return the reduction of a loss that can come about in several ways."""
    if "sum" in found:
        return "sum"
    if found == {"mean"}:
        return "mean"
    if found == {"mean", "named"} or found == {"named"}:
        program = backward.module.program
        texts = [m.code for m in program.modules]
        return "unknown" if any(_SUMMED.search(text) for text in texts) else "mean"
    return "unknown"


def loss_expression(backward: Event) -> ast.expr | None:
    """Return the differentiated expression without the loss scale: `loss`."""
    match backward.node:
        case ast.Call(args=[loss, *_]) | ast.Call(func=ast.Attribute(value=loss)):
            pass
        case _:
            return None
    match loss:
        case ast.Call(
            func=ast.Attribute(attr="scale" | "scale_loss" | "get_scaled_loss"), args=[inner, *_]
        ):
            return inner
    match backward.context("scale_loss"):
        case Context(node=ast.Call(args=[inner, *_])):
            return inner
    return loss


def _of(node: ast.expr | None, module: Module, way: _Way) -> Iterator[str]:
    if len(way.followed) > _DEPTH:
        yield "unknown"
        return
    match node:
        case ast.Name() | ast.Attribute():
            yield from _of_name(node, module, way)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
            yield from _of(left, module, way)
            yield from _of(right, module, way)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            loss = right if isinstance(left, ast.Constant | ast.Attribute) else left
            yield from _of(loss, module, way)
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            yield from ["unknown"] if _may_be_window(right, module, way) else ()
            yield from _of(left, module, way)
        case ast.UnaryOp(operand=operand):
            yield from _of(operand, module, way)
        case ast.Constant():
            return
        case ast.Call():
            yield from _of_call(node, module, way)
        case ast.IfExp(body=body, orelse=orelse):
            yield from _of(body, module, way)
            yield from _of(orelse, module, way)
        case ast.Subscript(value=value, slice=ast.Constant(value=str() | int() as key)):
            yield from _of_entry(value, key, module, way)
        case _:
            yield "unknown"


def _may_be_window(divisor: ast.expr, module: Module, way: _Way) -> bool:
    """Whether a function that returns a loss may divide it by the number of micro-batches."""
    if isinstance(divisor, ast.Constant):
        return False
    return way.returned or bool(ACCUMULATES.search(module.text(divisor)))


# ---- variables


def _of_name(node: ast.Name | ast.Attribute, module: Module, way: _Way) -> Iterator[str]:
    bindings = definitions(node, module)
    if not bindings:
        yield _of_attribute(node, module)
    for binding in bindings:
        if not way.has_been(binding.node):
            yield from _of_binding(binding, node, way.over(binding.node))


def _of_attribute(node: ast.Name | ast.Attribute, module: Module) -> str:
    """`output.loss`."""
    if not isinstance(node, ast.Attribute) or not is_loss_name(node.attr):
        return "unknown"
    by_library = node.attr == "loss" and uses_transformers(module)
    return "named" if by_library or is_output(node.value, module) else "unknown"


def _of_binding(binding: Binding, node: ast.Name | ast.Attribute, way: _Way) -> Iterator[str]:
    module = binding.module
    match binding:
        case Binding(kind="parameter"):
            yield from _of_parameter(node, module, way)
        case Binding(node=ast.AugAssign(op=ast.Add() | ast.Sub(), value=value)):
            yield from _of(value, module, way)
        case Binding(node=ast.AugAssign(op=ast.Div(), value=value)):
            yield from ["unknown"] if _may_be_window(value, module, way) else ()
        case Binding(kind="augment"):
            return
        case Binding(kind="assign" | "with", value=value, path=()):
            yield from _of(value, module, way)
        case Binding(kind="assign" | "with", value=ast.expr() as value, path=(place,)):
            yield from _of_entry(value, place, module, way, last_name(node))
        case _:
            yield "unknown"


def _of_parameter(node: ast.Name | ast.Attribute, module: Module, way: _Way) -> Iterator[str]:
    match way.calls, node:
        case [*around, call], ast.Name(id=name):
            owner = module.owner_of(call)
            given = owner.call(call).bound().get(name)
            yield from _of(given, owner, _Way(tuple(around), way.followed, way.returned))
        case _:
            yield "unknown"


# ---- entries of what a model or function returns


def _of_entry(
    node: ast.expr, key: str | int, module: Module, way: _Way, name: str = ""
) -> Iterator[str]:
    """Yield the reductions of an entry of a container, which is assigned to a name."""
    match node:
        case ast.Tuple() | ast.List() | ast.Dict():
            parts = list(entry(node, module, key, attribute=False))
            yield from ["unknown"] if not parts else ()
            for part, where in parts:
                yield from _of(part, where, way)
        case ast.Name():
            yield from _of_named_entry(node, key, module, way, name)
        case ast.Call():
            functions = _functions(module.call(node), way)
            for where, function in functions:
                for returned in _returned(function, where):
                    yield from _of_entry(returned, key, where, way.into(node), name)
            if not functions:
                yield reduction_of_entry(node, key, module, name)
        case ast.Subscript(value=value, slice=ast.Slice(lower=None)):
            yield from _of_entry(value, key, module, way, name)
        case ast.Subscript(slice=ast.Constant(value=str())):
            yield reduction_within(node, key, module)
        case _:
            yield "unknown"


def _of_named_entry(
    node: ast.Name, key: str | int, module: Module, way: _Way, name: str
) -> Iterator[str]:
    bindings = definitions(node, module)
    yield from ["unknown"] if not bindings else ()
    for binding in bindings:
        if way.has_been(binding.node):
            continue
        if binding.assigned is None:
            yield "unknown"
        else:
            over = way.over(binding.node)
            yield from _of_entry(binding.assigned, key, binding.module, over, name)


# ---- calls


def _of_call(node: ast.Call, module: Module, way: _Way) -> Iterator[str]:
    call = module.call(node)
    last = call.name.removesuffix(".__call__").rpartition(".")[2]
    functions = _functions(call, way)
    cast = call.receiver if call.method in _CASTS else None
    if call.name.startswith(_LIBRARIES) and _LOSS.search(last):
        yield _of_library(node, module, call.name.endswith(".__call__"))
    elif isinstance(node.func, ast.Name) and node.func.id == "sum":
        yield from _of_sum(node, module, way)
    elif call.method in ("mean", "reduce_mean"):
        yield "mean"
    elif _KERAS.search(call.name):
        yield _of_library(node, module, True)
    elif call.method in ("sum", "reduce_sum"):
        yield "sum"
    elif functions:
        for where, function in functions:
            for returned in _returned(function, where):
                yield from _of(returned, where, way.into(node))
    elif _SCALER.search(call.name):
        yield from _of(next(iter(node.args), None), module, way)
    elif cast is not None:
        yield from _of(cast, module, way)
    elif ":" in call.name:
        yield "unknown"
    elif call.method == "training_step":
        yield "named"  # the return value of a LightningModule is optimized directly
    elif _NAMED.search(module.text(node.func)):
        yield "named"
    elif _COMPUTES.search(call.method):
        yield _of_criteria(node, module)
    else:
        yield "named" if runs_model(node, module) else "unknown"


def _of_criteria(node: ast.Call, module: Module) -> str:
    """Return how the criterion reduces that an unseen function gets: `get_loss(y, x, mse)`."""
    found = set()
    for given in (*node.args, *(k.value for k in node.keywords)):
        for binding in definitions(given, module) if identifier(given) in _CRITERIA else ():
            made, where = binding.assigned, binding.module
            if not isinstance(made, ast.Call):
                return "unknown"
            name = where.call(made).name
            known = name.startswith(_LIBRARIES) and _LOSS.search(name.rpartition(".")[2])
            found.add(_of_library(made, where, False) if known else "unknown")
    return "named" if found == {"mean"} else "unknown"


def _functions(call: Call, way: _Way) -> list[tuple[Module, Function]]:
    """Return the function of the program that a call runs; `forward` of a model."""
    program = call.module.program
    if way.has_been(call.node):
        return []
    found = program.function(call)
    if found is None and call.name.endswith(".__call__"):
        found = program.function_named(f"{_wrapped(call.node.func, call.module)}.forward")
    if found is None and call.method == "apply" and call.receiver is not None:
        made = call.module.resolve(call.receiver)  # a torch.autograd.Function
        found = program.function_named(f"{made}.forward")
    return [found] if found is not None else []


def _wrapped(node: ast.expr, module: Module) -> str:
    """Return the class of the model within `DistributedDataParallel(model)`."""
    for _ in range(_WRAPPERS):
        match evaluate(node, module):
            case Instance(made_by=name, call=Call() as made) if _WRAPPER.search(name):
                given = made.bound()
                node, module = given.get("module", given.get("layers", node)), made.module
            case Instance(made_by=name):
                return name
    return ""


def _returned(function: Function, module: Module) -> Iterator[ast.expr]:
    """Yield what a function returns, apart from None."""
    for node in module.scopes[function].returns:
        match node.value:
            case None | ast.Constant(value=None):
                pass
            case value:
                yield value


def _of_sum(node: ast.Call, module: Module, way: _Way) -> Iterator[str]:
    """`sum(losses.values())`, `sum(loss for loss in losses.values())` of a model's losses."""
    given: ast.expr | None
    match node.args:
        case [
            ast.GeneratorExp(elt=ast.Name(), generators=[ast.comprehension(iter=given)])
            | ast.ListComp(elt=ast.Name(), generators=[ast.comprehension(iter=given)])
            | given,
            *_,
        ]:
            pass
        case _:
            given = None
    match given:
        case ast.Call(func=ast.Attribute(value=ast.Name() as losses, attr="values")):
            yield "named" if is_output(losses, module) else "unknown"
        case _:
            yield "unknown"


def _of_library(node: ast.Call, module: Module, instance: bool) -> str:
    call = module.call(node)
    match evaluate(node.func, module) if instance else Instance("", call):
        case Instance(call=Call() as call):
            pass
        case _:
            return "unknown"
    if call.has_star or {"size_average", "reduce"} & call.bound().keys():
        return "unknown"
    reduction = fixed(call.argument("reduction") or Known("mean"))
    return str(reduction) if reduction in ("mean", "sum") else "unknown"
