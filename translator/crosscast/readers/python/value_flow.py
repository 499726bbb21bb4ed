"""The expressions that a value is computed from, with names followed to their assignments."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from crosscast.pysource.names.containers import definitions
from crosscast.pysource.syntax.nodes import identifier

if TYPE_CHECKING:
    from crosscast.pysource.programs.module import Module
    from crosscast.pysource.programs.scopes import Binding

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
    found: list[Part] = []
    seen: set[ast.AST] = set()
    queue: list[tuple[ast.AST, Module, int]] = [(node, module, 0)]
    while queue and len(found) < _MOST:
        here, where, hops = queue.pop()
        if here in seen:
            continue
        seen.add(here)
        found.append((here, where))
        if isinstance(here, ast.Call) and enters is not None and not enters(here, where):
            continue
        queue += [(inner, where, hops) for inner in _children(here)]
        if hops < _HOPS:
            queue += [(n, m, hops + 1) for n, m in _behind(here, where)]
    return found


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
            program = binding.module.program
            if program is not None:
                yield from program.arguments_for(binding, getattr(binding.node, "arg", ""))
            continue
        value = value_in(binding)
        if value is None:
            continue
        if binding.kind == "assign" and binding.path and isinstance(value, ast.Call):
            items = [_at(v, binding.path[0]) for v, _ in _returned(value, binding.module)]
            if items and all(item is not None for item in items):
                owner = binding.module
                yield from ((i, owner.owner_of(i)) for i in items if i is not None)
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
    """Yield what is added to a list: `items.append(item)`."""
    module = binding.module
    text = module.text(node)
    for call in module.calls:
        if call.method not in _PUTS or call.receiver_text != text or len(call.node.args) != 1:
            continue
        home = binding.scope if isinstance(node, ast.Name) else None
        if home is None or module.scope_of(call.node).lookup(text) is home:
            yield call.node.args[0], module


def _dependencies(node: ast.AST, module: Module) -> Iterator[tuple[ast.expr, Module]]:
    """Yield what an operation without a value waits for: `with tf.control_dependencies(x):`."""
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
    if isinstance(value, ast.Tuple) and place < len(value.elts):
        return value.elts[place]
    return None


def _returned(node: ast.Call, module: Module) -> Iterator[tuple[ast.expr, Module]]:
    program = module.program
    found = program.function(module.call(node)) if program is not None else None
    scope = found[0].scopes.get(found[1]) if found is not None else None
    for returned in scope.returns if scope is not None else ():
        if returned.value is not None and found is not None:
            yield returned.value, found[0]


def value_in(binding: Binding) -> ast.expr | None:
    """Return the expression that gives a name its value; None if there is none."""
    if binding.kind == "loop":
        return _item(binding.value, binding.path)
    if binding.kind in ("assign", "with"):
        return binding.value
    if binding.kind == "augment" and isinstance(binding.node, ast.AugAssign):
        return binding.node.value
    return None


def _item(iterated: ast.expr | None, path: tuple[int, ...]) -> ast.expr | None:
    """Return the iterable that an item of `enumerate` and `zip` comes from.

    Args:
        iterated: what the loop runs over.
        path: the item's position in the loop's target.
    """
    while isinstance(iterated, ast.Call) and isinstance(iterated.func, ast.Name):
        name, given = iterated.func.id, iterated.args
        if name == "enumerate" and path and given:
            if path[0] == 0:
                return None  # the counter
            iterated, path = given[0], path[1:]
        elif name == "zip" and path and path[0] < len(given):
            if any(isinstance(argument, ast.Starred) for argument in given):
                return iterated
            iterated, path = given[path[0]], path[1:]
        elif name in _SAME and given:
            iterated = given[0]
        else:
            return iterated
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
