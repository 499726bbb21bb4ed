"""Names of PyTorch and of what is built on it."""

from __future__ import annotations

from crosscast_reading.pysource.libraries.words import FrameworkPackages, Words
from crosscast_torch.words.signatures import SIGNATURES

WORDS = Words(
    packages=(
        FrameworkPackages(
            "pytorch",
            own=("torch", "torchvision", "torchaudio"),
            known=("apex", "torch_xla"),
            around=(
                *("catalyst", "fairseq", "ignite", "megatron", "mmcv", "mmengine", "monai", "nemo"),
                *("timm", "torchtune"),
            ),
            steps=("optim", "backward", "amp", "nn."),
        ),
    ),
    signatures=SIGNATURES,
    public_names={
        "torch.cuda.amp.grad_scaler": "torch.cuda.amp",
        "torch.cuda.amp.autocast_mode": "torch.cuda.amp",
        "torch.amp.grad_scaler": "torch.amp",
        "torch.amp.autocast_mode": "torch.amp",
        "torch.autocast": "torch.amp.autocast",
        "torch.GradScaler": "torch.amp.GradScaler",
        "torch.nn.utils.clip_grad": "torch.nn.utils",
        "torch.nn.parallel.distributed": "torch.nn.parallel",
        "torch.nn.parallel.data_parallel": "torch.nn.parallel",
        "torch.nn.DataParallel": "torch.nn.parallel.DataParallel",
        "torch.utils.data.distributed": "torch.utils.data",
        "torch.utils.data.dataloader": "torch.utils.data",
        "apex.amp.frontend": "apex.amp",
        "apex.amp.handle": "apex.amp",
        "apex.parallel.distributed": "apex.parallel",
    },
    handed_through={
        "apex.amp.initialize": (0, 1),
        "torch.compile": 0,
        "torch.jit.script": 0,
        "torch.nn.SyncBatchNorm.convert_sync_batchnorm": 0,
        "apex.parallel.convert_syncbn_model": 0,
        "ipex.optimize": (0, 1),
    },
)
"""See `pysource.libraries.words`."""
