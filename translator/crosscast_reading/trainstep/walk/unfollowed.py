"""Code of a training loop that may change training and that the walk does not understand.

What a loop does not do can be said only where everything in it was understood. A function of a file
that was not given may clip the gradients that it gets; a function of the program is looked into.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.pysource.names.containers import definitions
from crosscast_reading.pysource.syntax.nodes import walk
from crosscast_reading.trainstep.events import Touched, Unfollowed
from crosscast_reading.trainstep.frames.frame import CallFrame
from crosscast_reading.trainstep.frames.object_kinds import is_model_name, kind_of, last_name
from crosscast_reading.trainstep.frames.weight_sources import TRANSFORMS, holds_gradients
from crosscast_reading.trainstep.walk.models import NOT_RUN

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.trainstep.walk.walker import Walker

MOST = 100
_HARMLESS = re.compile(
    r"^(run_|do_|_)?(eval|valid|test|infer|predict|sampl|generat|bench|log|save|load|plot|visual"
    r"|export|measure|checkpoint|print|write|barrier|synchronize|state_dict|parameters|named_\w+"
    r"|train|get_\w+|is_\w+|has_\w+|add_scalar|add_histogram|learning_rate|lr|append|extend|items"
    r"|keys|values|format|join|norm|isnan|isinf|isfinite|any|all|item|detach|cpu|numpy|tolist)",
    re.I,
)
"""Functions and methods that read, or that have nothing to do with an update."""
_READ_BY = re.compile(
    r"^(torch|numpy|math|tensorflow|paddle|keras|jax|logging|wandb|tqdm|time|os|sys|copy|random"
    r"|collections|itertools|functools|json|re|horovod|apex|accelerate|torchvision)\."
)
"""Libraries whose functions are known; they change gradients only in place, or as events."""
_KINDS: dict[str, Touched] = {
    "optimizer": "optimizer",
    "scaler": "optimizer",
    "engine": "optimizer",
    "wrapper": "optimizer",
}
_GRADIENT = re.compile(r"(^|_)grads?($|_)|gradients?$", re.I)
_NAMED = re.compile(r"^g$|(^|_)(grads?|gradients?)$", re.I)
_IN_PLACE = re.compile(r"\w[a-z]_$")
_CLEARS = frozenset({"zero_", "detach_", "requires_grad_", "share_memory_", "record_stream"})


def note(walker: Walker, call: ast.Call, name: str, frame: CallFrame) -> None:
    """Record a call that no event stands for, if it is given what is trained."""
    if not walker.heads or not name or len(walker.unfollowed) >= MOST:
        return
    function = call.func
    if isinstance(function, ast.Attribute):
        changed = _changed_in_place(function, name, frame.module)
        if changed is not None:
            _record(walker, call, frame, changed)
            return
    if hasattr(builtins, name) or _HARMLESS.search(name) or NOT_RUN.search(name):
        return
    if _computes_gradients(function, frame.module):
        return  # the backward pass is noted where the function is made
    target = walker.program.function(frame.module.call(call))
    if target is not None:
        touched = next(_changes(target[1], target[0]), None)
        if touched is not None:
            _record(walker, call, frame, touched)
        return
    if _READ_BY.search(frame.module.resolve(function)):
        return
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    for node in given:
        touched = _touched(node, walker, frame)
        if touched is not None:
            _record(walker, call, frame, touched)
            return


def _computes_gradients(function: ast.expr, module: Module) -> bool:
    """Whether a called name has its value from `jax.value_and_grad(loss)` or the like."""
    if not isinstance(function, ast.Name):
        return False
    values = [binding.value for binding in definitions(function, module)]
    return bool(values) and all(
        isinstance(value, ast.Call) and last_name(value.func) in TRANSFORMS for value in values
    )


def assigned(walker: Walker, node: ast.stmt, frame: CallFrame) -> None:
    """Record an assignment to a gradient: `p.grad *= factor`, `p.grad = filtered[p]`."""
    if not walker.heads or len(walker.unfollowed) >= MOST:
        return
    touched = _by_assignment(node, frame.module)
    if touched is not None:
        _record(walker, node, frame, touched)


def _record(walker: Walker, node: ast.AST, frame: CallFrame, touched: Touched) -> None:
    shown = node.func if isinstance(node, ast.Call) else node
    walker.unfollowed.append(
        Unfollowed(
            span=frame.module.span(node),
            text=frame.module.text(shown)[:80],
            touched=touched,
            order=len(walker.events),
            loops=tuple(head.loop for head in walker.heads),
        )
    )


def _touched(node: ast.expr, walker: Walker, frame: CallFrame) -> Touched | None:
    """Return the kind of trained object that an argument is; None if it is none."""
    if isinstance(node, ast.Call):
        method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        return "weights" if method in ("parameters", "named_parameters") else None
    if not isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
        return None
    name = last_name(node)
    if _GRADIENT.search(name):
        return "gradients"
    if kind := _KINDS.get(kind_of(node, frame)):
        return kind
    return "weights" if name in walker.index.model_names or is_model_name(name) else None


def _changes(function: ast.AST, module: Module) -> Iterator[Touched]:
    """Yield the kinds of trained objects that a function of the program changes in place."""
    for node in walk(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            changed = _changed_in_place(node.func, node.func.attr, module)
            if changed is not None:
                yield changed
        elif isinstance(node, ast.stmt) and (touched := _by_assignment(node, module)):
            yield touched


def _changed_in_place(function: ast.Attribute, name: str, module: Module) -> Touched | None:
    """Return the kind of object a method changes: an element of a gradient list is a gradient."""
    if name in _CLEARS or not (_IN_PLACE.search(name) or name == "set_value"):
        return None
    text = module.text(function.value)
    if ".grad" in text or holds_gradients(function.value, module) or _is_named(function.value):
        return "gradients"
    return "weights" if ".data" in text else None


def _is_named(node: ast.expr) -> bool:
    """Whether the name of a variable says that it is a gradient: `g`, `grad`, `grads[0]`."""
    inner = node.value if isinstance(node, ast.Subscript) else node
    return isinstance(inner, ast.Name) and bool(_NAMED.search(inner.id))


def _by_assignment(node: ast.stmt, module: Module) -> Touched | None:
    if isinstance(node, ast.Assign):
        target, value = node.targets[0], node.value
        if isinstance(value, ast.Constant) and value.value is None:
            return None
    elif isinstance(node, ast.AugAssign):
        target = node.target
    else:
        return None
    if not isinstance(target, ast.Attribute):
        return None
    text = module.text(target)
    if text.endswith((".grad", ".grad.data")):
        return "gradients"
    return "weights" if target.attr == "data" else None
