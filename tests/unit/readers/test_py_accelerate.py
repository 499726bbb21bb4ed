"""Accelerate, and DeepSpeed started from Python."""

from __future__ import annotations

import pytest

from crosscast_trainers.reading.accelerate import READER
from crosscast_trainers.reading.deepspeed import READER as DEEPSPEED
from torch_programs import read_by

FLAGS = """
import argparse
from accelerate import Accelerator
parser = argparse.ArgumentParser()
parser.add_argument("--mixed_precision", default={default}, choices=["no", "fp16", "bf16"])
args = parser.parse_args()
accelerator = Accelerator(mixed_precision=args.mixed_precision)
"""


@pytest.mark.parametrize(
    ("default", "word"),
    [("'no'", "float32"), ("None", "launcher_or_config"), ("'bf16'", "bfloat16")],
)
def test_a_flag_decides(default: str, word: str) -> None:
    found = read_by(READER, FLAGS.format(default=default))
    assert found["precision.enabled"] == "flag"
    assert found["precision.dtypes"] == ("float16", "bfloat16")
    assert found["precision.compute_dtype"] == word
    assert found["loss_scaling.mode"] == "library"
    assert found["parallel.kind"] == ("library",)


def test_literals() -> None:
    text = "from accelerate import Accelerator\naccelerator = Accelerator(mixed_precision={})\n"
    found = read_by(READER, text.format("'fp16'"))
    assert (found["precision.enabled"], found["loss_scaling.mode"]) == ("always", "library")
    found = read_by(READER, text.format("'no'"))
    assert (found["precision.enabled"], found["loss_scaling.mode"]) == ("never", "none")
    found = read_by(READER, text.format("'bf16'"))
    assert found["precision.compute_dtype"] == "bfloat16"
    assert "loss_scaling.mode" not in found


def test_without_a_word_the_launcher_decides() -> None:
    found = read_by(READER, "from accelerate import Accelerator\naccelerator = Accelerator()\n")
    assert found["precision.enabled"] == "config"
    assert found["precision.compute_dtype"] == "launcher_or_config"


def test_parameters_of_the_scaler() -> None:
    text = (
        "from accelerate import Accelerator\nfrom accelerate.utils import GradScalerKwargs\n"
        "accelerator = Accelerator(mixed_precision='fp16', kwargs_handlers=["
        "GradScalerKwargs(init_scale=512.0, growth_interval=100)])\n"
    )
    found = read_by(READER, text)
    assert found["loss_scaling.mode"] == "dynamic"
    assert found["loss_scaling.init_scale"] == 512.0
    assert found["loss_scaling.growth_interval"] == 100


def test_no_accelerator() -> None:
    assert (
        read_by(READER, "from accelerate import Accelerator\nfrom accelerate import logging\n")
        == {}
    )


def test_a_configuration_in_the_program() -> None:
    text = """
    import deepspeed
    steps = 4
    config = {
        "train_micro_batch_size_per_gpu": 2,
        "gradient_accumulation_steps": steps,
        "optimizer": {"type": "AdamW", "params": {"lr": 1e-4, "betas": [0.9, 0.95]}},
        "fp16": {"enabled": True, "initial_scale_power": 12},
        "zero_optimization": {"stage": 2},
        "gradient_clipping": 1.0,
    }
    engine, optimizer, _, _ = deepspeed.initialize(model=model, config=config)
    """
    found = read_by(DEEPSPEED, text)
    assert found["precision.compute_dtype"] == "float16"
    assert found["loss_scaling.init_scale"] == 4096.0
    assert found["accumulation.steps"] == 4
    assert found["clipping.value"] == 1.0
    assert found["optimizer.learning_rate"] == 1e-4
    assert found["optimizer.betas.1"] == 0.95
    assert found["parallel.kind"] == ("deepspeed_zero2",)


def test_a_configuration_in_a_file() -> None:
    text = "import deepspeed\nengine, *_ = deepspeed.initialize(args=args, model=model)\n"
    found = read_by(DEEPSPEED, text)
    assert found["precision.enabled"] == "config"
    assert found["parallel.kind"] == ("deepspeed",)
    assert read_by(DEEPSPEED, "import deepspeed\ndeepspeed.add_config_arguments(parser)\n") == {}
