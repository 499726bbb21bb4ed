"""Let programs that ask for a GPU train on the CPU, where there is none.

`set_device`, `CUDAPlace` and `Tensor.cuda` of all releases since 1.8; devices that are named as
text elsewhere (`place="gpu"`, `layer.to("gpu")`) are not redirected.
"""

from __future__ import annotations

from typing import Any

import paddle


def stay_on_cpu() -> None:
    """Keep what programs move to a GPU on the CPU."""
    choose = getattr(paddle, "set_device", None)  # Paddle 2
    if choose is not None:

        def set_device(device: Any) -> Any:
            return choose("cpu" if str(device).startswith("gpu") else device)

        paddle.set_device = paddle.device.set_device = set_device
        paddle.Tensor.cuda = lambda tensor, *place, **how: tensor
    for home in (paddle, getattr(paddle, "fluid", None)):
        place = getattr(home, "CPUPlace", None)
        if home is not None and place is not None:
            home.CUDAPlace = lambda *number, place=place: place()
