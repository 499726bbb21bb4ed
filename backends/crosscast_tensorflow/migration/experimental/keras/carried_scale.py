"""Loops that keep unscaled gradients: scaled again just before they are applied.

This holds whatever happens to the gradients in between: clipping, logging, accumulation, another
function. An optimizer that does not scale has the scale 1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from crosscast_migrate.codemod import Refusal
from crosscast_reading.edits.edit import Edit
from crosscast_reading.edits.node_edits import replace_node
from crosscast_reading.readers.python.library_calls import canonical
from crosscast_tensorflow.migration.experimental.keras import added_code
from crosscast_tensorflow.migration.experimental.keras.edits import argument_edits, raw
from crosscast_tensorflow.migration.experimental.keras.loop_optimizer import makers_of
from crosscast_tensorflow.migration.experimental.keras.program import is_several, open_call
from crosscast_tensorflow.migration.experimental.keras.scaled_loop import APPLIED, SCALED, UNSCALED
from crosscast_tensorflow.migration.experimental.keras.scalers import is_scaler
from crosscast_tensorflow.migration.experimental.keras.traces import traced_apart

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_METHODS = (SCALED, UNSCALED, APPLIED)
_AGGREGATE = "experimental_aggregate_gradients"
_READS = {"lr": "learning_rate", "_optimizer": "inner_optimizer"}
_GONE = ("dynamic_counter", "minimize", "compute_gradients", "get_gradients", "get_weights")


@dataclass(slots=True)
class Carried:
    """The edits of all loops of a program, or the reasons against them."""

    edits: list[Edit] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    added: dict[str, set[str]] = field(default_factory=dict)
    """File to the names to define there."""

    def refuse(self, module: Module, node: ast.AST, message: str, hint: str) -> None:
        """Add a reason why nothing is changed."""
        self.refusals.append(Refusal(span=module.span(node), message=message, hint=hint))

    def add(self, module: Module, name: str) -> None:
        """Define a function in a module."""
        self.added.setdefault(module.source.name, set()).add(name)


def carried(program: Program) -> Carried:
    """Return the edits that keep every loop as it is with the interface of Keras 3."""
    out = Carried()
    calls = {method: list(optimizer_calls(program, method)) for method in _METHODS}
    if not calls[SCALED] and not calls[UNSCALED]:
        return out
    if not calls[APPLIED] or not _wraps(program):
        first = (calls[SCALED] or calls[UNSCALED] or calls[APPLIED])[:1]
        for call in first:
            out.refuse(
                call.module,
                call.node,
                f"the given files do not define {call.receiver_text} or do not apply its gradients",
                "pass the files that create the optimizer and apply the gradients as well",
            )
        return out
    if not calls[SCALED] or not calls[UNSCALED]:
        call = (calls[SCALED] or calls[UNSCALED])[0]
        missing = UNSCALED if calls[SCALED] else SCALED
        out.refuse(
            call.module,
            call.node,
            f"{missing} is nowhere called: {call.method} without it would be a mistake",
            "pass the files that call it as well, or correct the program first",
        )
        return out
    owners = {call.receiver_text for call in (*calls[SCALED], *calls[UNSCALED])}
    for call in calls[SCALED]:
        _scale(call, out)
    for call in calls[UNSCALED]:
        _unscale(call, out)
    for call in calls[APPLIED]:
        _apply(call, program, out)
    for module in program.modules:
        _attributes(module, owners, out)
        _strings(module, out)
    apart = traced_apart(calls[SCALED] + calls[UNSCALED], calls[APPLIED], program)
    if apart is not None:
        out.refuse(
            apart.module,
            apart.node,
            "a tf.function that does not apply the gradients uses the loss scale: Keras 3 creates "
            "the scale when they are first applied, so that this graph would keep the first one",
            "build the optimizer before: optimizer.build(model.trainable_variables)",
        )
    for module in program.modules:
        made = added_code.additions(module, out.added.get(module.source.name, ()))
        if isinstance(made, Refusal):
            out.refusals.append(made)
        else:
            out.edits += made
    return out


def _wraps(program: Program) -> bool:
    return any(
        is_scaler(canonical(name).replace(".experimental.", "."))
        for call in program.calls()
        for name in call.names
    )


def optimizer_calls(program: Program, method: str) -> Iterator[Call]:
    """Yield the calls of a method of optimizers, without calls of the program's own methods."""
    own = any(
        isinstance(part, ast.FunctionDef) and part.name == method
        for module in program.modules
        for node in module.every(ast.ClassDef)
        for part in node.body
    )
    for module in program.modules:
        if method not in module.source.text:
            continue
        for call in module.calls:
            if call.receiver is None or call.method != method or module.is_dead(call.node):
                continue
            if any(name.startswith("tf_keras.") for name in call.names):
                continue
            if program.function(call) is not None or call.receiver_text.startswith("super("):
                continue
            if own and not _certain(call, method):
                continue
            yield call


def _certain(call: Call, method: str) -> bool:
    """Whether a receiver is an optimizer of Keras although a class has a method of this name."""
    assert call.receiver is not None
    owner = call.module.class_of(call.node)
    inside = owner is not None and any(
        isinstance(part, ast.FunctionDef) and part.name == method for part in owner.body
    )
    return inside or makers_of(call.receiver, call.module) is not None


def _simple(call: Call, out: Carried) -> bool:
    """Whether the optimizer can be named twice."""
    node: ast.expr | None = call.receiver
    while isinstance(node, ast.Attribute):
        node = node.value
    if isinstance(node, ast.Name):
        return True
    out.refuse(
        call.module,
        call.node,
        f"the optimizer {call.receiver_text} is not a name",
        "give the optimizer a name first",
    )
    return False


