"""Casts of tensors: `x.float()`, `x.to(y.dtype)`, `cast(x, "float32")`."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from typing import Literal

from crosscast_reading.pysource.libraries.precision_words import MixedPrecision
from crosscast_reading.pysource.programs.module import Module
from crosscast_reading.trainstep.tensors.scope import ForwardScope
from crosscast_reading.trainstep.tensors.tensor import Mark, Place, Tensor

CastType = Literal["float32", "half", "other", "none"]
"""none: no cast, as to another device."""
_METHODS = frozenset({"to", "type", "astype", "type_as", "cast"})
_FIXED: dict[str, CastType] = {
    "float": "float32",
    "half": "half",
    "bfloat16": "half",
    "double": "other",
    **dict.fromkeys(("long", "int", "bool", "byte", "short", "item", "tolist", "numpy"), "other"),
}
_DEVICE = re.compile(r"device|cuda|gpu|cpu|rank|memory_format|non_blocking", re.I)


def target_of_method(node: ast.Call, module: Module, table: MixedPrecision) -> CastType:
    """Return the type that a method of a tensor casts to."""
    if not isinstance(node.func, ast.Attribute):
        return "none"
    if node.func.attr in _FIXED and not node.args:
        return _FIXED[node.func.attr]
    if node.func.attr not in _METHODS:
        return "none"
    given = [*node.args, *(k.value for k in node.keywords if k.arg in ("dtype", "device", "other"))]
    targets = {target_type(each, module, table) for each in given} - {"none"}
    return targets.pop() if len(targets) == 1 else ("other" if targets else "none")


def target_type(node: ast.expr, module: Module, table: MixedPrecision) -> CastType:
    """Return the type that an argument of a cast names."""
    text = node.value if isinstance(node, ast.Constant) else module.resolve(node)
    if isinstance(text, str) and text:
        if re.fullmatch(table.float32, text):
            return "float32"
        if re.fullmatch(table.half_types, text):
            return "half"
    return "none" if _DEVICE.search(module.text(node)) else "other"


def cast(tensor: Tensor, target: CastType, node: ast.Call, scope: ForwardScope) -> Tensor:
    """Return a tensor after a cast."""
    whole = tensor.whole
    if target == "none":
        return whole
    kept = frozenset(mark for mark in whole.marks if mark.cause in ("scores", "weights"))
    if target == "half":
        return replace(whole, half=whole.moves, marks=kept)
    if target == "float32" and scope.half and whole.half:
        mark = Mark("cast", Place(node, scope.module))
        return Tensor(moves=True, marks=kept | {mark})
    if target == "float32":
        return replace(whole, half=False)
    return replace(whole, half=False, marks=kept)
