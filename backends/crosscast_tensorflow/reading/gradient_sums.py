"""Sums of gradients over micro-batches in TensorFlow: found by where values come from and go.

A sum is a variable (or a list of them) to which gradients are added and which an optimizer gets
instead of the gradients: in a loop, in a model's `train_step`, in an optimizer that wraps another
one, in a helper class, or in a graph.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.syntax.nodes import identifier, walk
from crosscast_reading.readers.python.library_calls import calls_of, canonical
from crosscast_reading.readers.python.value_flow import flow_of, root_of
from crosscast_reading.trainstep.walk.gradient_sums import ACCUMULATOR

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_COMPUTES = frozenset(
    {
        *("gradient", "gradients", "compute_gradients", "get_gradients", "_compute_gradients"),
        *("get_unscaled_gradients",),
    }
)
_NAMED = re.compile(r"(\w+_)?(grads?|gradients?|gvs?)(_and_vars?(iables)?|_list|_vars)?", re.I)
_APPLIES = frozenset({"apply_gradients", "apply_gradient"})
_ADDS = frozenset({"assign_add", "update_add"})
_SETS = frozenset({"assign", "update"})
_WEIGHTS = re.compile(
    r"(self\.)?_?(params?|weights?|variables?|vars|var_list|t_?vars|trainable\w*|p|v|var|moments?)"
)
_INDEX: WeakKeyDictionary[Program, tuple[GradientSum, ...]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True, kw_only=True)
class GradientSum:
    """A variable that gradients are added to, and that is applied in their place."""

    node: ast.AST
    """Where they are added."""
    module: Module
    added: ast.expr
    root: str
    """The variable as it is written: `self.totals`."""
    applied: Call | None
    """The call that applies it; None if the optimizer class itself does, in `get_updates`."""
    place: tuple[ast.AST, Module]
    """Where the program adds: `node`, or the call of the helper class that holds it."""
    also: tuple[Call, ...] = ()
    """Further calls that apply it, in other modes of the program."""

    @property
    def every(self) -> tuple[Call, ...]:
        """All calls that apply it."""
        return (self.applied, *self.also) if self.applied is not None else self.also


def gradient_sums(program: Program) -> tuple[GradientSum, ...]:
    """Return the sums of gradients of a program, in the order of the text."""
    sums = _INDEX.get(program)
    if sums is None:
        sums = _INDEX[program] = tuple(_find(program))
    return sums


def computes_gradients(node: ast.AST) -> bool:
    """Whether a node is a call that returns gradients."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _COMPUTES
    )


def gradient_flow(node: ast.expr, module: Module) -> list[tuple[ast.AST, Module]]:
    """Return the operations on gradients before an expression, without the loss behind them."""
    return flow_of(node, module, lambda call, _: not (computes_gradients(call) or _updates(call)))


def _updates(node: ast.Call) -> bool:
    """Whether a call changes the weights: what it returns is no gradient."""
    return identifier(node.func) in _APPLIES | {"minimize"}


def clips_before(
    total: GradientSum, clips: Collection[ast.AST]
) -> Iterator[tuple[ast.expr, Module]]:
    """Yield those clips whose results are added to a sum."""
    for part, module in gradient_flow(total.added, total.module):
        if isinstance(part, ast.expr) and part in clips:
            yield part, module


def _find(program: Program) -> Iterator[GradientSum]:
    applying = [call for _, call in calls_of(program) if call.method in _APPLIES]
    updating = any("get_updates" in m.source.text for m in program.modules)
    if not applying and not updating:
        return
    additions = {addition[0]: addition for addition in _additions(program)}
    for node, module, root, added in additions.values():
        if not root or not _is_gradient(added, module):
            continue
        all_applied = [call for call in applying if _gets(call, root, node, module)]
        applied = next(iter(all_applied), None)
        if applied is None and not _updates_itself(node, module, root):
            continue
        yield GradientSum(
            node=node,
            module=module,
            added=added,
            root=root,
            applied=applied,
            place=_place(node, module, applied, program),
            also=tuple(all_applied[1:]),
        )


def _additions(program: Program) -> Iterator[tuple[ast.AST, Module, str, ast.expr]]:
    """Yield where something is added to a variable: the place, the variable, what is added."""
    for name, call in calls_of(program):
        fed = _fed(call)
        if fed is not None:
            yield fed
        assigned = _assigned(name, call)
        if assigned is None:
            continue
        target, value = assigned
        root = root_of(target, call.module)
        if call.method in _ADDS:
            yield call.node, call.module, root, value
        else:
            added = _other_operand(flow_of(value, call.module), root)
            if added is not None:
                yield call.node, call.module, root, added
    for module in program.modules:
        for node in module.nodes:
            match node:
                case ast.AugAssign(value=ast.List() | ast.Tuple()):
                    continue  # further items of a list
                case ast.AugAssign(target=target, op=ast.Add(), value=value):
                    root = root_of(_unsubscripted(target), module)
                    if not _is_item(target, module):
                        yield node, module, root, value
                case ast.Assign(targets=[ast.Name() | ast.Attribute() | ast.Subscript() as target]):
                    root = module.text(_unsubscripted(target))
                    parts = [(inner, module) for inner in walk(node.value)]
                    added = _other_operand(parts, root)
                    if added is not None:
                        yield node, module, root, added


