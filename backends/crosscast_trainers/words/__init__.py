"""Names of third-party trainers."""

from __future__ import annotations

from crosscast_reading.pysource.libraries.words import FrameworkPackages, Words
from crosscast_trainers.words.signatures import SIGNATURES

WORDS = Words(
    packages=(
        FrameworkPackages(
            "pytorch",
            known=(
                *("accelerate", "deepspeed", "lightning", "lightning_fabric"),
                "pytorch_lightning",
            ),
        ),
        FrameworkPackages("", around=("transformers",)),
    ),
    signatures=SIGNATURES,
    public_names={
        "transformers.optimization": "transformers",
        "transformers.trainer": "transformers",
        "transformers.training_args": "transformers",
        "transformers.hf_argparser": "transformers",
        "accelerate.accelerator": "accelerate",
        "accelerate.utils.dataclasses": "accelerate.utils",
        "deepspeed.runtime.engine": "deepspeed",
        "pytorch_lightning.trainer.trainer": "pytorch_lightning",
        "lightning.pytorch.trainer.trainer": "lightning.pytorch",
        "lightning.fabric.fabric": "lightning.fabric",
    },
    one_name=(
        ("lightning.pytorch", "pytorch_lightning"),
        ("lightning_fabric", "lightning.fabric"),
        ("pytorch_lightning.Fabric", "lightning.fabric.Fabric"),
        ("lightning.Trainer", "pytorch_lightning.Trainer"),
        ("lightning.LightningModule", "pytorch_lightning.LightningModule"),
        ("lightning.Fabric", "lightning.fabric.Fabric"),
    ),
    handed_through_all=(
        "accelerate.Accelerator.prepare",
        "lightning.fabric.Fabric.setup",
        "lightning.fabric.Fabric.setup_dataloaders",
        "lightning.fabric.Fabric.setup_optimizers",
        "lightning.fabric.Fabric.setup_module",
    ),
    results={
        "deepspeed.initialize": (
            "deepspeed.DeepSpeedEngine",
            "deepspeed.DeepSpeedOptimizer",
            "torch.utils.data.DataLoader",
            "deepspeed.LRScheduler",
        ),
    },
    distributions={"pytorch_lightning": "pytorch-lightning"},
)
"""See `pysource.libraries.words`."""
