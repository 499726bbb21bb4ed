"""Loss scaling with several replicas (tf.distribute), which Keras 3 alone does wrongly."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from crosscast_migrate.codemod import Refusal
from crosscast_reading.edits.edit import Edit
from crosscast_reading.edits.node_edits import replace_node
from crosscast_reading.pysource.programs.call import Call
from crosscast_reading.pysource.values.value import Instance, Known, Value
from crosscast_reading.readers.python.library_calls import calls_of, canonical, text_value, value_of
from crosscast_tensorflow.migration.experimental.keras import added_code
from crosscast_tensorflow.migration.experimental.keras.clips import ARGUMENTS
from crosscast_tensorflow.migration.experimental.keras.edits import raw
from crosscast_tensorflow.migration.experimental.keras.loop_optimizer import makers_of
from crosscast_tensorflow.migration.experimental.keras.program import (
    compiles,
    maker_of,
    optimizer_of,
    strategy_of,
)
from crosscast_tensorflow.migration.experimental.keras.scalers import is_scaler, scaler_calls

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_reading.pysource.programs.program import Program

_UNKNOWN = ("ParameterServerStrategy", "CentralStorageStrategy")
_SETTERS = ("set_global_policy", "set_policy", "set_dtype_policy")
_PLAIN = ("float32", "float64", "bfloat16", "mixed_bfloat16", "float16")
_WORKERS = "MultiWorkerMirroredStrategy"
_LINE = (
    "use mixed_bfloat16, which needs no scaling, or one device per process; otherwise average the "
    "gradients over the replicas before the LossScaleOptimizer sees them, by "
    "all_reduce(tf.distribute.ReduceOp.MEAN, gradients) in its apply"
)


@dataclass(slots=True)
class ReplicaScaling:
    """What a program with several replicas needs."""

    edits: list[Edit] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    first: tuple[Module, ast.AST] | None = None
    """The first place that is changed."""


def replica_scaling(program: Program, *, scales: bool = False) -> ReplicaScaling:
    """Return the edits that make the loss scaling of all replicas agree, or why there are none.

    Args:
        program: all of it.
        scales: whether `compile` scales the loss whatever policy the program sets now.
    """
    out = ReplicaScaling()
    strategy = strategy_of(program)
    if strategy is None:
        return out
    added: dict[str, set[str]] = {}
    for call in scaler_calls(program):
        if not _is_fixed(call):
            _constructor(call, out, added)
    for call in compiles(program) if scales or may_scale(program) else []:
        _compiled(call, out, added)
    if out.first is None:
        return out
    for name, call in calls_of(program):
        kind = name.rpartition(".")[2]
        if kind in _UNKNOWN or (kind == _WORKERS and compiles(program)):
            why = (
                "fit of Keras 3 fails with it"
                if kind == _WORKERS
                else "its loss scaling under Keras 3 is not known"
            )
            out.refusals.append(_refusal(call.module, call.node, f"the program uses {kind}: {why}"))
    for module in program.modules:
        made = added_code.additions(module, added.get(module.source.name, ()))
        if isinstance(made, Refusal):
            out.refusals.append(made)
        else:
            out.edits += made
    return out


def _refusal(module: Module, node: ast.AST, message: str) -> Refusal:
    return Refusal(span=module.span(node), message=message, hint=_LINE)


def _is_fixed(call: Call) -> bool:
    """Whether a LossScaleOptimizer has a constant scale, which checks nothing."""
    given = [k.value for k in call.node.keywords if k.arg == "dynamic"] or call.node.args[1:2]
    value = value_of(given[0], call.module) if given else None
    return isinstance(value, Known) and value.value is False


def may_scale(program: Program) -> bool:
    """Whether the program may set mixed_float16."""
    for name, call in calls_of(program):
        if name.rpartition(".")[2] in _SETTERS:
            given = call.bound().get("policy") or next(iter(call.node.args), None)
            value: Value | None = value_of(given, call.module)
            if isinstance(value, Instance) and isinstance(value.call, Call):
                value = value_of(_policy_name(value.call), value.call.module)
            if text_value(value) not in _PLAIN:
                return True
    return False


def _policy_name(call: Call) -> ast.expr | None:
    """Return the name given to a policy."""
    named = [k.value for k in call.node.keywords if k.arg == "name"]
    return next(iter([*call.node.args[:1], *named]), None)


def _constructor(call: Call, out: ReplicaScaling, added: dict[str, set[str]]) -> None:
    module, node = call.module, call.node
    inner = node.args[:1] or [k.value for k in node.keywords if k.arg == "inner_optimizer"]
    _check_clips(inner[0] if inner else None, module, out)
    out.edits.append(replace_node(module, node.func, added_code.REPLICAS))
    added.setdefault(module.source.name, set()).add(added_code.REPLICAS)
    out.first = out.first or (module, node)


def _compiled(call: Call, out: ReplicaScaling, added: dict[str, set[str]]) -> None:
    module, node = call.module, optimizer_of(call)
    if node is None or any(
        k.arg == "auto_scale_loss" and isinstance(k.value, ast.Constant) and not k.value.value
        for k in call.node.keywords
    ):
        return
    if isinstance(node, ast.Call) and module.text(node.func) == added_code.COMPILED:
        return
    makers = makers_of(node, module) or []
    names = [canonical(name) for maker in makers for name in maker.names]
    own = [name for name in names if name.endswith(added_code.REPLICAS)]
    if names and all(is_scaler(name) or name in own for name in names):
        return
    _check_clips(node, module, out)
    text = f"{added_code.COMPILED}({raw(module, node)})"
    out.edits.append(replace_node(module, node, text))
    added.setdefault(module.source.name, set()).update((added_code.REPLICAS, added_code.COMPILED))
    out.first = out.first or (module, node)


def _check_clips(node: ast.expr | None, module: Module, out: ReplicaScaling) -> None:
    """Refuse an optimizer that clips: Keras 3 clips in every replica, before the sum."""
    maker = maker_of(node, module) if node is not None else None
    if maker is None:
        return
    for keyword in maker.node.keywords:
        if keyword.arg in ARGUMENTS:
            limit = maker.module.text(keyword.value)
            out.refusals.append(
                Refusal(
                    span=maker.module.span(keyword.value),
                    message=f"the optimizer clips by {keyword.arg}: Keras 2 clipped the sum over "
                    "the replicas, Keras 3 clips in every replica",
                    hint=f"write {keyword.arg}={limit} / strategy.num_replicas_in_sync, which "
                    "clips the mean, and average the gradients before the LossScaleOptimizer",
                )
            )