def _fed(call: Call) -> tuple[ast.AST, Module, str, ast.expr] | None:
    """Return the sum behind `accumulator(gradients)` of a class of another file."""
    module, program = call.module, call.module.program
    match call.node:
        case ast.Call(func=function, args=[added]):
            pass
        case _:
            return None
    assert program is not None
    if not ACCUMULATOR.search(identifier(function)) or program.function(call):
        return None
    return call.node, module, f"{module.text(function)}.gradients", added


def _assigned(name: str, call: Call) -> tuple[ast.expr, ast.expr] | None:
    """Return variable and value of `v.assign_add(x)`, `tf.assign(v, x)`, `K.update(v, x)`."""
    if call.method not in _ADDS | _SETS:
        return None
    library = canonical(name).startswith(("tensorflow.", "keras.backend."))
    match call.node:
        case ast.Call(args=[variable, value, *_]) if library:
            return variable, value
        case ast.Call(func=ast.Attribute(value=variable, attr=method), args=[value, *_]):
            return (variable, value) if method != "update" else None
    return None


def _is_item(target: ast.expr, module: Module) -> bool:
    """Whether a target is the variable of a loop, which changes nothing that it runs over."""
    if not isinstance(target, ast.Name):
        return False
    return any(binding.kind == "loop" for binding in definitions(target, module))


def _unsubscripted(node: ast.expr) -> ast.expr:
    """Return the variable of `totals[i]`."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node


def _other_operand(parts: list[tuple[ast.AST, Module]], root: str) -> ast.expr | None:
    """Return the operand added to a variable in an expression: `g` of `[a + g for a, g in ...]`."""
    for node, where in parts:
        match node:
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                pair = (left, right)
            case ast.Call(func=ast.Attribute(attr="add"), args=[left, right]):
                pair = (left, right)
            case _:
                continue
        for mine, other in (pair, pair[::-1]):
            if root in (root_of(mine, where), where.text(mine)):
                return other
    return None


def _is_gradient(node: ast.expr, module: Module) -> bool:
    """Whether an expression is a gradient, not a square, a norm or a step computed from one."""
    match node:
        case ast.BinOp(op=ast.Pow()):
            return False
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            if root_of(left, module) == root_of(right, module):
                return False
    for part, where in gradient_flow(node, module):
        if computes_gradients(part):
            return True
        if isinstance(part, ast.Name) and _NAMED.fullmatch(part.id) and _is_given(part, where):
            return True
    return False


def _is_given(node: ast.Name, module: Module) -> bool:
    """Whether a name is a parameter, or nothing in the file says what it is."""
    scope = module.scope_of(node).lookup(node.id)
    bindings = scope.bindings.get(node.id, []) if scope is not None else []
    return not bindings or any(binding.kind == "parameter" for binding in bindings)


def _gets(call: Call, root: str, node: ast.AST, module: Module) -> bool:
    """Whether an optimizer gets a sum: the variable, or a property of the class that holds it."""
    owner = module.class_of(node)
    holder = f"{module.source.name}:{module.qualname(owner)}" if owner is not None else ""
    given = [*call.node.args, *(keyword.value for keyword in call.node.keywords)]
    for argument in given[:1]:
        for part, where in flow_of(argument, call.module):
            if not isinstance(part, ast.Name | ast.Attribute):
                continue
            same = where is module and root in (where.text(part), root_of(part, where))
            if same and not _is_namesake(part, root, node, module):
                return True
            match part:
                case ast.Attribute(value=of, attr=name) if holder and "grad" in name:
                    if holder in where.resolve_all(of):
                        return True
    return False


def _is_namesake(part: ast.AST, root: str, node: ast.AST, module: Module) -> bool:
    """Whether two functions only use the same name for variables of their own."""
    scopes = [module.scope_of(place).lookup(root) for place in (part, node)]
    if scopes[0] is scopes[1]:
        return False
    bound = [binding for scope in scopes if scope for binding in scope.bindings.get(root, ())]
    return all(binding.kind != "parameter" for binding in bound)


def _updates_itself(node: ast.AST, module: Module, root: str) -> bool:
    """Whether an optimizer of Keras adds to a sum in `get_updates`, and resets it there."""
    function = module.function_of(node)
    owner = module.class_of(node)
    if function is None or owner is None or function.name != "get_updates":
        return False
    if not any(module.text(base).endswith("Optimizer") for base in owner.bases):
        return False
    text = module.text(node)
    resets = re.search(r"switch|\* ?0\b|where|1 ?- ?\w+|1\.0? ?- ?\w+", text)
    counts = any(
        isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Mod) for inner in walk(owner)
    )
    return bool(resets) and counts and not _WEIGHTS.fullmatch(root)


def _place(
    node: ast.AST, module: Module, applied: Call | None, program: Program
) -> tuple[ast.AST, Module]:
    """Return where the program adds: the call of a helper class, if another class applies."""
    function, owner = module.function_of(node), module.class_of(node)
    if function is None or owner is None or applied is None:
        return node, module
    if module.class_of(applied.node) is owner:
        return node, module
    name = f"{module.source.name}:{module.qualname(function)}"
    sites = [call for callee, call in calls_of(program) if callee == name]
    return (sites[0].node, sites[0].module) if sites else (node, module)
