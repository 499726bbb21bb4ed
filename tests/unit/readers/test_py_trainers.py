"""Trainers that run the loop: Transformers and Lightning."""

from __future__ import annotations

import pytest

from crosscast_trainers.reading.lightning import READER as LIGHTNING
from crosscast_trainers.reading.transformers import READER
from reading_helpers.torch_programs import facts_of, lines, read_by

CALL = """
import argparse
from transformers import Trainer, TrainingArguments
parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=4)
parser.add_argument("--fp16", action="store_true")
args = parser.parse_args()
training_args = TrainingArguments(
    output_dir="out",
    gradient_accumulation_steps=args.steps,
    learning_rate=2e-5,
    fp16=args.fp16,
    max_grad_norm=0.5,
    lr_scheduler_type="cosine",
    warmup_ratio=0.1,
    optim="adafactor",
    gradient_checkpointing=True,
)
trainer = Trainer(model=model, args=training_args)
"""


def test_arguments_of_a_call() -> None:
    found = read_by(READER, CALL)
    assert found["api"] == ("hf_trainer",)
    assert found["accumulation.steps"] == 4
    assert found["accumulation.present"] == "yes"
    assert found["optimizer.learning_rate"] == 2e-5
    assert found["optimizer.name"] == "adafactor"
    assert found["clipping.value"] == 0.5
    assert found["schedule.name"] == "cosine"
    assert found["schedule.has_warmup"] == "yes"
    assert found["activation_checkpointing"] == "yes"
    assert found["precision.enabled"] == "flag"
    assert found["precision.dtypes"] == ("float16",)
    assert found["precision.compute_dtype"] == "float32"
    assert found["loss_scaling.mode"] == "library"
    steps = next(f for f in facts_of(READER, CALL) if f.field == "accumulation.steps")
    assert (steps.expression, steps.origin, steps.places[0].line) == ("args.steps", "flag", 10)


def test_literal_precision() -> None:
    text = "from transformers import TrainingArguments as T\nargs = T('out', bf16=True)\n"
    found = read_by(READER, text)
    assert (found["precision.enabled"], found["precision.compute_dtype"]) == ("always", "bfloat16")
    found = read_by(READER, text.replace(", bf16=True", ""))
    assert (found["precision.enabled"], found["precision.compute_dtype"]) == ("never", "float32")


def test_processes_that_lightning_starts() -> None:
    text = "import lightning as L\ntrainer = L.Trainer({})\n"

    def world(arguments: str) -> object:
        return read_by(LIGHTNING, text.format(arguments)).get("parallel.world_size")

    assert world("devices=2") == 2
    assert world("devices=[0, 1, 3], num_nodes=2, strategy='ddp'") == 6
    assert world("gpus='4'") == 4
    for other in ("devices=1", "devices='auto'", "devices=-1", "devices=n", "devices=True", ""):
        assert world(other) is None
    assert world("gpus=2, strategy='dp'") is None
    assert world("devices=2, num_nodes=nodes") is None


def test_arguments_of_the_command_line() -> None:
    text = """
    from dataclasses import dataclass, field
    import transformers
    @dataclass
    class Arguments(transformers.TrainingArguments):
        gradient_accumulation_steps: int = field(default=16)
        learning_rate: float = field(default=2e-4)
        max_grad_norm: float = 0.3
    parser = transformers.HfArgumentParser((ModelArguments, Arguments))
    model_args, training_args = parser.parse_args_into_dataclasses()
    kind = torch.float16 if training_args.fp16 else torch.float32
    """
    found = read_by(READER, text)
    assert found["accumulation.steps"] == 16
    assert found["optimizer.learning_rate"] == 2e-4
    assert found["clipping.value"] == 0.3
    assert found["precision.enabled"] == "flag"
    assert found["precision.compute_dtype"] == "float32"
    assert set(found["precision.dtypes"]) == {"float16", "bfloat16"}
    assert 11 in lines(facts_of(READER, text), "precision.enabled")


