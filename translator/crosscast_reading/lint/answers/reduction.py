"""Reduction of a loss over its batch: mean, sum, or unknown.

The loss may be an entry of what a model returns that stands in no file of the program.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Literal

from crosscast_reading.lint.answers.windows import ACCUMULATES
from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.scopes import Binding
from crosscast_reading.pysource.syntax.nodes import identifier
from crosscast_reading.pysource.values.value import Instance, Known
from crosscast_reading.readers.python.library_calls import fixed
from crosscast_reading.readers.python.loss_flow import assigned, is_criterion, origin
from crosscast_reading.readers.python.loss_values import (
    After,
    Criterion,
    LossValue,
    OneOf,
    Unfollowed,
    Updated,
)
from crosscast_reading.trainstep.answers.differentiated import loss_expression
from crosscast_reading.trainstep.events import Event
from crosscast_reading.trainstep.frames.object_kinds import is_loss_name, is_model_name, last_name

_LAYERS = re.compile(
    r"^(torch|paddle)\.(?!nn\.parallel\.|DataParallel|compile|jit|nn\.(Module|Layer)\.__call__$)"
)
"""What makes layers of a library, whose output is no loss.

Wrappers of models are not among it, and neither is the base class, which tells that it is a model.
"""
_MEANS = re.compile(r"^(avg|average|mean)_|_(avg|average|mean)$", re.I)
"""Names that tell a mean from a sum which is returned beside it."""
_CRITERION = re.compile(r"^(criterion|criteria|loss_(fn|func|function|fct))$", re.I)

Reduction = Literal["mean", "sum", "unknown"]

_LIBRARIES = re.compile(r"(torch|paddle)\.nn\.|(\w+\.)*keras\.losses\.[A-Z]\w+\.__call__$")
"""Losses that are means unless they are told otherwise."""
_CRITERIA = ("criterion", "loss_fn", "loss_func", "loss_function", "loss_fct", "criteria")
_NAMED = re.compile(rf"^(self\.)?({'|'.join(_CRITERIA)})$")
_COMPUTES = re.compile(r"^_?(get|compute|calc|calculate|forward)_(the_)?loss$|^loss$")
"""Functions that only compute a loss."""
_SUMMED = re.compile(
    r"reduction\s*=\s*['\"](sum|none)['\"]|size_average\s*=\s*False|reduce\s*=\s*False"
    r"|num_tokens(?!\s*=\s*[1-9])|n_tokens|ntokens|num_items|sample_size|loss_sum|sum_loss|\.sum\(\)\s*/"
)
_SCALER = re.compile(r"(GradScaler|AmpScaler)\.scale$")


def reduction_of(backward: Event) -> Reduction:
    """Return how the loss of a backward pass is reduced.

    A criterion passed as an argument counts as a mean, the default of all losses of PyTorch, and so
    does a loss that a model of another file returns, unless the program has names about sums or
    token counts.
    """
    loss = loss_expression(backward)
    if loss is None:
        return "unknown"
    value = LossValue(loss, backward.module, calls=backward.calls)
    return _joined(set(_of(value)), backward)


def reduction_by(binding: Binding, loss: ast.Name, backward: Event) -> Reduction:
    """Return how a loss is reduced that has its value from one of several assignments."""
    value = LossValue(loss, backward.module, calls=backward.calls)
    reductions = {each for part in assigned(binding, value) for each in _of_part(part)}
    return _joined(reductions, backward)


def _joined(reductions: set[str], backward: Event) -> Reduction:
    """Return the reduction of a loss that can come about in several ways."""
    if "sum" in reductions:
        return "sum"
    if reductions == {"mean"}:
        return "mean"
    if reductions == {"mean", "named"} or reductions == {"named"}:
        texts = [m.code for m in backward.module.program.modules]
        return "unknown" if any(_SUMMED.search(text) for text in texts) else "mean"
    return "unknown"


def _of(value: LossValue) -> Iterator[str]:
    match origin(value):
        case OneOf(parts=parts):
            for part in parts:
                yield from _of_part(part)
        case After(operation="mean" | "sum" as reduction):
            yield reduction
        case After(operation="divide", inner=inner, operand=ast.expr() as divisor):
            yield from ["unknown"] if _may_be_window(divisor, value) else ()
            yield from _of(inner)
        case After(operation="scale", value=LossValue(node=ast.Call() as call, module=module)) if (
            not _SCALER.search(module.call(call).name)
        ):
            yield "unknown"  # an object of which nothing is known may divide
        case After(inner=inner):
            yield from _of(inner)
        case Criterion(value=LossValue(key=None), call=call) if _LIBRARIES.match(call.name):
            yield _of_library(call)
        case Criterion(value=source) | Unfollowed(value=source):
            yield _named(source)


def _of_part(part: LossValue | Updated | None) -> Iterator[str]:
    match part:
        case None:
            yield "unknown"
        case Updated(operation="add", operand=operand):
            yield from _of(operand)
        case Updated(operation="divide", operand=operand):
            yield from ["unknown"] if _may_be_window(operand.node, operand) else ()
        case LossValue():
            yield from _of(part)


def _may_be_window(divisor: ast.expr, value: LossValue) -> bool:
    """Whether a function that returns a loss may divide it by the number of micro-batches."""
    if isinstance(divisor, ast.Constant):
        return False
    return value.returned or bool(ACCUMULATES.search(value.module.text(divisor)))


# ---- what is not followed: names tell


def _named(value: LossValue) -> str:
    """Return `named` for what is a mean by all that its name says."""
    node, module, key = value.node, value.module, value.key
    match node:
        case ast.Call() if key is not None:
            return _reduction_of_entry(node, key, module, value.name)
        case ast.Subscript(slice=ast.Constant(value=str())) if key is not None:
            return _reduction_within(node, key, module)
        case ast.Call():
            return _of_call(node, module)
        case ast.Attribute(attr=name) if key is None and is_loss_name(name):
            by_library = name == "loss" and _uses_transformers(module)
            return "named" if by_library or _is_output(node.value, module) else "unknown"
    return "unknown"


def _of_call(node: ast.Call, module: Module) -> str:
    call = module.call(node)
    if isinstance(node.func, ast.Name) and node.func.id == "sum":
        return _of_sum(node, module)
    if ":" in call.name:
        return "unknown"
    if call.method == "training_step":
        return "named"  # the return value of a LightningModule is optimized directly
    if _NAMED.search(module.text(node.func)):
        return "named"
    if _COMPUTES.search(call.method):
        return _of_criteria(node, module)
    return "named" if _runs_model(node, module) else "unknown"


def _of_criteria(node: ast.Call, module: Module) -> str:
    """Return how the criterion reduces that an unseen function gets: `get_loss(y, x, mse)`."""
    reductions = set()
    for given in (*node.args, *(k.value for k in node.keywords)):
        for binding in definitions(given, module) if identifier(given) in _CRITERIA else ():
            made, where = binding.assigned, binding.module
            if not isinstance(made, ast.Call):
                return "unknown"
            maker = where.call(made)
            known = is_criterion(maker) and _LIBRARIES.match(maker.name)
            reductions.add(_of_library(maker) if known else "unknown")
    return "named" if reductions == {"mean"} else "unknown"


def _of_sum(node: ast.Call, module: Module) -> str:
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
            return "named" if _is_output(losses, module) else "unknown"
    return "unknown"


def _of_library(call: Call) -> str:
    """Return how a loss of a library reduces, which is a mean unless it is told otherwise."""
    if call.name.endswith(".__call__"):
        match evaluate(call.node.func, call.module):
            case Instance(call=Call() as call):
                pass
            case _:
                return "unknown"
    if call.has_star or {"size_average", "reduce"} & call.bound().keys():
        return "unknown"
    reduction = fixed(call.argument("reduction") or Known("mean"))
    return str(reduction) if reduction in ("mean", "sum") else "unknown"


def _reduction_of_entry(node: ast.Call, key: str | int, module: Module, name: str) -> str:
    """Return the reduction of an entry of the output of a model of another file."""
    word = key if isinstance(key, str) else name
    told = is_loss_name(word)
    if (
        told
        and _MEANS.search(word)
        and (_runs_model(node, module) or _asks_criterion(node, module))
    ):
        return "mean"
    named = (
        (told and _runs_model(node, module))
        or (key == 0 and _uses_transformers(module) and _calls_model(node, module))
        or (key == "loss" and module.call(node).method == "training_step")
    )
    return "named" if named else "unknown"


def _reduction_within(node: ast.Subscript, key: str | int, module: Module) -> str:
    """Return the reduction of an entry of a container in a model's output: `out["losses"]["x"]`."""
    told = is_loss_name(str(key))
    return "named" if told and _is_output(node.value, module) else "unknown"


