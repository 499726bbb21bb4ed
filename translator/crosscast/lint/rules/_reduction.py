"""Reduction of a loss over its batch: mean, sum, or unknown."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Literal

from crosscast.pysource.programs.module import Module
from crosscast.pysource.syntax.nodes import walk
from crosscast.pysource.values.value import Instance, Known
from crosscast.trainstep.events import Event

Reduction = Literal["mean", "sum", "unknown"]

_LIBRARIES = ("torch.nn.", "paddle.nn.")
_LOSS = re.compile(
    r"Loss$|^(cross_entropy|nll_loss|mse_loss|l1_loss|smooth_l1_loss|huber_loss|kl_div"
    r"|binary_cross_entropy(_with_logits)?|softmax_with_cross_entropy)$"
)
_NAMED = re.compile(r"^(self\.)?(criterion|loss_fn|loss_func|loss_function|loss_fct|criteria)$")
_SUMMED = re.compile(
    r"reduction\s*=\s*['\"](sum|none)['\"]|size_average\s*=\s*False|reduce\s*=\s*False"
    r"|num_tokens|n_tokens|ntokens|num_items|sample_size|loss_sum|sum_loss|\.sum\(\)\s*/"
)
_SCALER = re.compile(r"(GradScaler|AmpScaler)\.scale$")
_MODEL = re.compile(r"(^|[._])model(\.forward)?$", re.I)
_DEPTH = 8


def reduction_of(backward: Event) -> Reduction:
    """Return how the loss of a backward pass is reduced.

    A criterion passed as an argument counts as a mean, the default of all losses of PyTorch, unless
    the program has names about sums or token counts.
    """
    found = set(_reductions(backward))
    if "sum" in found:
        return "sum"
    if found == {"mean"}:
        return "mean"
    if found == {"mean", "named"} or found == {"named"}:
        program = backward.module.program
        texts = [m.source.text for m in program.modules] if program is not None else []
        return "unknown" if any(_SUMMED.search(text) for text in texts) else "mean"
    return "unknown"


def _reductions(backward: Event) -> Iterator[str]:
    loss = loss_expression(backward)
    if loss is None:
        yield "unknown"
    else:
        yield from _of(loss, backward.module, backward.calls, 0)


def loss_expression(backward: Event) -> ast.expr | None:
    """Return the differentiated expression without the loss scale: `loss`."""
    node = backward.node
    if isinstance(node, ast.Call) and backward.library == "timm":
        return node.args[0] if node.args else None
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    loss: ast.expr = node.args[0] if node.args else node.func.value
    match loss:
        case ast.Call(func=ast.Attribute(attr="scale" | "scale_loss"), args=[inner, *_]):
            return inner
    scale = backward.context("scale_loss")
    if scale is not None and isinstance(scale.node, ast.Call) and scale.node.args:
        return scale.node.args[0]
    return loss


def _of(node: ast.expr, module: Module, calls: tuple[ast.Call, ...], depth: int) -> Iterator[str]:
    if depth > _DEPTH:
        yield "unknown"
        return
    match node:
        case ast.Name():
            yield from _of_name(node, module, calls, depth)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
            yield from _of(left, module, calls, depth + 1)
            yield from _of(right, module, calls, depth + 1)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            loss = right if isinstance(left, ast.Constant | ast.Attribute) else left
            yield from _of(loss, module, calls, depth + 1)
        case ast.BinOp(left=left, op=ast.Div()):
            yield from _of(left, module, calls, depth + 1)
        case ast.Constant():
            return
        case ast.Call():
            yield from _of_call(node, module, calls, depth)
        case ast.IfExp(body=body, orelse=orelse):
            yield from _of(body, module, calls, depth + 1)
            yield from _of(orelse, module, calls, depth + 1)
        case ast.Subscript(value=value, slice=ast.Constant(value="loss")):
            yield from _of(value, module, calls, depth + 1)
        case ast.Subscript(value=value, slice=ast.Constant(value=0)) if _is_output(value, module):
            yield "named"
        case ast.Attribute(attr="loss"):
            yield "named" if any("transformers" in name for name in module.imported) else "unknown"
        case _:
            yield "unknown"


def _of_name(
    node: ast.Name, module: Module, calls: tuple[ast.Call, ...], depth: int
) -> Iterator[str]:
    home = module.scope_of(node).lookup(node.id)
    bindings = home.bindings.get(node.id, []) if home is not None else []
    live = [binding for binding in bindings if binding.kind in ("assign", "augment", "parameter")]
    if not live or len(live) != len(bindings):
        yield "unknown"
    for binding in live:
        if binding.kind == "parameter":
            yield from _of_parameter(node.id, module, calls, depth)
        elif binding.kind == "augment" and isinstance(binding.node, ast.AugAssign):
            if isinstance(binding.node.op, ast.Add | ast.Sub):
                yield from _of(binding.node.value, module, calls, depth + 1)
        elif (
            binding.value is not None and binding.path == (0,) and _is_output(binding.value, module)
        ):
            yield "named"
        elif binding.value is None or binding.path:
            yield "unknown"
        elif not _names(binding.value, node.id):
            yield from _of(binding.value, module, calls, depth + 1)
        else:
            yield from _of_itself(binding.value, node.id, module, calls, depth)


def _is_output(node: ast.expr, module: Module, depth: int = 0) -> bool:
    """Whether it is the output of a transformers model, whose first item is a mean loss."""
    if depth > 2 or not any("transformers" in word for word in module.imported):
        return False
    match node:
        case ast.Call(func=func):
            return ":" not in module.call(node).name and bool(_MODEL.search(module.text(func)))
        case ast.Subscript(value=value, slice=ast.Slice(lower=None)):
            return _is_output(value, module, depth + 1)
        case ast.Name(id=name):
            home = module.scope_of(node).lookup(name)
            made = home.bindings.get(name, []) if home is not None else []
            values = [
                binding.value for binding in made if binding.kind == "assign" and not binding.path
            ]
            return (
                bool(made)
                and len(values) == len(made)
                and all(item is not None and _is_output(item, module, depth + 1) for item in values)
            )
    return False


def _names(value: ast.expr, name: str) -> bool:
    return any(isinstance(node, ast.Name) and node.id == name for node in walk(value))


def _of_itself(
    value: ast.expr, name: str, module: Module, calls: tuple[ast.Call, ...], depth: int
) -> Iterator[str]:
    """`loss = loss.mean()`, `loss = loss + penalty`."""
    match value:
        case ast.Call(func=ast.Attribute(attr="mean")):
            yield "mean"
        case ast.Call(func=ast.Attribute(attr="sum")):
            yield "sum"
        case ast.Call(func=ast.Attribute(attr="scale")):
            return
        case ast.BinOp(left=ast.Name(id=left), op=ast.Add(), right=right) if left == name:
            yield from _of(right, module, calls, depth + 1)
        case ast.BinOp(op=ast.Mult() | ast.Div()):
            yield "unknown"
        case _:
            yield "unknown"


def _of_parameter(
    name: str, module: Module, calls: tuple[ast.Call, ...], depth: int
) -> Iterator[str]:
    if not calls:
        yield "unknown"
        return
    call = calls[-1]
    owner = module.owner_of(call)
    given = owner.call(call).bound().get(name)
    if given is None:
        yield "unknown"
    else:
        yield from _of(given, owner, calls[:-1], depth + 1)


def _of_call(
    node: ast.Call, module: Module, calls: tuple[ast.Call, ...], depth: int
) -> Iterator[str]:
    call = module.call(node)
    last = call.name.removesuffix(".__call__").rpartition(".")[2]
    if call.name.startswith(_LIBRARIES) and _LOSS.search(last):
        yield _of_library(node, module, call.name.endswith(".__call__"))
    elif call.method in ("mean", "reduce_mean"):
        yield "mean"
    elif call.method in ("sum", "reduce_sum"):
        yield "sum"
    elif call.method == "scale" and node.args and _SCALER.search(call.name):
        yield from _of(node.args[0], module, calls, depth + 1)
    elif call.method == "training_step" and ":" not in call.name:
        yield "named"  # the return value of a LightningModule is optimized directly
    elif _NAMED.search(module.text(node.func)) and ":" not in call.name:
        yield "named"
    else:
        yield "unknown"


def _of_library(node: ast.Call, module: Module, instance: bool) -> str:
    call = module.call(node)
    if instance:
        from crosscast.pysource.programs.evaluate import evaluate

        made = evaluate(node.func, module)
        if not isinstance(made, Instance):
            return "unknown"
        call = made.call  # type: ignore[assignment]
    if call.has_star or {"size_average", "reduce"} & call.bound().keys():
        return "unknown"
    given = call.argument("reduction")
    if given is None:
        return "mean"
    if isinstance(given, Known) and not given.flag and given.value in ("mean", "sum"):
        return str(given.value)
    return "unknown"
