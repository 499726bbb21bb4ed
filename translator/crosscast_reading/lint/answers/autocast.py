"""Arguments of autocast contexts."""

from __future__ import annotations

import ast

from crosscast_reading.facts.vocabulary import HALVES
from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.pysource.programs.scopes import Binding
from crosscast_reading.pysource.values.value import Known, Symbol
from crosscast_reading.readers.python.library_calls import fixed
from crosscast_reading.readers.words import TYPES
from crosscast_reading.trainstep.events import Context

_DEPTH = 8
"""Most expressions on the way to the name of a device."""


def dtype_of(context: Context, *, defaults: bool = False, module: Module | None = None) -> str:
    """Return `float16` or `bfloat16`; empty for another or an uncertain dtype.

    Args:
        context: a region of autocast.
        defaults: whether the default of a flag decides; otherwise it leaves the dtype open.
        module: where it stands; if given, the device is that of a machine with CUDA.
    """
    given = context.detail.get("dtype", Known(None))
    match given:
        case Known(value=None):
            return _default(context, module)
        case Symbol(name=word) | Known(value=word, flag=""):
            pass
        case Known(value=word) if defaults:
            pass
        case _:
            return ""
    dtype = TYPES.get(str(word).removeprefix("torch.").removeprefix("paddle."), "")
    return dtype if dtype in HALVES else ""


def _default(context: Context, module: Module | None) -> str:
    if context.name.startswith(("torch.cuda.amp.", "paddle.amp.")):
        return "float16"
    if context.name in ("torch.autocast", "torch.amp.autocast"):
        device = device_of(context) or (_where_available(context, module) if module else "")
        return {"cuda": "float16", "cpu": "bfloat16"}.get(device, "")
    return ""


def _where_available(context: Context, module: Module) -> str:
    """Return the device type that a program chooses where there is CUDA; empty if unknown."""
    match context.node:
        case ast.Call() as node:
            return _chosen(module.call(node).bound().get("device_type"), module, False)
    return ""


def _chosen(node: ast.expr | None, module: Module, available: bool, depth: int = 0) -> str:
    """Follow `str(torch.device("cuda:0" if torch.cuda.is_available() else "cpu"))`.

    `available`: whether it is within the branch for CUDA; outside, nothing is known.
    """
    if depth > _DEPTH:
        return ""
    match node:
        case ast.Constant(value=str() as text):
            return text.partition(":")[0] if available else ""
        case ast.IfExp(test=test, body=inner) if _asks_for_cuda(test, module):
            return _chosen(inner, module, True, depth + 1)
        case ast.Attribute(value=inner, attr="type"):
            return _chosen(inner, module, available, depth + 1)
        case ast.Call(func=ast.Name(id="str"), args=[inner]):
            return _chosen(inner, module, available, depth + 1)
        case ast.Call(args=[inner]) if module.call(node).name == "torch.device":
            return _chosen(inner, module, available, depth + 1)
        case ast.Call(func=ast.Attribute(attr="get"), args=[_, default]):
            return _chosen(default, module, available, depth + 1)
        case ast.Name():
            match definitions(node, module):
                case [Binding(assigned=ast.expr() as value, module=where)]:
                    return _chosen(value, where, available, depth + 1)
    return ""


def _asks_for_cuda(test: ast.expr, module: Module) -> bool:
    return isinstance(test, ast.Call) and module.call(test).name == "torch.cuda.is_available"


def device_of(context: Context) -> str:
    """Return the device type of `torch.autocast`; empty if it is not certain."""
    if context.name.startswith("torch.cuda.amp."):
        return "cuda"
    match context.detail.get("device_type"):
        case Known(value=str(device), flag=""):
            return device.partition(":")[0]
    return ""


def is_on(context: Context) -> bool:
    """Whether the context is not certainly disabled."""
    given = context.detail.get("enabled", context.detail.get("enable"))
    return fixed(given) is not False


def always_on(context: Context) -> bool:
    """Whether the context is certainly enabled."""
    given = context.detail.get("enabled", context.detail.get("enable", Known(True)))
    return not context.guards and fixed(given) is True
