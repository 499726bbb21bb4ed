"""Follow calls of functions and methods of the program."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from crosscast_reading.pysource.names import classes
from crosscast_reading.pysource.programs.module import Function, Module
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.trainstep.events import Context
from crosscast_reading.trainstep.frames.argument_binding import bind, defaults
from crosscast_reading.trainstep.frames.frame import CallFrame, bare, canonical
from crosscast_reading.trainstep.frames.losses import Loss
from crosscast_reading.trainstep.frames.object_kinds import called_name, last_name
from crosscast_reading.trainstep.walk.contexts import contexts_of

if TYPE_CHECKING:
    from crosscast_reading.trainstep.walk.walker import Walker

MAX_DEPTH = 6
MAX_BODY = 120
"""Longer functions are followed only if something of training happens in them."""


def target_of(walker: Walker, call: ast.Call, frame: CallFrame) -> tuple[Module, Function] | None:
    """Return the function of the program that a call runs and that is worth following."""
    name = called_name(call)
    index = walker.index
    direct = name in index.hot_names
    if not direct and not _may_be(call, name, walker):
        return None
    record = frame.module.call(call)
    target = walker.program.function(record)
    if target is None:
        target = _by_argument(walker, call, frame)
    if target is None:
        return None
    module, function = target = _overridden(walker, *target)
    if function in walker.running or len(walker.calls) >= MAX_DEPTH or _is_model(module, function):
        return None
    if function not in index.reaching and _NO_TRAINING.search(function.name):
        return None
    if index.is_hot(module, function):
        return target
    short = (function.end_lineno or 0) - function.lineno <= MAX_BODY
    telling = _PART_OF_STEP.search(name) or _PART_OF_STEP.search(function.name)
    nested = module.function_of(function) in walker.running
    return target if short and (telling or nested) else None


_PART_OF_STEP = re.compile(r"loss|forward|criterion|train|compute|objective|micro|batch_step", re.I)
_NO_TRAINING = re.compile(
    r"^(run_|do_|_)?(eval|valid|test|infer|predict|sampl|generat|bench|log|save|load|plot|visual"
    r"|export|infer|through|measure|checkpoint)",
    re.I,
)
"""Functions that are not worth following unless gradients are computed in them."""


def _may_be(call: ast.Call, name: str, walker: Walker) -> bool:
    """Whether a call may run an object, a partial or an argument of the program."""
    if "__call__" in walker.index.hot_names and isinstance(call.func, ast.Name | ast.Attribute):
        return True
    if _PART_OF_STEP.search(name):
        return True
    return isinstance(call.func, ast.Name) and name not in _PLAIN


_PLAIN = frozenset(
    {"print", "len", "range", "int", "float", "str", "isinstance", "hasattr", "getattr", "list"}
    | {"dict", "tuple", "zip", "enumerate", "sum", "min", "max", "next", "iter", "super", "set"}
)


def _by_argument(
    walker: Walker, call: ast.Call, frame: CallFrame
) -> tuple[Module, Function] | None:
    """Follow an object or function that a caller gave as an argument."""
    function = call.func
    if isinstance(function, ast.Name) and function.id in frame.bound:
        reference = frame.bound[function.id]
        name = reference.frame.module.resolve(reference.node)
        if name:
            return walker.program.function_named(name) or walker.program.function_named(
                f"{name}.__call__"
            )
    return None


def _overridden(walker: Walker, module: Module, function: Function) -> tuple[Module, Function]:
    """Return the subclass's implementation of an abstract method."""
    owner = module.class_of(function)
    if owner is None or not isinstance(function.body[-1], ast.Raise):
        return module, function
    if "NotImplemented" not in module.text(function.body[-1]):
        return module, function
    program = walker.program
    for other in program.modules:
        for name, node in other.classes.items():
            written = other.functions.get(f"{name}.{function.name}")
            if node is owner or written is None:
                continue
            above = [
                class_scope.node for class_scope in classes.lineage(program, other.scopes[node])
            ]
            if owner in above:
                return other, written
    return module, function


def _is_model(module: Module, function: Function) -> bool:
    return function.name == "forward" and module.class_of(function) is not None


