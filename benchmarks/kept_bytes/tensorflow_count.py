"""Count what one micro-batch keeps in TensorFlow, in the traced graph of loss and gradients.

Kept is what operations of the backward pass read of the values of the forward pass; a graph frees a
value after its last reader. Views share the buffer of their input and count once, with it; who
reads only a shape keeps nothing. The graph is that of the trace: Grappler, which rewrites it before
it runs, may fuse or move operations. The order in which the executor frees values is its own, so
the peak is not counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import tensorflow as tf

from kept_bytes import Counts

VIEWS = {"Reshape", "Identity", "ExpandDims", "Squeeze", "StopGradient", "PreventGradient"}
MANY = "IdentityN"
"""A view of each of its inputs; what a function with a gradient of its own returns is one."""
SHAPES = {"Shape", "ShapeN", "Size", "Rank", "ZerosLike", "OnesLike"}
"""Read the shape alone, which is known when the graph is made."""
CAST, WEIGHT = "Cast", "ReadVariableOp"
THERE = {"Const", "Placeholder", WEIGHT}
"""Constants, rows of the micro-batch, weights."""
NO_KERNEL = VIEWS | {MANY} | SHAPES | THERE | {"NoOp"}
FEW = 4
"""Integers that are computed on the host: shapes and seeds."""


def count(
    loss_of: Callable[[dict[str, tf.Tensor]], tf.Tensor],
    weights: list[tf.Variable],
    rows: dict[str, tf.TensorSpec],
) -> Counts:
    """Trace one micro-batch and count.

    Args:
        loss_of: Computes the loss of a micro-batch.
        weights: What to derive it for.
        rows: Types and static shapes of the micro-batch.
    """
    middle = 0

    def micro_batch(batch: dict[str, tf.Tensor]) -> Any:
        nonlocal middle
        with tf.GradientTape() as tape:
            loss = loss_of(batch)
        middle = len(tf.compat.v1.get_default_graph().get_operations())
        return loss, tape.gradient(loss, weights)

    graph = tf.function(micro_batch, autograph=False).get_concrete_function(rows).graph
    operations = graph.get_operations()
    needed = reached([output.op for output in graph.outputs])
    forward, backward = (
        [operation for operation in part if operation in needed]
        for part in (operations[:middle], operations[middle:])
    )
    made_forward = set(forward)

    kept: set[Any] = set()
    for operation in backward:
        if operation.type not in SHAPES:
            kept |= {root(value).ref() for value in operation.inputs if value.op in made_forward}
    dtypes: Counter[str] = Counter()
    copies = 0
    for value in (reference.deref() for reference in kept):
        if value.op.type in THERE or value.dtype == tf.resource:
            continue
        if value.op.type == CAST and root(value.op.inputs[0]).op.type == WEIGHT:
            copies += size_of(value)
        else:
            dtypes[value.dtype.name] += size_of(value)
    casts = [op for op in (*forward, *backward) if op.type == CAST and starts_kernel(op)]
    return Counts(
        activations=dtypes.total(),
        weight_copies=copies,
        dtypes=dict(dtypes),
        forward=sum(map(starts_kernel, forward)),
        backward=sum(map(starts_kernel, backward)) + len(weights),  # whose sums are added to
        casts=len(casts),
    )


def reached(operations: Iterable[Any]) -> set[Any]:
    """Return operations and all that they wait for; a graph runs no others."""
    seen: set[Any] = set()
    pending = list(operations)
    while pending:
        operation = pending.pop()
        if operation not in seen:
            seen.add(operation)
            pending += [value.op for value in operation.inputs]
            pending += operation.control_inputs
    return seen


def root(value: Any) -> Any:
    """Return the value whose buffer a value shares."""
    while value.op.type in {*VIEWS, MANY}:
        value = value.op.inputs[value.value_index if value.op.type == MANY else 0]
    return value


def size_of(value: Any) -> int:
    """Return the bytes of a value; its shape must be known."""
    elements = value.shape.num_elements()
    if elements is None:
        raise ValueError(f"a value of unknown size: {value}")
    return int(elements * value.dtype.size)


def starts_kernel(operation: Any) -> bool:
    """Whether an operation computes something on the device."""
    if operation.type in NO_KERNEL:
        return False
    on_host = [
        value.dtype.is_integer and (value.shape.num_elements() or FEW + 1) <= FEW
        for value in operation.outputs
    ]
    return not on_host or not all(on_host)
