"""Losses that Keras 3 knows by another name, wherever the name comes from."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.edits.node_edits import replace_node
from crosscast_reading.pysource.names.lookup import bindings_of
from crosscast_tensorflow.migration.experimental.keras.policies import Outcomes

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

OLD_LOSSES = {"huber_loss": "huber", "logcosh": "log_cosh"}
"""Name of a loss of Keras 2 to that of Keras 3."""
_DEPTH = 5
_SETTINGS = "what else reads this setting sees the new name of the loss"


def losses(module: Module, program: Program, out: Outcomes) -> None:
    """Rename losses that reach compile by name; refuse such a name elsewhere."""
    old = [node for node in module.every(ast.Constant) if _is_old(node)]
    if not old:
        return
    compiled = {
        id(node)
        for other in program.modules
        for call in other.calls
        if call.method == "compile" and call.receiver is not None
        for node in _names_of(call)
    }
    compared = any(
        isinstance(m.parent(node), ast.Compare)
        for m in program.modules
        for node in m.every(ast.Constant)
        if _is_old(node)
    )
    for node in old:
        parent = module.parent(node)
        name = str(node.value)
        new = OLD_LOSSES[name]
        if module.is_dead(node):
            continue
        if id(node) in compiled and not compared:
            out.edits.append(replace_node(module, node, f'"{new}"'))
            out.notes += [_SETTINGS] if isinstance(parent, ast.Dict) else []
        elif isinstance(parent, ast.Dict | ast.keyword | ast.Assign):
            out.refuse(
                module,
                node,
                f"if {name} is a loss of compile, Keras 3 does not know it by this name",
                f'write "{new}"',
            )


def _is_old(node: ast.Constant) -> bool:
    return isinstance(node.value, str) and node.value in OLD_LOSSES


def _names_of(call: Call) -> Iterator[ast.Constant]:
    """Yield the strings that certainly are the loss of a `compile`."""
    named = [keyword.value for keyword in call.node.keywords if keyword.arg == "loss"]
    for given in [*named, *call.node.args[1:2]][:1]:
        yield from strings_of(given, call.module, 0)


def strings_of(node: ast.expr, module: Module, depth: int = 0) -> Iterator[ast.Constant]:
    """Yield the strings that an expression has as its value, through names and calls."""
    if depth > _DEPTH:
        return
    match node:
        case ast.Constant(value=str()):
            yield node
        case ast.IfExp():
            yield from strings_of(node.body, module, depth + 1)
            yield from strings_of(node.orelse, module, depth + 1)
        case ast.Subscript(slice=ast.Constant(value=key), value=ast.Name() as owner):
            for made, where in _values(owner, module):
                if not isinstance(made, ast.Dict):
                    continue
                for name, value in zip(made.keys, made.values, strict=True):
                    if isinstance(name, ast.Constant) and name.value == key:
                        yield from strings_of(value, where, depth + 1)
        case ast.Name():
            for value, where in _values(node, module):
                yield from strings_of(value, where, depth + 1)


def _values(node: ast.Name, module: Module) -> Iterator[tuple[ast.expr, Module]]:
    """Yield what a name was given: by assignment, or by the calls of its function."""
    function = module.function_of(node)
    places = [argument.arg for argument in function.args.args] if function is not None else []
    if function is not None and node.id in places:
        place = places.index(node.id)
        defaults = function.args.defaults
        missing = len(places) - len(defaults)
        if place >= missing:
            yield defaults[place - missing], module
        for site in module.program.call_sites(module, function):
            named = [k.value for k in site.node.keywords if k.arg == node.id]
            for given in [*named, *site.node.args[place : place + 1]][:1]:
                yield given, site.module
        return
    for binding in bindings_of(node.id, node, module):
        if binding.kind == "assign" and binding.value is not None and not binding.path:
            yield binding.value, binding.scope.module
