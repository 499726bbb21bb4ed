"""Horovod's and BytePS's DistributedOptimizer around an optimizer of Keras."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from crosscast_migrate.codemod import Refusal
from crosscast_reading.edits.edit import Edit
from crosscast_reading.edits.node_edits import replace_node
from crosscast_reading.pysource.values.value import Known
from crosscast_reading.readers.python.library_calls import calls_of, last, value_of
from crosscast_tensorflow.migration.experimental.keras import added_code
from crosscast_tensorflow.migration.experimental.keras.edits import raw
from crosscast_tensorflow.migration.experimental.keras.loop_optimizer import makers_of
from crosscast_tensorflow.migration.experimental.keras.program import compiles, open_call
from crosscast_tensorflow.migration.experimental.keras.replicas import may_scale
from crosscast_tensorflow.migration.experimental.keras.scalers import scaler_calls

if TYPE_CHECKING:
    from crosscast_reading.pysource.programs.call import Call
    from crosscast_reading.pysource.programs.program import Program

_PACKAGE = re.compile(
    r"(?P<package>(horovod|byteps)\.(tensorflow\.)?(keras\.)?)(?P<name>DistributedOptimizer)"
)
_AVERAGE = {"horovod": "allreduce", "byteps": "push_pull"}
_DROPPED: dict[str, tuple[object, ...]] = {
    "backward_passes_per_step": (1,),
    "average_aggregated_gradients": (True, False),
    "sparse_as_dense": (False,),
    "name": (None,),
}
_PASSED = ("compression", "op")
_GRAPHS = re.compile(r"tensorflow\.(compat\.v1\.)?train\.\w*Optimizer")


def distributed_optimizers(program: Program) -> list[Call]:
    """Return the calls that wrap an optimizer of Keras, not one of tf.train."""
    found = {
        id(call.node): call
        for name, call in calls_of(program)
        if _PACKAGE.fullmatch(name) and not call.module.is_dead(call.node)
    }
    graphs = any(_GRAPHS.fullmatch(name) for name, _ in calls_of(program))
    return [] if graphs else list(found.values())


def averaged(call: Call, program: Program) -> list[Edit] | Refusal:
    """Return the edits that average the gradients in `apply` instead, or why that cannot be."""
    module, node = call.module, call.node
    match = _PACKAGE.fullmatch(call.name)
    assert match is not None
    library = match["package"].partition(".")[0]
    given = {k.arg: k.value for k in node.keywords if k.arg}
    inner = node.args[0] if node.args else given.get("optimizer")
    owner = raw(module, node.func.value) if isinstance(node.func, ast.Attribute) else ""
    if open_call(node) or inner is None or len(node.args) > 1 or not owner:
        return _refusal(call, "its arguments are not certain", library)
    if _is_scaled(call, program):
        return _refusal(call, "a LossScaleOptimizer around it would skip steps alone", library)
    if not compiles(program) and may_scale(program) and not scaler_calls(program):
        return _refusal(call, "the loop does not scale its loss under mixed_float16", library)
    passed: list[str] = []
    for name, value in given.items():
        if name == "optimizer":
            continue
        if name in _PASSED:
            passed.append(f", {name}={raw(module, value)}")
            continue
        known = value_of(value, module)
        if name not in _DROPPED or not (isinstance(known, Known) and known.value in _DROPPED[name]):
            return _refusal(call, f"it has {name}={module.text(value)}", library)
    average = f"{owner}.{_AVERAGE[library]}"
    if passed:
        average = f"lambda g: {average}(g{''.join(passed)})"
    text = f"{added_code.AVERAGED}({raw(module, inner)}, {average})"
    added = added_code.additions(module, [added_code.AVERAGED])
    if isinstance(added, Refusal):
        return added
    return [replace_node(module, node, text), *added]


def _is_scaled(call: Call, program: Program) -> bool:
    """Whether a LossScaleOptimizer may wrap the result."""
    for scaler in scaler_calls(program):
        node = scaler.node
        inner = [k.value for k in node.keywords if k.arg in ("inner_optimizer", "optimizer")]
        for wrapped in [*node.args[:1], *inner]:
            makers = makers_of(wrapped, scaler.module)
            if makers is None or any(maker.node is call.node for maker in makers):
                return True
    return False


def _refusal(call: Call, why: str, library: str) -> Refusal:
    average = f"{library}.tensorflow.{_AVERAGE[library]}"
    return Refusal(
        span=call.module.span(call.node),
        message=f"{last(call.name)} has no effect in Keras 3, which calls none of its methods, "
        f"and {why}",
        hint="remove it, and average the gradients: of a loop by DistributedGradientTape, of fit "
        f"in apply of a subclass of the optimizer, by {average}",
    )
