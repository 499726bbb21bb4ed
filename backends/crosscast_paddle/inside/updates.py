"""Record every update of a Paddle program: dynamic or static, from 1.8 on.

Without a GPU, half precision is not computed: in a dynamic graph Paddle turns auto_cast off by
itself, in a static graph it is turned off here. Scaling, unscaling and skipping happen all the same
(`forced` in the records).
"""

from __future__ import annotations

import paddle

from crosscast_paddle.inside import alike, static_updates
from crosscast_paddle.inside.without_gpu import stay_on_cpu
from crosscast_parity.inside.updates import Records, stays_on_cpu


def install(records: Records, name: str, *, perturb: bool, poison: int | None) -> None:
    """Watch this process; `name` is that of the module that was imported."""
    if stays_on_cpu():
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
