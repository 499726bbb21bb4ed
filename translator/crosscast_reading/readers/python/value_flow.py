"""The expressions that a value is computed from, with names followed to their assignments."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.programs.scopes import Binding
from crosscast_reading.pysource.syntax.nodes import identifier

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module

Part = tuple[ast.AST, "Module"]
Enters = Callable[[ast.Call, "Module"], bool]

_MOST = 1500
_HOPS = 14
_PUTS = frozenset({"append", "extend"})
_SAME = frozenset({"list", "tuple", "reversed", "sorted"})


def flow_of(node: ast.expr, module: Module, enters: Enters | None = None) -> list[Part]:
    """Return the nodes of an expression and of everything that its names are computed from.

    Names are followed through assignments, loops (`zip` and `enumerate` item by item), attributes
    of instances, items put into lists, arguments of functions and return values of the program.

    Args:
        node: the expression.
        module: its module.
        enters: whether the arguments of a call belong to the flow; all do by default.
    """
    parts: list[Part] = []
    seen: set[ast.AST] = set()
    queue: list[tuple[ast.AST, Module, int]] = [(node, module, 0)]
    while queue and len(parts) < _MOST:
        here, where, hops = queue.pop()
        if here in seen:
            continue
        seen.add(here)
        parts.append((here, where))
        if isinstance(here, ast.Call) and enters is not None and not enters(here, where):
            continue
        queue += [(inner, where, hops) for inner in _children(here)]
        if hops < _HOPS:
            queue += [(n, m, hops + 1) for n, m in _behind(here, where)]
    return parts


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a node; a comprehension's iterables are reached through its names."""
    if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp):
        yield node.elt
        return
    yield from ast.iter_child_nodes(node)


def _behind(node: ast.AST, module: Module) -> Iterator[tuple[ast.expr, Module]]:
    """Yield the expressions that a name, an attribute or a call of the program stands for."""
    if isinstance(node, ast.Call):
        yield from _returned(node, module)
        if identifier(node.func) == "no_op":
            yield from _dependencies(node, module)
        return
    if not isinstance(node, ast.Name | ast.Attribute) or not isinstance(node.ctx, ast.Load):
        return
    for binding in definitions(node, module):
        if binding.kind == "parameter":
            yield from module.program.arguments_for(binding)
            continue
        value = value_in(binding)
        if value is None:
            continue
        if binding.kind == "assign" and binding.path and isinstance(value, ast.Call):
            items = [_at(v, binding.path[0]) for v, _ in _returned(value, binding.module)]
            whole = [item for item in items if item is not None]
            if items and whole == items:
                yield from ((item, module.owner_of(item)) for item in whole)
                continue
        yield value, binding.module
        path = binding.path[:1] if binding.kind == "assign" else ()
        begun = _at(value, path[0]) if path else value
        if begun is not None and _is_empty(begun):
            yield from _put_into(node, binding)


def _is_empty(value: ast.expr) -> bool:
    """Whether a list begins without items."""
    match value:
        case ast.List(elts=[]) | ast.Call(func=ast.Name(id="list"), args=[], keywords=[]):
            return True
    return False


def _put_into(
    node: ast.Name | ast.Attribute, binding: Binding
) -> Iterator[tuple[ast.expr, Module]]:
    """Yield the values that are added to a list: `items.append(item)`."""
    module = binding.module
    text = module.text(node)
    for call in module.calls:
        if call.method not in _PUTS or call.receiver_text != text:
            continue
        home = binding.scope if isinstance(node, ast.Name) else None
        if home is None or module.scope_of(call.node).lookup(text) is home:
            yield from ((given, module) for given in call.node.args)


def _dependencies(node: ast.AST, module: Module) -> Iterator[tuple[ast.expr, Module]]:
    """Yield the inputs an operation with no value waits for: `with tf.control_dependencies(x):`."""
    around = module.enclosing(node, ast.With)
    while isinstance(around, ast.With):
        for item in around.items:
            match item.context_expr:
                case ast.Call(func=function, args=[given]):
                    if identifier(function) == "control_dependencies":
                        yield given, module
        around = module.enclosing(around, ast.With)


def _at(value: ast.expr, place: int) -> ast.expr | None:
    """Return one item of a returned tuple; None if it is not written as one."""
    elements = value.elts if isinstance(value, ast.Tuple) else []
    return next(iter(elements[place : place + 1]), None)


def _returned(node: ast.Call, module: Module) -> Iterator[tuple[ast.expr, Module]]:
    match module.program.function(module.call(node)):
        case (where, function):
            scope = where.scopes.get(function)
            for returned in getattr(scope, "returns", ()):
                if returned.value is not None:
                    yield returned.value, where


def value_in(binding: Binding) -> ast.expr | None:
    """Return the expression that gives a name its value; None if there is none."""
    match binding:
        case Binding(kind="loop"):
            return _item(binding.value, binding.path)
        case Binding(kind="assign" | "with"):
            return binding.value
        case Binding(kind="augment", node=ast.AugAssign(value=value)):
            return value
    return None


def _item(iterated: ast.expr | None, path: tuple[int, ...]) -> ast.expr | None:
    """Return the iterable that an item of `enumerate` and `zip` comes from.

    Args:
        iterated: what the loop runs over.
        path: the item's position in the loop's target.
    """
    while True:
        match iterated, path:
            case ast.Call(func=ast.Name(id="enumerate")), (0, *_):
                return None  # the counter
            case ast.Call(func=ast.Name(id="enumerate"), args=[rows, *_]), (_, *rest):
                iterated, path = rows, tuple(rest)
            case ast.Call(func=ast.Name(id="zip"), args=[ast.Starred(), *_]), _:
                return iterated
            case ast.Call(func=ast.Name(id="zip"), args=given), (place, *rest) if place < len(
                given
            ):
                iterated, path = given[place], tuple(rest)
            case ast.Call(func=ast.Name(id=name), args=[rows, *_]), _ if name in _SAME:
                iterated = rows
            case _:
                return iterated


def root_of(node: ast.AST, module: Module) -> str:
    """Return the variable that an expression is an item or the value of; empty if it is none.

    `total` of `for total, g in zip(self.totals, grads)` and `self.totals[i]` are `self.totals`.
    """
    for _ in range(_HOPS):
        if isinstance(node, ast.Subscript | ast.Starred):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr not in ("value", "read_value") or node.args:
                return ""
            node = node.func.value
        elif isinstance(node, ast.Attribute):
            return module.text(node)
        elif isinstance(node, ast.Name):
            bound = [b for b in definitions(node, module) if b.kind != "parameter"]
            aliases = [value_in(binding) for binding in bound[:1]]
            following = aliases[0] if aliases else None
            is_item = bool(bound) and bound[0].kind == "loop"
            if not isinstance(following, ast.Name | ast.Attribute | ast.Subscript):
                return node.id
            if not is_item and len(bound) > 1:
                return node.id
            node, module = following, bound[0].module
        else:
            return ""
    return ""