def _scale(call: Call, out: Carried) -> None:
    function = call.node.func
    assert isinstance(function, ast.Attribute)
    argument = call.node.args[0] if len(call.node.args) == 1 else None
    if argument is None or call.node.keywords or isinstance(argument, ast.Lambda | ast.Starred):
        return out.refuse(
            call.module, call.node, "get_scaled_loss has unusual arguments", "migrate it by hand"
        )
    text = f"{raw(call.module, function.value)}.scale_loss"
    out.edits.append(replace_node(call.module, function, text))
    return None


def _unscale(call: Call, out: Carried) -> None:
    if len(call.node.args) != 1 or call.node.keywords or open_call(call.node):
        return out.refuse(
            call.module,
            call.node,
            "get_unscaled_gradients has unusual arguments",
            "migrate it by hand",
        )
    if not _simple(call, out):
        return None
    given = raw(call.module, call.node.args[0])
    text = f"{added_code.UNSCALED}({call.receiver_text}, {given})"
    out.edits.append(replace_node(call.module, call.node, text))
    out.add(call.module, added_code.UNSCALED)
    return None


def _apply(call: Call, program: Program, out: Carried) -> None:
    assert call.receiver is not None
    makers = makers_of(call.receiver, call.module)
    if makers is not None and not any(
        is_scaler(canonical(name).replace(".experimental.", "."))
        for maker in makers
        for name in maker.names
    ):
        return None  # certainly an optimizer that does not scale
    given = _pairs(call)
    if isinstance(given, ast.Call) and call.module.text(given.func) == added_code.SCALED:
        return None
    extra = [k for k in call.node.keywords if k.arg not in ("grads_and_vars", _AGGREGATE)]
    if given is None or extra or len(call.node.args) > 1:
        return out.refuse(
            call.module,
            call.node,
            "apply_gradients of Keras 3 takes only gradients and variables, and these gradients "
            "must be multiplied by the loss scale again",
            "write apply_gradients(zip(gradients, variables)) without other arguments",
        )
    if not _simple(call, out):
        return None
    text = raw(call.module, given)
    for keyword in call.node.keywords:
        if keyword.arg != _AGGREGATE:
            continue
        constant = keyword.value.value if isinstance(keyword.value, ast.Constant) else None
        if constant not in (True, False):
            return out.refuse(
                call.module,
                call.node,
                f"{_AGGREGATE} was removed, and its value here is not certain",
                "Keras 3 always adds the gradients of all replicas",
            )
        out.edits += argument_edits(call.module, call.node, [keyword.value])
        if constant is False and is_several(program):
            text = f"{added_code.SHARED}({text})"
            out.add(call.module, added_code.SHARED)
    new = f"{added_code.SCALED}({call.receiver_text}, {text})"
    out.edits.append(replace_node(call.module, given, new))
    out.add(call.module, added_code.SCALED)
    return None


def _pairs(call: Call) -> ast.expr | None:
    """Return the gradients in `zip(gradients, variables)`, also if it has a name."""
    named = [k.value for k in call.node.keywords if k.arg == "grads_and_vars"]
    node = next(iter([*call.node.args[:1], *named]), None)
    if isinstance(node, ast.Name):
        function = call.module.function_of(call.node)
        stores = [
            found
            for found in call.module.every(ast.Name)
            if found.id == node.id
            and isinstance(found.ctx, ast.Store)
            and call.module.function_of(found) is function
        ]
        loads = [
            found
            for found in call.module.every(ast.Name)
            if found.id == node.id
            and isinstance(found.ctx, ast.Load)
            and call.module.function_of(found) is function
        ]
        statement = call.module.parent(stores[0]) if len(stores) == len(loads) == 1 else None
        node = statement.value if isinstance(statement, ast.Assign) else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "list":
        node = node.args[0] if len(node.args) == 1 else None
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return None
    if node.func.id != "zip" or len(node.args) != 2 or open_call(node):
        return None
    return node.args[0]


def _attributes(module: Module, owners: set[str], out: Carried) -> None:
    """Rename attributes of the scaling optimizers, and refuse those that are gone."""
    for node in module.every(ast.Attribute):
        if module.is_dead(node) or module.text(node.value) not in owners:
            continue
        parent = module.parent(node)
        called = isinstance(parent, ast.Call) and parent.func is node
        text = raw(module, node.value)
        if node.attr == "loss_scale" and isinstance(node.ctx, ast.Load):
            whole = parent if called and isinstance(parent, ast.Call) else node
            out.edits.append(replace_node(module, whole, f"{text}.scale_loss(1.0)"))
        elif node.attr == "variables" and called and isinstance(parent, ast.Call):
            out.edits.append(replace_node(module, parent, f"{text}.variables"))
        elif node.attr in _READS:
            out.edits.append(replace_node(module, node, f"{text}.{_READS[node.attr]}"))
        elif node.attr in _GONE:
            out.refuse(
                module,
                node,
                f"{module.text(node)} was removed in Keras 3",
                "use variables, a GradientTape and apply_gradients",
            )


def _strings(module: Module, out: Carried) -> None:
    """Rename the method in `hasattr(optimizer, "get_scaled_loss")`; every optimizer has the new."""
    for node in module.every(ast.Constant):
        if node.value not in (SCALED, UNSCALED) or module.is_dead(node):
            continue
        parent = module.parent(node)
        tests = isinstance(parent, ast.Call) and module.text(parent.func) == "hasattr"
        if tests and isinstance(parent, ast.Call) and parent.args[1:] == [node]:
            out.edits.append(replace_node(module, node, '"scale_loss"'))
        else:
            out.refuse(
                module,
                node,
                f"the name {node.value} is used as a string",
                "call the method directly",
            )
