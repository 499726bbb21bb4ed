"""Tensors of Paddle that had one element in one dimension before 2.5 and have none since."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from crosscast_reading.pysource.names.lookup import bindings_of
from crosscast_reading.pysource.programs.module import Module

_LOSSES = (
    "cross_entropy",
    "mse_loss",
    "l1_loss",
    "smooth_l1_loss",
    "nll_loss",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "kl_div",
    "margin_ranking_loss",
)
_LAYERS = (
    "CrossEntropyLoss",
    "MSELoss",
    "L1Loss",
    "SmoothL1Loss",
    "NLLLoss",
    "BCELoss",
    "BCEWithLogitsLoss",
    "KLDivLoss",
    "MarginRankingLoss",
)
REDUCTIONS = ("mean", "sum", "max", "min", "prod", "std", "var", "median")
WHOLE = {
    **{f"paddle.{name}": 1 for name in REDUCTIONS},
    **{f"paddle.nn.functional.{name}": 2 for name in _LOSSES},
    "paddle.metric.accuracy": 5,
}
"""Function and how many positional arguments leave it a scalar."""
LAYERS = tuple(f"paddle.nn.{name}" for name in _LAYERS)
_KEPT = ("mean", "sum")


def is_scalar(node: ast.expr, module: Module) -> bool:
    """Whether an expression is certainly a tensor without dimensions in Paddle 3."""
    if isinstance(node, ast.Call):
        return _made_by(node, module)
    if not isinstance(node, ast.Name):
        return False
    found = list(bindings_of(node.id, node, module))
    if found and all(
        binding.assigned is not None
        and not isinstance(binding.assigned, ast.Name)
        and is_scalar(binding.assigned, module)
        for binding in found
    ):
        return True
    return bool(found) and _is_differentiated(node, module)


def _made_by(call: ast.Call, module: Module) -> bool:
    names = module.call(call).names
    if len(names) != 1 or any(isinstance(argument, ast.Starred) for argument in call.args):
        return False
    name = names[0]
    if name.removesuffix(".__call__").removesuffix(".forward") in LAYERS and name not in LAYERS:
        maker = _maker(call, module)
        return maker is not None and _reduces(maker)
    return name in WHOLE and len(call.args) <= WHOLE[name] and _reduces(call)


def _maker(call: ast.Call, module: Module) -> ast.Call | None:
    """Return the call that made the loss layer that is called."""
    layer = call.func
    if isinstance(layer, ast.Name):
        found = list(bindings_of(layer.id, layer, module))
        assigned = found[0].assigned if len(found) == 1 else None
        return assigned if isinstance(assigned, ast.Call) else None
    return layer if isinstance(layer, ast.Call) else None


def _reduces(call: ast.Call) -> bool:
    """Whether nothing among the keywords of a call keeps a dimension."""
    for keyword in call.keywords:
        value = keyword.value
        given = value.value if isinstance(value, ast.Constant) else Ellipsis
        if keyword.arg is None or (keyword.arg == "axis" and given is not None):
            return False
        if keyword.arg == "keepdim" and given is not False:
            return False
        if keyword.arg == "reduction" and given not in _KEPT:
            return False
    return True


def _is_differentiated(node: ast.Name, module: Module) -> bool:
    """Whether `backward()` is called on the name in its function, or on the scaled name."""
    function = module.function_of(node)
    return any(
        call.method == "backward"
        and not call.node.args
        and module.function_of(call.node) is function
        and node.id in _losses(call.receiver, module)
        for call in module.calls
    )


def _losses(node: ast.expr | None, module: Module) -> Iterator[str]:
    """Yield the names a loss goes by: that of `scaled`, and `loss` of `scaler.scale(loss)`."""
    match node:
        case ast.Name(id=name):
            yield name
            for binding in bindings_of(name, node, module):
                if isinstance(binding.assigned, ast.Call):
                    yield from _losses(binding.assigned, module)
        case ast.Call(func=ast.Attribute(attr="scale"), args=[ast.Name(id=name)], keywords=[]):
            yield name
