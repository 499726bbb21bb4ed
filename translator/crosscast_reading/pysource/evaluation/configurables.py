"""Parameters of functions that gin configures: their bindings and defaults."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from crosscast_reading.pysource.values.value import Known, Unknown, Value

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program
    from crosscast_reading.pysource.programs.scopes import Binding

_DECORATORS = ("gin.configurable", "gin.tf.configurable", "gin.config.configurable")


def configured(binding: Binding, default: Value | None, program: Program) -> Value | None:
    """Return the value of a parameter that no call gives; None if gin does not configure it.

    Args:
        binding: of the parameter.
        default: the value of its default.
        program: with the bindings of the files given.
    """
    name = _configurable(binding)
    if not name or not isinstance(binding.node, ast.arg):
        return None
    key = f"{name}.{binding.node.arg}"
    bound = program.settings.get(key)
    if isinstance(bound, Known):
        return Known(bound.value, "config", key)
    if bound is not None:
        return bound
    if isinstance(default, Known):
        return Known(default.value, "config", key)
    return Unknown(key, f"gin sets {key}", "config", names=(key,))


def _configurable(binding: Binding) -> str:
    """Return the name by which gin knows the function of a parameter; empty if it does not."""
    scope, module = binding.scope, binding.module
    node = scope.node
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return ""
    owner = scope.parent
    if node.name == "__init__" and owner is not None and isinstance(owner.node, ast.ClassDef):
        return _named(owner.node, module)
    return _named(node, module)


def _named(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, module: Module) -> str:
    for decorator in node.decorator_list:
        call = decorator if isinstance(decorator, ast.Call) else None
        if module.resolve(call.func if call is not None else decorator) not in _DECORATORS:
            continue
        given = [*call.args[:1]] if call is not None else []
        given += [k.value for k in call.keywords if k.arg == "name"] if call is not None else []
        if given and isinstance(given[0], ast.Constant) and isinstance(given[0].value, str):
            return given[0].value.rpartition(".")[2]
        return node.name
    return ""
