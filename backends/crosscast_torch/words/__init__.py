"""Names of PyTorch and of what is built on it."""

from __future__ import annotations

from crosscast_reading.pysource.libraries.words import FrameworkPackages, Words
from crosscast_torch.words.mixed_precision import MIXED_PRECISION
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
    roles={
        "optimizer": r"torch\.optim\.(?!lr_scheduler\b|swa_utils\b)(\w+\.)*[A-Z]\w+",
        "schedule": r"torch\.optim\.lr_scheduler\.[A-Z]\w+",
        "scaler": r"torch\.((cuda|cpu)\.)?amp\.(grad_scaler\.)?GradScaler"
        r"|torch\.distributed\.fsdp\.sharded_grad_scaler\.ShardedGradScaler",
        "sums_over_processes": r"torch\.distributed\.all_reduce",
        "saves": r"torch\.save",
        "data_loader": r"torch\.utils\.data\.(dataloader\.)?DataLoader",
        "joins_processes": r"torch\.distributed\.(init_process_group|launch)"
        r"|torch\.multiprocessing\.(spawn|start_processes)",
    },
    hidden_models={
        "torch.nn.DataParallel": "module",
        "torch.nn.parallel.DataParallel": "module",
        "torch.nn.parallel.DistributedDataParallel": "module",
    },
    foreign_arguments=(
        (
            r"torch\.optim\.(?!lr_scheduler|swa_utils)[A-Z]\w+",
            {
                "learning_rate": "use `lr`",
                "parameters": "use `params`",
                "beta1": "Adam has `betas=(beta1, beta2)`",
                "beta2": "Adam has `betas=(beta1, beta2)`",
                "beta_1": "Adam has `betas=(beta_1, beta_2)`",
                "beta_2": "Adam has `betas=(beta_1, beta_2)`",
                "epsilon": "Adam has `eps`",
                "grad_clip": "call torch.nn.utils.clip_grad_norm_ before the step",
            },
        ),
        (
            r"torch\.optim\.(Adam|AdamW)",
            {"momentum": "use `betas`, whose first number takes its place"},
        ),
    ),
    mixed_precision=MIXED_PRECISION,
)
"""See `pysource.libraries.words`."""
