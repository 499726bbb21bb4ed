"""`auto` in a configuration of DeepSpeed is what the arguments of the Trainer say."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lift.analysis import analyse, together
from crosscast_reading.lift.drafting import lift
from crosscast_reading.lift.recipe_draft import Filled

TRAINER = """\
from transformers import Trainer, TrainingArguments

args = TrainingArguments(
    output_dir="out",
    per_device_train_batch_size=12,
    gradient_accumulation_steps=4,
    learning_rate=3e-5,
    weight_decay=0.02,
    max_grad_norm=0.7,
    lr_scheduler_type="cosine",
    warmup_steps=50,
    max_steps=900,
    deepspeed="ds.json",
    TYPE
)
Trainer(model=model, args=args, train_dataset=rows).train()
"""
ENGINE = """\
import deepspeed
engine, _, _, _ = deepspeed.initialize(model=model, config="ds.json")
for batch in loader:
    engine.backward(engine(batch))
    engine.step()
"""
CONFIG = """\
{
  "train_batch_size": "auto",
  "train_micro_batch_size_per_gpu": "auto",
  "gradient_accumulation_steps": "auto",
  "gradient_clipping": "auto",
  "optimizer": {"type": "AdamW", "params": {"lr": "auto", "eps": 1e-6, "weight_decay": "auto"}},
  "fp16": {"enabled": "auto", "loss_scale": 0, "initial_scale_power": 10},
  "bf16": {"enabled": "auto"}
}
"""


def fields(program: str, config: str = CONFIG) -> dict[str, Filled]:
    sources = [Source("train.py", program), Source("ds.json", config)]
    return dict(lift(analyse(together(sources))).fields)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("batch.micro_batch_size", 12),
        ("accumulation.steps", 4),
        ("clipping.max_norm", 0.7),
        ("optimizer.learning_rate", 3e-5),
        ("optimizer.weight_decay", 0.02),
    ],
)
def test_the_trainer_fills_in_what_the_file_leaves(path: str, value: float) -> None:
    found = fields(TRAINER.replace("TYPE", "fp16=True,"))[path]
    assert (found.value, found.how) == (value, "read")
    assert found.places[0].file == "train.py"


def test_a_default_of_the_trainer_fills_in_too() -> None:
    found = fields(TRAINER.replace("    learning_rate=3e-5,\n    ", "").replace("TYPE", ""))[
        "optimizer.learning_rate"
    ]
    assert (found.value, found.how) == (5e-5, "default")


def test_what_the_file_says_stays() -> None:
    found = fields(TRAINER.replace("TYPE", "adam_epsilon=1e-6,"))["optimizer.eps"]
    assert (found.value, found.places[0].file) == (1e-6, "ds.json")


@pytest.mark.parametrize(
    ("words", "mode", "dtype", "scaling"),
    [
        ("fp16=True,", "mixed", "float16", "dynamic"),
        ("bf16=True,", "mixed", "bfloat16", "none"),
        ("", "none", "float32", "none"),
    ],
)
def test_the_type_is_that_of_the_trainer(words: str, mode: str, dtype: str, scaling: str) -> None:
    found = fields(TRAINER.replace("TYPE", words))
    assert found["precision.mode"].value == mode
    assert found["loss_scaling.mode"].value == scaling
    if mode == "mixed":
        assert found["precision.compute_dtype"].value == dtype
    if scaling == "dynamic":
        assert found["loss_scaling.init_scale"].value == 1024


@pytest.mark.parametrize("program", [ENGINE, "import torch\n"], ids=["engine", "unrelated"])
def test_without_a_trainer_it_stays_open(program: str) -> None:
    found = fields(program)
    assert found["optimizer.learning_rate"].how == "assumed"
    assert found["accumulation.steps"].how == "assumed"


def test_the_schedule_of_the_trainer_ends_at_zero() -> None:
    found = fields(TRAINER.replace("TYPE", ""))
    assert (found["schedule.end_lr"].value, found["schedule.end_lr"].how) == (0.0, "default")
    assert (found["schedule.decay_from"].value, found["schedule.decay_from"].how) == (
        "warmup_end",
        "default",
    )


@pytest.mark.parametrize(
    ("words", "paths"),
    [
        ("group_by_length=True,", ["data.shuffle"]),
        ('train_sampling_strategy="group_by_length",', ["data.shuffle"]),
        ("neftune_noise_alpha=5.0,", ["model"]),
        ("group_by_length=True,\n    neftune_noise_alpha=5.0,", ["data.shuffle", "model"]),
        ("group_by_length=False,\n    neftune_noise_alpha=None,", []),
        ('train_sampling_strategy="random",', []),
    ],
)
def test_what_no_recipe_has_is_said(words: str, paths: list[str]) -> None:
    sources = [Source("train.py", TRAINER.replace("TYPE", words)), Source("ds.json", CONFIG)]
    found = [d for d in lift(analyse(together(sources))).diagnostics if d.code == "CC911"]
    assert sorted(d.path for d in found) == paths


@pytest.mark.parametrize(
    "words", ['"cosine_with_min_lr"', '"cosine",\n    lr_scheduler_kwargs={"num_cycles": 1.5}']
)
def test_another_end_is_not_taken_for_zero(words: str) -> None:
    text = TRAINER.replace('"cosine"', words).replace("TYPE", "")
    assert fields(text)["schedule.end_lr"].how == "assumed"


def test_the_end_of_the_trainers_schedule_is_not_that_of_deepspeeds() -> None:
    scheduler = '"scheduler": {"type": "WarmupCosineLR", "params": {"warmup_num_steps": "auto"}},'
    config = CONFIG.replace('  "fp16"', f'  {scheduler}\n  "fp16"')
    found = fields(TRAINER.replace("TYPE", ""), config)
    assert found["schedule.name"].value == "cosine"
    assert found["schedule.end_lr"].how == "assumed"
