"""Record every update of a Paddle program: dynamic or static, from 1.8 on.

Without a GPU, half precision is not computed: in a dynamic graph Paddle turns auto_cast off by
itself, in a static graph it is turned off here. Scaling, unscaling and skipping happen all the same
(`forced` in the records).
"""

from __future__ import annotations

import os
from typing import Any

import paddle

from crosscast_paddle.inside import alike, static_updates
from crosscast_parity.inside.updates import Records


def stay_on_cpu() -> None:
    """Keep what programs move to a GPU on the CPU."""
    choose, place = paddle.set_device, paddle.CPUPlace

    def set_device(device: Any) -> Any:
        return choose("cpu" if str(device).startswith("gpu") else device)

    paddle.set_device = paddle.device.set_device = set_device
    paddle.CUDAPlace = lambda *number: place()
    paddle.Tensor.cuda = lambda tensor, *place, **how: tensor


def install(records: Records, name: str, *, perturb: bool, poison: int | None) -> None:
    """Watch this process; `name` is that of the module that was imported."""
    if os.environ.get("CROSSCAST_STAYS_ON_CPU"):
        stay_on_cpu()
    side_by_side = records.between is None
    if side_by_side:
        alike.install()
    if hasattr(paddle, "amp"):
        from crosscast_paddle.inside import dynamic_updates

        final = dynamic_updates.install(records, perturb=perturb, poison=poison)
    else:
        from crosscast_paddle.inside import fluid_updates

        final = fluid_updates.install(records, perturb=perturb, poison=poison)
    static = static_updates.install(records, perturb=perturb, poison=poison)
    records.final = lambda: [*final(), *static()]
