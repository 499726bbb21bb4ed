"""Facts about libraries besides signatures: public names, pass-through calls, versions."""

from __future__ import annotations

import sys

from crosscast_reading.pysource.libraries.packages import KNOWN

INSTALLED = KNOWN | frozenset(
    {
        *(
            "absl",
            "argparse",
            "click",
            "contextlib",
            "copy",
            "dataclasses",
            "datasets",
            "diffusers",
        ),
        *("easydict", "fire", "functools", "horovod", "hydra", "json", "logging", "math"),
        *("ml_collections", "mmcv", "mmengine", "numpy", "omegaconf", "os", "paddlenlp", "peft"),
        *("random", "sys", "timm", "transformers", "types", "typing", "yacs", "yaml"),
    }
)
"""First names that an absolute import means as a library, whatever the files are called."""

_OTHER_VERSIONS = """
    annotationlib compression tomllib
    aifc asynchat asyncore audioop binhex cgi cgitb chunk crypt distutils dummy_threading formatter
    imghdr imp lib2to3 macpath mailcap msilib nis nntplib ossaudiodev parser pipes smtpd sndhdr spwd
    sunau symbol telnetlib uu xdrlib
"""
STANDARD = sys.stdlib_module_names.union(_OTHER_VERSIONS.split())
"""First names of Python's own modules from 3.7 to 3.14, whichever version runs."""

_PUBLIC = {
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
    "transformers.optimization": "transformers",
    "transformers.trainer": "transformers",
    "transformers.training_args": "transformers",
    "transformers.hf_argparser": "transformers",
    "accelerate.accelerator": "accelerate",
    "accelerate.utils.dataclasses": "accelerate.utils",
    "tensorflow.compat.v2": "tensorflow",
    "tensorflow.python.keras": "tensorflow.keras",
    "keras.src": "keras",
    "keras.api": "keras",
    "optax._src.wrappers": "optax",
    "optax._src.alias": "optax",
    "optax._src.transform": "optax",
    "optax._src.clipping": "optax",
    "paddle.fluid.contrib.mixed_precision.decorator": "paddle.fluid.contrib.mixed_precision",
    "paddle.fluid.dygraph.amp": "paddle.fluid.dygraph",
    "paddle.amp.grad_scaler": "paddle.amp",
    "paddle.amp.auto_cast.auto_cast": "paddle.amp.auto_cast",
    "paddle.amp.auto_cast.decorate": "paddle.amp.decorate",
    "deepspeed.runtime.engine": "deepspeed",
    "pytorch_lightning.trainer.trainer": "pytorch_lightning",
    "lightning.pytorch.trainer.trainer": "lightning.pytorch",
    "lightning.fabric.fabric": "lightning.fabric",
}
"""Private or second places of public names."""
_OPTIM_PRIVATE = frozenset(
    {
        *("adam", "adamw", "sgd", "rmsprop", "adagrad", "adadelta", "adamax", "asgd", "lbfgs"),
        *("nadam", "radam", "rprop", "sparse_adam", "optimizer"),
    }
)

_ONE_NAME = (
    ("lightning.pytorch", "pytorch_lightning"),
    ("lightning_fabric", "lightning.fabric"),
    ("pytorch_lightning.Fabric", "lightning.fabric.Fabric"),
    ("lightning.Trainer", "pytorch_lightning.Trainer"),
    ("lightning.LightningModule", "pytorch_lightning.LightningModule"),
    ("lightning.Fabric", "lightning.fabric.Fabric"),
)


def public_name(name: str) -> str:
    """Return the public name of what a private module of a library holds."""
    head, _, rest = name.partition(".")
    if head not in KNOWN or not rest:
        return name
    if name.startswith("torch.optim.") and name.count(".") > 2:
        parts = name.split(".")
        if parts[2] in _OPTIM_PRIVATE:
            return ".".join((*parts[:2], *parts[3:]))
    cut = len(name)
    while cut > 0:
        found = _PUBLIC.get(name[:cut])
        if found is not None:
            return found + name[cut:]
        cut = name.rfind(".", 0, cut)
    return name


def same_name(name: str) -> str:
    """Return one name for what libraries offer under several, for comparisons."""
    name = public_name(name)
    for other, shared in _ONE_NAME:
        if name == other or name.startswith(f"{other}."):
            return shared + name[len(other) :]
    return name


SELF_RETURNING = frozenset(
    {
        *("to", "cuda", "cpu", "half", "float", "double", "bfloat16", "train", "eval", "clone"),
        *("requires_grad_", "npu", "xpu", "set_epoch", "copy", "deepcopy", "share_memory"),
        *("requires_grad", "apply", "freeze", "unfreeze"),
    }
)
"""Methods of models, tensors and configurations that return what they were called on."""

HANDED_THROUGH: dict[str, tuple[int, ...] | int] = {
    "apex.amp.initialize": (0, 1),
    "torch.compile": 0,
    "torch.jit.script": 0,
    "copy.deepcopy": 0,
    "copy.copy": 0,
    "torch.nn.SyncBatchNorm.convert_sync_batchnorm": 0,
    "apex.parallel.convert_syncbn_model": 0,
    "paddle.amp.decorate": (0, 1),
    "paddle.distributed.fleet.distributed_model": 0,
    "ipex.optimize": (0, 1),
}
"""Calls that return their arguments: a position, or one for each part of the result."""

HANDED_THROUGH_ALL = frozenset(
    {
        "accelerate.Accelerator.prepare",
        "lightning.fabric.Fabric.setup",
        "lightning.fabric.Fabric.setup_dataloaders",
        "lightning.fabric.Fabric.setup_optimizers",
        "lightning.fabric.Fabric.setup_module",
    }
)
"""Calls that return all their positional arguments in order."""

RESULTS: dict[str, tuple[str, ...]] = {
    "deepspeed.initialize": (
        "deepspeed.DeepSpeedEngine",
        "deepspeed.DeepSpeedOptimizer",
        "torch.utils.data.DataLoader",
        "deepspeed.LRScheduler",
    ),
    "tensorflow.clip_by_global_norm": ("tensorflow.Tensor", "tensorflow.Tensor"),
}
"""Calls whose result has parts with classes of their own."""

PACKAGE_OF = {
    "tensorflow": "tensorflow",
    "pytorch_lightning": "pytorch-lightning",
    "paddle": "paddlepaddle",
    "flax": "flax",
}
"""Package that brings a module, where its name is another."""
