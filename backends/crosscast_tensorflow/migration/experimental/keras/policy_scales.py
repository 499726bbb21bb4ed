"""Reads of the loss scale that a policy of Keras 2 held."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crosscast_reading.edits.node_edits import replace_node
from crosscast_reading.readers.python.library_calls import last, text_value, value_of
from crosscast_tensorflow.migration.experimental.keras.experimental import Names
from crosscast_tensorflow.migration.experimental.keras.loss_scales import Scale, scale_of
from crosscast_tensorflow.migration.experimental.keras.policies import Outcomes, policy_argument
from crosscast_tensorflow.migration.experimental.keras.program import maker_of, open_call

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_FIRST = "2.0**15"
_VALUE = "_current_loss_scale"
_NOTE = (
    "the scale of the policy was that of no optimizer and never changed: its first value is "
    "written instead; read optimizer.dynamic_scale of a LossScaleOptimizer for the real one"
)


def read_scales(program: Program, named: list[Names], out: Outcomes) -> None:
    """Replace reads of a policy's loss scale that certainly never changed; refuse the others.

    An argument of a LossScaleOptimizer is left to the optimizer.
    """
    wrapped = {
        id(argument)
        for names in named
        for call in names.used("LossScaleOptimizer")
        if (argument := policy_argument(call, 1, "loss_scale")) is not None
    }
    reads = [(m, n) for m, n in _reads(program) if id(n) not in wrapped]
    moves = _compiles(program) or any(id(n) in wrapped for _, n in _reads(program))
    for module, node in reads:
        parent = module.parent(node)
        scale = None if moves else scale_of_policy(node, module)
        library = next((n for n, target in module.imports.items() if target == "tensorflow"), "")
        plain = isinstance(parent, ast.Attribute) and parent.attr == _VALUE
        called = isinstance(parent, ast.Call) and parent.func is node
        if (
            isinstance(parent, ast.Attribute | ast.Call)
            and (plain or called)
            and library
            and scale is not None
            and scale.kind != "none"
        ):
            text = f"{library}.constant({scale.initial or _FIRST})"
            out.edits.append(replace_node(module, parent, text))
            out.notes.append(_NOTE)
            continue
        out.refuse(
            module,
            node,
            "policies of Keras 3 have no loss scale to read",
            "read optimizer.dynamic_scale of the LossScaleOptimizer once it is built, or remove "
            "this",
        )


def _compiles(program: Program) -> bool:
    """Whether a model is perhaps compiled, whose optimizer then has the scale of the policy."""
    return any(
        call.method == "compile" and not call.name.startswith(("re.", "torch."))
        for module in program.modules
        for call in module.calls
    )


def _reads(program: Program) -> Iterator[tuple[Module, ast.Attribute]]:
    for module in program.modules:
        for node in module.every(ast.Attribute):
            if node.attr == "loss_scale" and _is_policy(node, module):
                yield module, node


def _is_policy(node: ast.Attribute, module: Module) -> bool:
    made = maker_of(node.value, module)
    return made is not None and last(made.name) in ("Policy", "global_policy")


def scale_of_policy(node: ast.expr, module: Module) -> Scale | None:
    """Return the loss scale of `policy.loss_scale`."""
    if not isinstance(node, ast.Attribute) or node.attr != "loss_scale":
        return None
    made = maker_of(node.value, module)
    if made is None or last(made.name) != "Policy" or open_call(made.node):
        return None
    kind = text_value(value_of(policy_argument(made.node, 0, "name"), made.module))
    given = policy_argument(made.node, 1, "loss_scale")
    if given is None:
        return Scale("dynamic") if kind == "mixed_float16" else None
    return scale_of(given, made.module)
