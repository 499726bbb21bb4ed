"""Names of frameworks without a package here, and of libraries that work with all of them."""

from __future__ import annotations

from crosscast_reading.pysource.libraries.words import FrameworkPackages, Words

WORDS = Words(
    packages=(
        FrameworkPackages(
            "mxnet",
            own=("mxnet",),
            around=("gluoncv", "gluonnlp"),
            steps=("Trainer", "autograd", "optimizer", "gluon.nn", "Module", "kvstore"),
            is_read=False,
        ),
        FrameworkPackages("mindspore", own=("mindspore",), is_read=False),
        FrameworkPackages("oneflow", own=("oneflow",), is_read=False),
        FrameworkPackages("", around=("byteps", "diffusers", "horovod")),
    ),
    handed_through={"copy.deepcopy": 0, "copy.copy": 0},
    roles={
        "joins_processes": r"horovod\.[\w.]*\binit|deepspeed\.init_distributed",
    },
    libraries=(
        *("absl", "argparse", "click", "contextlib", "copy", "dataclasses", "datasets"),
        *("diffusers", "easydict", "fire", "functools", "horovod", "hydra", "json", "logging"),
        *("math", "ml_collections", "mmcv", "mmengine", "numpy", "omegaconf", "os", "paddlenlp"),
        *("peft", "random", "sys", "timm", "transformers", "types", "typing", "yacs", "yaml"),
    ),
)
"""See `pysource.libraries.words`."""