def follow(
    walker: Walker, call: ast.Call, module: Module, function: Function, frame: CallFrame
) -> None:
    """Walk through a function in place of its call."""
    inner = CallFrame(
        module,
        function,
        caller=frame,
        call=call,
        outer=_outer(module, function, frame),
        owner=_owner(call, frame),
    )
    bind(inner, call, function, frame)
    walker.calls.append(call)
    depth = len(walker.conditions)
    walker.run(module, function, inner)
    del walker.conditions[depth:]
    walker.calls.pop()
    joined = Loss()
    for returned in inner.returned:
        if isinstance(returned, Loss):
            joined = joined.join(returned)
    frame.losses[f"call {id(call)}"] = joined
    for name, loss in inner.losses.items():
        if "." in name:  # attributes outlive the call
            frame.losses[name] = loss


def _owner(call: ast.Call, frame: CallFrame) -> str:
    """Return the expression of the outermost caller for `self` of the called function."""
    function = call.func
    if not isinstance(function, ast.Attribute):
        return canonical(function, frame)
    inner = function.value
    if isinstance(inner, ast.Call):  # `super().step()`, `Trainer(model).fit()`
        return frame.owner or "self"
    return canonical(inner, frame)


def _outer(module: Module, function: Function, frame: CallFrame) -> CallFrame | None:
    """Return the frame of the function that a nested function is defined in."""
    around = module.function_of(function)
    if around is None or (
        module.class_of(function) is not None
        and (
            module.enclosing(function, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
            is not around
        )
    ):
        return None
    here: CallFrame | None = frame
    while here is not None:
        if here.function is around:
            return here
        here = here.caller or here.outer
    return lexical(module, around)


def lexical(module: Module, function: Function | None) -> CallFrame | None:
    """Return the frame of a function without known callers, with the frames around it."""
    if function is None:
        return None
    frame = bare(module, module.scopes[function])
    frame.owner = frame.self_name
    frame.outer = lexical(module, module.function_of(function))
    return frame


def closure(walker: Walker, node: ast.expr, frame: CallFrame) -> None:
    """Walk through a function that is given to `step`."""
    if isinstance(node, ast.Lambda):
        walker.expression(node, frame)
        return
    for call in walker.index.modules[frame.module].by_statement.get(node, ()):
        walker.call(call, node, frame)
    if isinstance(node, ast.Call) and last_name(node.func) == "partial" and node.args:
        node = node.args[0]
    name = frame.module.resolve(node)
    if not name and isinstance(node, ast.Name) and node.id in frame.bound:
        reference = frame.bound[node.id]
        name = reference.frame.module.resolve(reference.node)
    target = walker.program.function_named(name) if name else None
    if target is None or target[1] in walker.running or len(walker.calls) >= MAX_DEPTH:
        return
    module, function = target
    call = ast.Call(func=node, args=[], keywords=[])
    ast.copy_location(call, node)
    inner = CallFrame(
        module,
        function,
        caller=frame,
        call=call,
        outer=_outer(module, function, frame),
        owner=canonical(node.value, frame) if isinstance(node, ast.Attribute) else frame.owner,
    )
    defaults(inner, function)
    walker.calls.append(call)
    depth = len(walker.conditions)
    walker.run(module, function, inner)
    del walker.conditions[depth:]
    walker.calls.pop()


def generator(walker: Walker, node: ast.AST, frame: CallFrame) -> None:
    """Enter the contexts that a generator of the program holds open while it yields."""
    if not isinstance(node, ast.For | ast.AsyncFor) or not isinstance(node.iter, ast.Call):
        return
    target = walker.program.function(frame.module.call(node.iter))
    if target is None or not target[0].scopes[target[1]].generator:
        return
    module, function = target
    inner = CallFrame(module, function, caller=frame, call=node.iter)
    bind(inner, node.iter, function, frame)
    for part in walk(function):
        if isinstance(part, ast.With) and any(isinstance(n, ast.Yield) for n in walk(part)):
            for item in part.items:
                more = contexts_of(item.context_expr, inner, walker.heads)
                walker.contexts += more or _listed_contexts(item.context_expr, function, inner)


def _listed_contexts(node: ast.expr, function: Function, frame: CallFrame) -> list[Context]:
    """Find `no_sync` among contexts that a generator keeps in a list."""
    for part in walk(function):
        if isinstance(part, ast.Attribute) and part.attr == "no_sync":
            return [
                Context(
                    kind="no_sync", node=node, name="no_sync", subject=frame.module.text(part.value)
                )
            ]
    return []