def _asks_criterion(node: ast.Call, module: Module) -> bool:
    """Whether a criterion that is not in the program is called, or that of the base class."""
    match node.func:
        case ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr="forward"):
            return True
        case ast.Attribute(value=function, attr="forward") | function:
            unseen = ":" not in module.call(node).name
            return unseen and bool(_CRITERION.search(identifier(function)))


def _is_output(node: ast.expr, module: Module) -> bool:
    """Whether it is certainly what a model returns."""
    match node:
        case ast.Call():
            return _runs_model(node, module)
        case ast.Name():
            made = definitions(node, module)
            return bool(made) and all(
                isinstance(b.assigned, ast.Call) and _runs_model(b.assigned, b.module) for b in made
            )
    return False


def _runs_model(node: ast.Call, module: Module) -> bool:
    """Whether a model is called that is no layer of a library and not in the program."""
    return _calls_model(node, module) and not _LAYERS.search(module.call(node).name)


def _calls_model(node: ast.Call, module: Module) -> bool:
    """Whether something is called that has the name of a model and is not in the program."""
    if ":" in module.call(node).name or not (node.args or node.keywords):
        return False
    match node.func:
        case ast.Attribute(value=ast.Name() | ast.Attribute() as function, attr="forward") | (
            ast.Name() | ast.Attribute() as function
        ):
            return is_model_name(last_name(function)) or _is_trained(function, module)
    return False


def _is_trained(node: ast.expr, module: Module) -> bool:
    """Whether something has parameters that the module hands to an optimizer or the like."""
    text = module.text(node)
    return any(c.method == "parameters" and c.receiver_text == text for c in module.calls)


def _uses_transformers(module: Module) -> bool:
    """Whether a module imports the library, whose models return their losses."""
    return any("transformers" in name for name in module.imported)
