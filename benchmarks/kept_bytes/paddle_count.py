"""Count what one micro-batch keeps in Paddle, in a program of its intermediate representation.

Kept is what the gradient operations of the program read of the values of the forward pass, except
those whose buffers they do not need: the same that autograd keeps when it runs operation by
operation. Reshapes share the buffer of their input and count once, with it. The order in which a
program frees its values is the executor's, so the peak is not counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import paddle

from kept_bytes import Counts
from kept_bytes.paddle_as_on_gpu import StandIns

VIEWS = {
    f"pd_op.{name}"
    for name in ("reshape", "flatten", "squeeze", "unsqueeze", "assign", "share_data_")
}
CAST, COMBINE = "pd_op.cast", "builtin.combine"
WEIGHT, ROWS = "builtin.parameter", "pd_op.data"
CONSTANTS = ("pd_op.full", "pd_op.full_int_array")
NO_KERNEL = {*VIEWS, *(f"{name}_grad" for name in VIEWS), COMBINE, WEIGHT, ROWS, *CONSTANTS}
"""Views, what is there already, and numbers that are known when the program is built."""


@dataclass(frozen=True, slots=True)
class Masters:
    """What a window does about float32 weights of which the model has half copies."""

    copies: list[Any]
    collect: Callable[[list[Any]], None]
    """Adds the gradients of `copies` to those of the float32 weights, every micro-batch."""
    copy: Callable[[], None]
    """Rounds the float32 weights into `copies`, once per window."""


def count(
    program: Any,
    loss: Any,
    weights: list[Any],
    first: int,
    stand_ins: StandIns,
    masters: Masters | None = None,
) -> Counts:
    """Add the backward pass to a program and count.

    Args:
        program: With the forward pass of one micro-batch.
        loss: Its loss.
        weights: Parameters to derive it for.
        first: Number of operations before the forward pass.
        stand_ins: What stands in for operations in it.
        masters: The float32 weights behind half ones; None: there are none.
    """
    middle = len(program.global_block().ops)
    gradients = paddle.static.gradients(loss, weights)
    operations = program.global_block().ops
    forward, backward = operations[first:middle], operations[middle:]
    made = {result.id: operation for operation in operations for result in operation.results()}
    own = {result.id for operation in forward for result in operation.results()}

    read = list(stand_ins.kept)
    for operation in backward:
        read += [
            value for value in operation.operands_source() if not operation.is_no_need_buffer(value)
        ]
    kept: dict[int, Any] = {}
    pending = read
    while pending:
        value = pending.pop()
        operation = made[value.id]
        if operation.name() == COMBINE:
            pending += operation.operands_source()
        elif value.id in own and operation.name() in VIEWS:
            pending.append(operation.operand_source(0))
        elif value.id in own and operation.name() not in (WEIGHT, ROWS, *CONSTANTS):
            kept[value.id] = value

    dtypes: Counter[str] = Counter()
    copies = 0
    for key, value in kept.items():
        operation = made[key]
        if operation.name() == CAST and made[operation.operand_source(0).id].name() == WEIGHT:
            copies += size_of(value)
        else:
            dtypes[name_of(value)] += size_of(value)
    dtypes["float32"] += stand_ins.statistics
    # The gradient of a half copy is added by the script, that of a weight by autograd.
    added, window_casts = [], 0
    sums = len(weights)
    if masters:
        own_gradients = {weight.id: new for weight, new in zip(weights, gradients, strict=True)}
        collected = [own_gradients[half.id] for half in masters.copies]
        added = _built(program, lambda: masters.collect(collected))
        window_casts = sum(op.name() == CAST for op in _built(program, masters.copy))
        copies += sum(map(size_of, masters.copies))
        sums -= len(masters.copies)
    kernels = [sum(op.name() not in NO_KERNEL for op in part) for part in (forward, backward)]
    casts = sum(operation.name() == CAST for operation in (*forward, *backward, *added))
    return Counts(
        activations=dtypes.total(),
        weight_copies=copies,
        dtypes=dict(dtypes),
        forward=kernels[0] - stand_ins.forward,
        backward=kernels[1] - stand_ins.backward + len(added) + sums,
        casts=casts - stand_ins.casts,
        window_casts=window_casts,
    )


def _built(program: Any, build: Callable[[], None]) -> list[Any]:
    """Return the operations with kernels that a function puts at the end of a program."""
    before = len(program.global_block().ops)
    build()
    return [op for op in program.global_block().ops[before:] if op.name() not in NO_KERNEL]


def size_of(value: Any) -> int:
    """Return the bytes of a value; all its sizes must be known."""
    shape = list(value.shape)
    if min(shape, default=1) < 0:
        raise ValueError(f"a value of unknown size {shape}: {value}")
    item = 2 if value.dtype == paddle.bfloat16 else np.dtype(name_of(value)).itemsize
    return int(np.prod(shape, dtype=np.int64)) * item


def name_of(value: Any) -> str:
    """Return the type of a value as NumPy calls it."""
    return str(value.dtype).removeprefix("paddle.")
