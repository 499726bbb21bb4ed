"""Follows a loss from where it is differentiated back to what computes it, one hop at a time.

`origin` says where a value comes from: the loss of a library, several values of which one arrives,
a sum, or another value after an operation. Those who ask decide what that means: lift wants to know
which loss it is, lint whether it is a mean.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from crosscast_reading.pysource.names.containers import definitions, entry
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.programs.evaluate import evaluate
from crosscast_reading.pysource.programs.module import Function, Module
from crosscast_reading.pysource.programs.scopes import Binding, path_of
from crosscast_reading.pysource.values.value import Instance
from crosscast_reading.readers.python.conditions import conditions
from crosscast_reading.readers.python.default_conditions import holds_by_default
from crosscast_reading.readers.python.library_calls import canonical, last
from crosscast_reading.readers.python.loss_kinds import loss_of_call
from crosscast_reading.readers.python.loss_values import (
    After,
    Criterion,
    LossValue,
    Number,
    OneOf,
    Operation,
    Origin,
    Unfollowed,
    Updated,
)
from crosscast_reading.trainstep.frames.losses import SCALES
from crosscast_reading.trainstep.frames.object_kinds import last_name

_DEEPEST = 12
"""Most assignments and calls on one way."""
_HOPS = 2000
"""Most hops from one loss: functions that call each other in many places have many ways."""
_CASTS = frozenset(
    {*("float", "double", "to", "cast", "astype", "cuda", "squeeze", "contiguous", "clone")}
)
"""Methods and functions that leave the number as it is."""
_REDUCTIONS: dict[str, Operation] = {
    **dict.fromkeys(("mean", "reduce_mean"), "mean"),
    **dict.fromkeys(("sum", "reduce_sum"), "sum"),
}
_METHODS = _CASTS | _REDUCTIONS.keys()
_FACTOR = re.compile(r"paddle\.(?:fluid\.layers\.)?scale")
"""A function that multiplies, unlike the method of a scaler."""
_FUNCTION = re.compile(
    r"(?:tensorflow|torch|paddle|jax|numpy)\.(?:math\.|numpy\.|fluid\.layers\.)?"
    r"(?:(?:reduce_)?(?:mean|sum)|cast|squeeze)"
)
"""Functions that take the loss as an argument; as methods they have it before the dot."""
_OPERATIONS: dict[type[ast.operator], Operation] = {
    ast.Add: "add",
    ast.Sub: "add",
    ast.Div: "divide",
    ast.Mult: "multiply",
}
_DATA = frozenset({"x", "input", "input_tensor"})
_LOSS = re.compile(
    r"(?:torch|paddle)\.nn\.(?:\w+\.)*(?:\w*Loss|cross_entropy|nll_loss|mse_loss|l1_loss|huber_loss"
    r"|smooth_l1_loss|kl_div|binary_cross_entropy(?:_with_logits)?|softmax_with_cross_entropy)"
    r"(?:\.__call__)?|keras\.losses\.[A-Z]\w+\.__call__"
)
"""Losses of libraries, also those that no recipe has."""
_WRAPPER = re.compile(r"^(torch|paddle|apex)\..*DataParallel$")
_WRAPPERS = 3
"""Most wrappers around one model that are looked through."""


def origin(value: LossValue) -> Origin:
    """Return where a value comes from."""
    value.hops.made += 1
    if len(value.followed) > _DEEPEST or value.hops.made > _HOPS:
        return Unfollowed(value)
    return _of_value(value) if value.key is None else _of_entry(value)


def _of_value(value: LossValue) -> Origin:
    match value.node:
        case ast.Name() | ast.Attribute():
            return _of_bindings(value)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
            parts = (value.inside(left), value.inside(right))
            return OneOf(value, parts, is_sum=True)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            loss, factor = left, right
            if isinstance(left, ast.Constant | ast.Attribute):
                loss, factor = right, left
            return After(value, "multiply", value.inside(loss), factor)
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return After(value, "divide", value.inside(left), right)
        case ast.UnaryOp(operand=operand):
            return After(value, "negate", value.inside(operand))
        case ast.Constant():
            return Number(value)
        case ast.IfExp(body=body, orelse=orelse):
            return OneOf(value, (value.inside(body), value.inside(orelse)))
        case ast.Subscript(value=whole, slice=ast.Constant(value=str() | int() as key)):
            if _is_assigned(whole, key, value.module):
                return _of_bindings(value)
            return _of_entry(value.inside(whole, key))
        case ast.Call():
            return _of_call(value, value.node)
    return Unfollowed(value)


# ---- names


def _of_bindings(value: LossValue) -> Origin:
    bindings = tuple(definitions(value.node, value.module))
    if not bindings:
        return Unfollowed(value)
    new = [binding for binding in bindings if not value.has_passed(binding.node)]
    parts = tuple(part for binding in new for part in assigned(binding, value))
    return OneOf(value, parts, bindings=bindings)


def assigned(binding: Binding, value: LossValue) -> Iterator[LossValue | Updated | None]:
    """Yield the values that one of several assignments gives to a name; None if not followed."""
    module = binding.module
    match binding:
        case Binding(kind="parameter", node=ast.arg() as parameter):
            yield from _given(binding, parameter, value)
        case Binding(kind="augment", node=ast.AugAssign(op=sign, value=operand)):
            operation = _OPERATIONS.get(type(sign), "other")
            yield Updated(value, operation, value.over(binding.node, operand, module))
        case Binding(kind="assign" | "with", value=ast.expr() as given, path=()):
            yield value.over(binding.node, given, module)
        case Binding(kind="assign" | "with", value=ast.expr() as given, path=(place,)):
            whole = value.over(binding.node, given, module)
            yield replace(whole, key=place, name=last_name(value.node))
        case _:
            yield None


def _given(binding: Binding, parameter: ast.arg, value: LossValue) -> Iterator[LossValue | None]:
    """Yield the value of a parameter in the call on the way, or in every call of the function."""
    module = binding.module
    if value.calls:
        call = value.calls[-1]
        owner = module.owner_of(call)
        given = owner.call(call).bound().get(parameter.arg)
        yield value.outside().over(parameter, given, owner) if given is not None else None
        return
    function = binding.scope.node
    arguments = module.program.arguments_for(binding)
    sites = module.program.call_sites(module, function) if isinstance(function, Function) else ()
    if not arguments or len(arguments) != len(sites):
        yield None
        return
    for given, owner in arguments:
        yield value.over(parameter, given, owner)


# ---- entries of what a model or a function returns


def _of_entry(value: LossValue) -> Origin:
    """Return where an entry of a container comes from."""
    node, module, key = value.node, value.module, value.key
    assert key is not None
    match node:
        case ast.Tuple() | ast.List() | ast.Dict():
            return _of_literal(value, key) or Unfollowed(value)
        case ast.IfExp(body=body, orelse=orelse):
            return OneOf(value, (value.inside(body, key), value.inside(orelse, key)))
        case ast.Name() if not _is_assigned(node, key, module):
            bindings = tuple(definitions(node, module))
            new = [binding for binding in bindings if not value.has_passed(binding.node)]
            parts = tuple(_entry_assigned(binding, value) for binding in new)
            return OneOf(value, parts, bindings=bindings) if bindings else Unfollowed(value)
        case ast.Subscript(value=whole, slice=ast.Slice(lower=None)):
            return OneOf(value, (value.inside(whole, key),))
        case ast.Call():
            call = module.call(node)
            if loss_of_call(call) is not None:
                return Criterion(value, call)
            return _returned_by(call, value) or _of_literal(value, key) or Unfollowed(value)
    return Unfollowed(value)


def _of_literal(value: LossValue, key: str | int) -> OneOf | None:
    parts = entry(value.node, value.module, key, attribute=False)
    values = tuple(value.over(value.node, part, where) for part, where in parts)
    return OneOf(value, values) if values else None


def _entry_assigned(binding: Binding, value: LossValue) -> LossValue | None:
    if binding.assigned is None:
        return None
    return replace(value.over(binding.node, binding.assigned, binding.module), key=value.key)


def _is_assigned(node: ast.expr, key: str | int, module: Module) -> bool:
    """Whether an entry of a container is assigned to by itself."""
    path = path_of(node)
    return path is not None and (path[0], (*path[1], key)) in module.path_homes


# ---- calls


def _of_call(value: LossValue, node: ast.Call) -> Origin:
    call = value.module.call(node)
    if is_criterion(call):
        return Criterion(value, call)
    return _returned_by(call, value) or _operated(value, call) or Unfollowed(value)


def is_criterion(call: Call) -> bool:
    """Whether a loss function of a library is called, its class, or an object of that."""
    named = any(_LOSS.fullmatch(canonical(name)) for name in call.names)
    return named or loss_of_call(call) is not None


def _operated(value: LossValue, call: Call) -> After | None:
    """Return the operand of a function or a method that leaves a loss one, or reduces it."""
    node, method = call.node, call.method
    names = tuple(map(canonical, call.names))
    data = next((given for name, given in call.bound().items() if name in _DATA), None)
    data = node.args[0] if node.args else data
    if data is not None and any(map(_FUNCTION.fullmatch, names)):
        whole = len(node.args) < 2 and not call.bound().keys() - _DATA - {"name"}
        return After(value, _operation(last(names[0])), value.inside(data), whole=whole)
    if data is not None and method in SCALES and not any(map(_FACTOR.fullmatch, names)):
        return After(value, "scale", value.inside(data))
    if call.receiver is None or method not in _METHODS or _is_module(call.receiver, call.module):
        return None
    whole = not node.args and not node.keywords
    return After(value, _operation(method), value.inside(call.receiver), whole=whole)


def _is_module(node: ast.expr, module: Module) -> bool:
    """Whether what stands before a dot is an imported module, and the call one of its functions."""
    if not isinstance(node, ast.Name):
        return False
    bound = definitions(node, module)
    return bool(bound) and all(binding.kind == "import" for binding in bound)


def _operation(word: str) -> Operation:
    return _REDUCTIONS.get(word, "cast")


def _returned_by(call: Call, value: LossValue) -> OneOf | None:
    """Return the values that a function of the program returns, a model's `forward`; not None."""
    definition = _function(call)
    if definition is None:
        return None
    module, function = definition
    if function in value.functions:  # it calls itself: what else it returns is known
        return OneOf(value, ())
    parts = (value.into(call.node, function, each, module) for each in returns(module, function))
    return OneOf(value, tuple(parts))


def _function(call: Call) -> tuple[Module, Function] | None:
    program = call.module.program
    definition = program.function(call)
    if definition is None and call.name.endswith(".__call__"):
        definition = program.function_named(f"{_wrapped(call.node.func, call.module)}.forward")
    if definition is None and call.method == "apply" and call.receiver is not None:
        made = call.module.resolve(call.receiver)  # a torch.autograd.Function
        definition = program.function_named(f"{made}.forward")
    return definition


def _wrapped(node: ast.expr, module: Module) -> str:
    """Return the class of the model within `DistributedDataParallel(model)`."""
    for _ in range(_WRAPPERS):
        match evaluate(node, module):
            case Instance(made_by=name, call=Call() as made) if _WRAPPER.search(name):
                given = made.bound()
                node, module = given.get("module", given.get("layers", node)), made.module
            case Instance(made_by=name):
                return name
    return ""


def returns(module: Module, function: Function) -> Iterator[ast.expr]:
    """Yield the values that a function returns, apart from None and where it never does so."""
    for node in module.scopes[function].returns:
        if node.value is None or _is_none(node.value):
            continue
        around = conditions(node, module, callers=False)
        if not any(holds_by_default(test) is False for test in around):
            yield node.value


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
