"""Print the public attributes of models wrapped for several devices: `wrapper_names.py PACKAGE`."""

from __future__ import annotations

import json
import sys
import tempfile
from typing import Any


def of_torch() -> list[Any]:
    """Return the wrappers of PyTorch around a model."""
    import torch

    with tempfile.TemporaryDirectory() as folder:
        torch.distributed.init_process_group(
            "gloo", init_method=f"file://{folder}/store", rank=0, world_size=1
        )
        wrapped = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
        torch.distributed.destroy_process_group()
    return [torch.nn.DataParallel(torch.nn.Linear(2, 2)), wrapped]


def of_paddle() -> list[Any]:
    """Return the wrapper of Paddle around a model."""
    import paddle

    return [paddle.DataParallel(paddle.nn.Linear(2, 2))]


if __name__ == "__main__":
    made = of_torch() if sys.argv[1] == "torch" else of_paddle()
    found = {
        f"{type(wrapper).__module__}.{type(wrapper).__name__}": sorted(
            name for name in dir(wrapper) if not name.startswith("_")
        )
        for wrapper in made
    }
    print(json.dumps(found))
