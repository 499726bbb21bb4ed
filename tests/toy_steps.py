"""Small Plans and micro-batches with numbers that can be checked by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from crosscast.plan import operations as ops
from crosscast.reference.interpreter import DataRow, Forward, MicroBatch, Trace, run

W = {"w": np.array([1.0, 2.0])}
CONSTANT = ops.Schedule(
    name="constant", learning_rate=0.5, end_lr=0.0, warmup_steps=0, total_steps=10, tick="update"
)
RAMP = replace(CONSTANT, warmup_steps=4)
SGD = ops.Step(optimizer="sgd")
DYNAMIC = ops.UpdateScale(mode="dynamic", init_scale=8.0, growth_interval=2, min_scale=1.0)
MEAN = ops.Normalize(unit="microbatch", renormalize=True, full=2)


def make(
    *,
    normalize: ops.Normalize = MEAN,
    clip: ops.Clip = ops.Clip(mode="none"),  # noqa: B008  (a frozen value)
    optimizer: ops.Step = SGD,
    schedule: ops.Schedule = CONSTANT,
    scale: ops.UpdateScale | None = None,
    processes: int = 1,
    dtype: ops.Dtype = "float32",
) -> ops.Plan:
    return ops.Plan(
        micro=(
            ops.Autocast(compute_dtype=dtype),
            normalize,
            *((ops.Scale(),) if scale else ()),
            ops.Backward(compute_dtype=dtype),
            ops.Accumulate(),
        ),
        window=(
            *((ops.AllReduce(processes=processes),) if processes > 1 else ()),
            *((ops.Unscale(), ops.CheckFinite()) if scale else ()),
            clip,
            optimizer,
            schedule,
            *((scale,) if scale else ()),
            ops.Zero(),
        ),
    )


def mb(*gradient: float, loss: float = 1.0, rows: int = 1) -> MicroBatch:
    return MicroBatch(loss, {"w": np.array(gradient)}, rows)


def row_of(plan: ops.Plan, *batches: MicroBatch | Forward) -> DataRow:
    return run(plan, W, [list(batches)]).rows[0]


def before(part: tuple[ops.Op, ...], move: type[ops.Op], to: type[ops.Op]) -> tuple[ops.Op, ...]:
    """The same part with `move` taken out and put in front of `to`."""
    moving = next(op for op in part if isinstance(op, move))
    rest = [op for op in part if op is not moving]
    index = next(i for i, op in enumerate(rest) if isinstance(op, to))
    return (*rest[:index], moving, *rest[index:])


def weights(trace: Trace) -> list[list[float]]:
    return [row.parameters["w"].tolist() for row in trace.rows]