def test_stock_arguments_of_the_command_line() -> None:
    text = (
        "from transformers import HfArgumentParser, TrainingArguments\n"
        "parser = HfArgumentParser(TrainingArguments)\n"
        "(training_args,) = parser.parse_args_into_dataclasses()\n"
    )
    found = read_by(READER, text)
    assert found["accumulation.steps"] == 1
    assert found["clipping.value"] == 1.0
    assert found["schedule.name"] == "linear"


def test_no_trainer() -> None:
    assert read_by(READER, "from transformers import TrainingArguments\n") == {}
    text = "class TrainingArguments:\n    pass\nargs = TrainingArguments()\n"
    assert read_by(READER, text) == {}


LIT = "import pytorch_lightning as pl\n"


def test_trainer_of_lightning() -> None:
    text = LIT + (
        "trainer = pl.Trainer(precision=16, accumulate_grad_batches=4, gradient_clip_val=0.5,\n"
        "                     gradient_clip_algorithm='value', max_epochs=7)\n"
    )
    found = read_by(LIGHTNING, text)
    assert found["precision.enabled"] == "always"
    assert found["precision.compute_dtype"] == "float16"
    assert found["loss_scaling.mode"] == "library"
    assert found["accumulation.steps"] == 4
    assert found["clipping.kind"] == "value"
    assert found["clipping.value"] == 0.5
    assert found["run.epochs"] == 7
    assert found["parallel.kind"] == ("library",)


def test_precisions_of_lightning() -> None:
    for word, dtype, scaling in (
        ("'bf16-mixed'", "bfloat16", "none"),
        ("'16-true'", "float16", "none"),
        ("'16-mixed'", "float16", "library"),
    ):
        found = read_by(LIGHTNING, LIT + f"trainer = pl.Trainer(precision={word})\n")
        assert (found["precision.compute_dtype"], found["loss_scaling.mode"]) == (dtype, scaling)
    for text in ("pl.Trainer()", "pl.Trainer(precision=32)", "pl.Trainer(gradient_clip_val=0)"):
        found = read_by(LIGHTNING, LIT + f"trainer = {text}\n")
        assert found["precision.enabled"] == "never"
        assert "clipping.kind" not in found


@pytest.mark.parametrize("word", ["64", "'64-true'", "'transformer-engine'"])
def test_a_precision_that_a_recipe_lacks_is_not_float32(word: str) -> None:
    found = read_by(LIGHTNING, LIT + f"trainer = pl.Trainer(precision={word})\n")
    assert found["precision.compute_dtype"] == "?"
    assert "precision.dtypes" not in found


def test_flags_of_the_trainer_itself() -> None:
    text = LIT + (
        "import argparse\nparser = pl.Trainer.add_argparse_args(argparse.ArgumentParser())\n"
        "trainer = pl.Trainer.from_argparse_args(parser.parse_args())\n"
    )
    found = read_by(LIGHTNING, text)
    assert found["precision.enabled"] == "flag"
    assert found["accumulation.present"] == "yes"
    assert found["clipping.kind"] == "global_norm"


def test_a_module() -> None:
    text = LIT + (
        "import torch\nclass Model(pl.LightningModule):\n"
        "    def configure_optimizers(self):\n"
        "        optimizer = torch.optim.Adam(self.parameters())\n"
        "        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 10)\n"
        "        return [optimizer], [{'scheduler': schedule, 'interval': 'step'}]\n"
    )
    found = read_by(LIGHTNING, text)
    assert found["zero_grad.where"] == "library"
    assert found["schedule.stepped_per"] == "step"
    found = read_by(
        LIGHTNING, text.replace("{'scheduler': schedule, 'interval': 'step'}", "schedule")
    )
    assert found["schedule.stepped_per"] == "epoch"


def test_fabric() -> None:
    text = (
        "from lightning.fabric import Fabric\nclass Trainer:\n"
        "    def __init__(self, precision='32-true'):\n"
        "        self.fabric = Fabric(precision=precision)\n"
    )
    found = read_by(LIGHTNING, text)
    assert found["api"] == ("lightning_fabric",)
    assert found["precision.enabled"] == "caller"
    assert found["precision.compute_dtype"] == "float32"


def test_lightning_that_is_only_imported() -> None:
    assert read_by(LIGHTNING, LIT + "print(pl.__version__)\n") == {}
