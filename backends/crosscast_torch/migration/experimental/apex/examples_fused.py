"""Examples of the codemods for apex's optimizers and its data parallelism."""

from __future__ import annotations

from crosscast_migrate.codemod import Example

_ADAM = """\
import torch
from apex.optimizers import FusedAdam

model = torch.nn.Linear(4, 2).cuda()
optimizer = FusedAdam(
    model.parameters(),
    lr=1e-4,  # for batches of 256
    adam_w_mode=True,
)
"""
_ADAM_NEW = """\
import torch

model = torch.nn.Linear(4, 2).cuda()
optimizer = torch.optim.AdamW(
    model.parameters(),
    lr=1e-4,  # for batches of 256
    weight_decay=0.0,
)
"""
_COUPLED = """\
import torch
from apex.optimizers import FusedAdam, FusedSGD

one = FusedAdam(model.parameters(), lr=1e-4, adam_w_mode=False, weight_decay=0.1)
two = FusedSGD(head.parameters(), lr=0.1, momentum=0.9)
"""
_COUPLED_NEW = """\
import torch

one = torch.optim.Adam(model.parameters(), lr=1e-4, weight_decay=0.1)
two = torch.optim.SGD(head.parameters(), lr=0.1, momentum=0.9)
"""
_GUARDED = """\
import torch

try:
    from apex.normalization import FusedLayerNorm as LayerNorm
except ImportError:
    from torch.nn import LayerNorm

norm = LayerNorm(768)
"""
_LAMB = """\
from apex.optimizers import FusedLAMB

optimizer = FusedLAMB(model.parameters(), lr=1e-3)
"""
_OLD = """\
from apex.optimizers import FusedAdam

optimizer = FusedAdam(groups, lr=1e-3, bias_correction=False, max_grad_norm=1.0)
"""
_DDP = """\
import torch
from apex.parallel import DistributedDataParallel as DDP
from apex.parallel import convert_syncbn_model

torch.cuda.set_device(args.local_rank)
model = convert_syncbn_model(model)
model = DDP(model, delay_allreduce=True)
"""
_DDP_NEW = """\
import torch

torch.cuda.set_device(args.local_rank)
model = torch.nn.SyncBatchNorm.convert_sync_batchnorm(model)
model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[args.local_rank], \
broadcast_buffers=False)
"""
_STOCK = """\
from torch.nn.parallel import DistributedDataParallel as DDP

model = DDP(model, device_ids=[rank])
"""
_SUMS = """\
from apex.parallel import DistributedDataParallel

model = DistributedDataParallel(model, gradient_average=False)
"""
FUSED = (
    Example(before=_ADAM, after=_ADAM_NEW),
    Example(before=_COUPLED, after=_COUPLED_NEW),
    Example(before=_GUARDED, after=_GUARDED),
    Example(before=_LAMB, after=_LAMB, refused="FusedLAMB has no equivalent"),
    Example(before=_OLD, after=_OLD, refused="bias_correction=False has no exact equivalent"),
)
PARALLEL = (
    Example(before=_DDP, after=_DDP_NEW),
    Example(before=_STOCK, after=_STOCK),
    Example(before=_SUMS, after=_SUMS, refused="gradient_average"),
)
