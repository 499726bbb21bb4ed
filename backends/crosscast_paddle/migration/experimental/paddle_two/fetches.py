"""Results of `Executor.run` that are scalars: arrays that had one element and have no dimension."""

from __future__ import annotations

import ast

from crosscast_paddle.migration.experimental.paddle_two.scalars import is_scalar
from crosscast_reading.pysource.names.lookup import bindings_of
from crosscast_reading.pysource.programs.module import Module

_PLACE = 2
"""Of fetch_list among the positional arguments of `Executor.run`."""


def is_fetched_scalar(node: ast.expr, module: Module, *, minimized: bool) -> bool:
    """Whether an expression is certainly the array of a scalar that `Executor.run` returned.

    Args:
        node: the expression.
        module: its module.
        minimized: whether a variable counts as a scalar because an optimizer minimizes it.
    """
    variable = _fetched(node, module)
    if isinstance(variable, ast.Attribute) and variable.attr == "name":
        variable = variable.value
    if variable is None:
        return False
    return is_scalar(variable, module) or (minimized and _is_minimized(variable, module))


def _fetched(node: ast.expr, module: Module) -> ast.expr | None:
    """Return the variable whose array an expression is: `run(fetch_list=[x])[0]`, or a name."""
    if isinstance(node, ast.Subscript):
        place = node.slice.value if isinstance(node.slice, ast.Constant) else None
        return _item(_run(node.value, module), place, module)
    if not isinstance(node, ast.Name):
        return None
    found = list(bindings_of(node.id, node, module))
    if len(found) != 1 or found[0].kind != "assign" or found[0].value is None:
        return None
    if found[0].path:
        place = found[0].path[0] if len(found[0].path) == 1 else None
        return _item(_run(found[0].value, module), place, module)
    value = found[0].value
    return _fetched(value, module) if isinstance(value, ast.Subscript) else None


def _run(node: ast.expr, module: Module) -> ast.Call | None:
    """Return the call `executor.run(...)` that an expression is, or that a name is assigned."""
    if isinstance(node, ast.Name):
        found = list(bindings_of(node.id, node, module))
        value = found[0].assigned if len(found) == 1 else None
        return _run(value, module) if isinstance(value, ast.Call) else None
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    return node if node.func.attr == "run" else None


def _item(call: ast.Call | None, place: object, module: Module) -> ast.expr | None:
    """Return what stands at a place of the fetch_list of a call that returns arrays."""
    if call is None or not isinstance(place, int):
        return None
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    plain = given.get("return_numpy")
    if None in given or not (plain is None or module.text(plain) == "True"):
        return None
    fetched = fetch_list(call, module)
    if not isinstance(fetched, ast.List | ast.Tuple) or not 0 <= place < len(fetched.elts):
        return None
    starred = any(isinstance(item, ast.Starred) for item in fetched.elts[: place + 1])
    return None if starred else fetched.elts[place]


def fetch_list(call: ast.Call, module: Module) -> ast.expr | None:
    """Return the list that `executor.run(...)` is given, or that its name has."""
    fetched = next((k.value for k in call.keywords if k.arg == "fetch_list"), None)
    if fetched is None and len(call.args) > _PLACE:
        fetched = call.args[_PLACE]
    if not isinstance(fetched, ast.Name):
        return fetched
    found = list(bindings_of(fetched.id, fetched, module))
    return found[0].assigned if len(found) == 1 else None


def _is_minimized(variable: ast.expr, module: Module) -> bool:
    """Whether an optimizer minimizes exactly this variable, which must have one element."""
    if not isinstance(variable, ast.Name):
        return False
    home = module.scope_of(variable).lookup(variable.id)
    return any(
        call.method == "minimize"
        and bool(call.node.args)
        and isinstance(loss := call.node.args[0], ast.Name)
        and loss.id == variable.id
        and module.scope_of(loss).lookup(loss.id) is home
        for call in module.calls
    )
