"""apex.parallel: data parallelism; of a single process, only its form."""

from __future__ import annotations

from typing import Any

import torch
from torch import distributed


class DistributedDataParallel(torch.nn.Module):
    """Averages gradients over the processes, if there are several."""

    def __init__(self, module: Any, **ignored: Any) -> None:
        super().__init__()
        several = distributed.is_available() and distributed.is_initialized()
        if several and distributed.get_world_size() > 1:
            module = torch.nn.parallel.DistributedDataParallel(module)
        self.module = module

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module."""
        return self.module(*args, **kwargs)


def convert_syncbn_model(module: Any, process_group: Any = None, channel_last: bool = False) -> Any:
    """Return the module with statistics that all processes share."""
    return torch.nn.SyncBatchNorm.convert_sync_batchnorm(module, process_group)
