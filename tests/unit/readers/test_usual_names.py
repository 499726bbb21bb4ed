"""What names of settings tell where their program is not read, and what they must not tell."""

from __future__ import annotations

import json

import pytest

from crosscast_reading.readers.usual_names import snake
from reader_texts import told

CONFIG = """\
seed: 3
model: {layers: 4, dtype: float16, lr: 9, warmup_steps: 9}
optimizer:
  type: AdamW
  lr: 2e-4
  weight_decay: 0.1
scheduler: {name: cosine, warmup_steps: 300}
max_grad_norm: 1.0
gradient_accumulation_steps: 4
epochs: 3
batch_size: 8
precision: fp16
recompute_grad: true
"""


def test_a_configuration_of_an_unknown_program() -> None:
    expected = {
        "seed": 3,
        "optimizer.name": "adamw",
        "optimizer.learning_rate": 2e-4,
        "optimizer.weight_decay": 0.1,
        "schedule.name": "cosine",
        "schedule.warmup": "300 steps",
        "schedule.has_warmup": "yes",
        "clipping.kind": "global_norm",
        "clipping.value": 1.0,
        "accumulation.steps": 4,
        "accumulation.present": "yes",
        "precision.enabled": "always",
        "precision.compute_dtype": "float16",
        "precision.dtypes": "float16",
        "loss_scaling.mode": "? the program that reads this decides",
        "activation_checkpointing": "yes",
    }
    found = told(c__yaml=CONFIG)
    assert {field: found.get(field) for field in expected} == expected
    assert "framework" not in found


@pytest.mark.parametrize(
    ("name", "usual"),
    [
        ("n_accum_grads", "gradient_accumulation_steps"),
        ("gradAccumIters", "gradient_accumulation_steps"),
        ("accumulate-grad-batches", "gradient_accumulation_steps"),
        ("accum_iter", "gradient_accumulation_steps"),
        ("gradient_accumulation_factor", "gradient_accumulation_steps"),
        ("grad_accum_dtype", "grad_accum_dtype"),
        ("accumulate", "accumulate"),
        ("accum_time", "accum_time"),
        ("num_warm_up_steps", "warmup_steps"),
        ("lr_warmup", "warmup_steps"),
        ("warmup_lr", "warmup_lr"),
        ("warmup_ratio", "warmup_ratio"),
        ("use_warmup", "use_warmup"),
        ("lr_warmup_epochs", "warmup_epochs"),
        ("warm_start", "warm_start"),
    ],
)
def test_spellings(name: str, usual: str) -> None:
    assert snake(name) == usual


DOTTED = """\
steps: 1000
optimizer.class: adam
optimizer.params:
  beta_1: 0.9
  beta_2: 0.98
lr_schedule.class: noam
lr_schedule.params: {warmup_steps: 40, decay: 3}
metric.class: adam
metric.params: {beta_1: 5}
"""


def test_sections_with_dots() -> None:
    found = told(c__yaml=DOTTED)
    assert found["optimizer.name"] == "adam"
    assert found["optimizer.betas.1"] == 0.98
    assert found["schedule.name"] == "noam"
    assert found["schedule.has_warmup"] == "yes"


@pytest.mark.parametrize("name", ["seed", "randomSeed", "random-seed"])
def test_a_seed_in_any_usual_spelling(name: str) -> None:
    assert told(c__yaml=CONFIG.replace("seed: 3", f"{name}: 5"))["seed"] == 5


@pytest.mark.parametrize(
    ("old", "new", "field", "value"),
    [
        ("max_grad_norm: 1.0", "max_grad_norm: 0", "clipping.kind", "none"),
        ("max_grad_norm: 1.0", "gradClip: null", "clipping.kind", "none"),
        ("max_grad_norm", "grad_clip", "clipping.kind", "? grad_clip does not say what it limits"),
        ("max_grad_norm", "clip_value", "clipping.kind", "value"),
        ("warmup_steps: 300", "warmup_ratio: 0.1", "schedule.warmup", "0.1 of all"),
        ("warmup_steps: 300", "warmup_epochs: 5", "schedule.warmup", "5 epochs"),
        ("warmup_steps: 300", "warmup_steps: 0", "schedule.has_warmup", "no"),
        ("precision: fp16", "fp16: false", "precision.enabled", "never"),
        ("precision: fp16", "amp: true", "precision.compute_dtype", "? amp does not say which"),
        ("weight_decay: 0.1", "weight_decay: false", "optimizer.weight_decay", None),
        ("lr: 2e-4", "lr: [1e-3, 1e-4]", "optimizer.learning_rate", None),
        ("warmup_steps: 300", "warmup: false", "schedule.has_warmup", "no"),
        ("warmup_steps: 300", "warmup: true", "schedule.has_warmup", "yes"),
        ("name: cosine", "milestones: [10, 20]", "schedule.name", "multistep"),
        ("name: cosine", "name: step, decay_list: [10, 20]", "schedule.name", "multistep"),
        ("name: cosine", "name: step, decay_list: 3", "schedule.name", "step"),
        ("name: cosine", "name: cosine, decay_list: [10, 20]", "schedule.name", "cosine"),
        ("name: cosine", 'name: "0.5"', "schedule.name", None),
        ("type: AdamW", "type: true", "optimizer.source_name", None),
        ("name: cosine", "name: warp", "schedule.name", "? a schedule called 'warp'"),
        ("name: cosine", "name: cos", "schedule.name", "cosine"),
        ("lr: 2e-4\n", "lr: {initial_rate: 3e-4}\n", "optimizer.learning_rate", 3e-4),
        ("scheduler: {name: cosine, ", "LR: {SCHEDULE: cos, ", "schedule.name", "cosine"),
        ("precision: fp16", "dtype: mixed_bfloat16", "precision.compute_dtype", "bfloat16"),
        ("precision: fp16", "dtype: float16", "precision.compute_dtype", None),
        ("recompute_grad: true", "recompute_grad: false", "activation_checkpointing", "none"),
    ],
)
def test_other_words(old: str, new: str, field: str, value: object) -> None:
    assert old in CONFIG
    assert told(c__yaml=CONFIG.replace(old, new)).get(field) == value


@pytest.mark.parametrize(
    ("old", "new", "unit"),
    [
        ("gradient_accumulation_steps: 4", "", "step"),
        ("gradient_accumulation_steps: 4", "gradient_accumulation_steps: 1", "step"),
        ("steps: 4", "steps: 4", None),  # of micro-batches or of updates
        ("warmup_steps: 300}", "decay_steps: 900}\naccum_iter: 2", None),
        ("warmup_steps: 300}\n", "warmup_steps: 0}\n", None),
        ("warmup_steps: 300}\n", "warmup_epochs: 5}\n", None),
        ("warmup_steps: 300}\n", "warmup: 40}\n", None),
        ("name: cosine, warmup_steps: 300}\n", "lr_boundaries: [2000, 8000]}\n", "step"),
        ("name: cosine, warmup_steps: 300}\n", "milestones: [30, 60]}\n", None),
        ("name: cosine, warmup_steps: 300}\n", "decay_steps: 30}\n", None),  # of what?
    ],
)
def test_what_counts_the_steps_of_a_schedule(old: str, new: str, unit: str | None) -> None:
    one = CONFIG.replace("gradient_accumulation_steps: 4\n", "") if "300}" in old else CONFIG
    assert old in one
    assert told(c__yaml=one.replace(old, new)).get("schedule.stepped_per") == unit


OF_KERAS = """\
net: {kernel_initializer: he_normal}
training:
  train_steps: 9000
  strategy: {type: tpu, name: v3-8}
  batch_norm: {momentum: 0.99}
  optimizer:
    name: sgd
    momentum: 0.9
    clipnorm: 10.0
    lr_params:
      schedule_type: piecewise_constant_decay
      values: [0.08, 0.008]
      boundaries: [6000, 8000]
"""


def test_sections_of_a_rate_and_a_strategy() -> None:
    found = told(c__yaml=OF_KERAS)
    assert found["framework"] == "tensorflow"
    assert found["parallel.kind"] == "tpu"
    assert found["optimizer.momentum"] == 0.9
    assert found["schedule.name"] == "multistep"
    assert found["schedule.stepped_per"] == "step"
    assert found["clipping.kind"] == "? clipnorm does not say what it limits"
    search = "epochs: 3\nbatch_size: 4\nmomentum: 0.9\nlr: {values: [0.1, 0.2]}\n"
    assert told(c__yaml=search) == {}


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("dtype: mixed_float16", "tensorflow"),
        ("layers: [{units: 3, kernel_regularizer: null}]", "tensorflow"),
        ("encoder: {model_name: TFBertModel}", "tensorflow"),
        ("lr_fn: PiecewiseConstantDecay", "tensorflow"),
        ("optimizer_class: tf.keras.optimizers.Adam", "tensorflow"),
        ("encoder: {model_name: TFTModel}", None),
        ("encoder: {model_name: BertModel}", None),
        ("lr_fn: PiecewiseDecay", None),
        ("dtype: float16", None),
        ("kernel_init: he_normal", None),
        ("note: not tf.keras.optimizers", None),
    ],
)
def test_words_that_only_tensorflow_has(line: str, word: str | None) -> None:
    assert told(c__yaml=CONFIG + line + "\n").get("framework") == word


def test_a_number_for_the_loss_scale_is_fixed() -> None:
    found = told(c__yaml=CONFIG + "loss_scaling: 1024\n")
    assert (found["loss_scaling.mode"], found["loss_scaling.scale"]) == ("static", 1024)
    for other in ("loss_scaling: true", "loss_scale: 0", "init_loss_scale: 1024"):
        left = told(c__yaml=CONFIG + other + "\n")["loss_scaling.mode"]
        assert left == "? the program that reads this decides"


def test_a_model_that_trains_itself() -> None:
    text = "model: {depth: 4, opt: adam, lr: 4e-4, lr_warmup_epochs: 9, epochs: 90}\nreplicas: 4\n"
    found = told(c__yaml=text)
    assert (found["optimizer.learning_rate"], found["schedule.warmup"]) == (4e-4, "9 epochs")
    assert told(c__yaml=text.replace("epochs: 90", "width: 90")) == {}


def test_two_optimizers_leave_the_rate_open() -> None:
    found = told(c__yaml=CONFIG + "discriminator: {optimizer: {lr: 0.5, weight_decay: 0.1}}\n")
    assert found["optimizer.learning_rate"] == "? lr is set in several sections"
    assert found["optimizer.weight_decay"] == 0.1


def test_json_and_flags_of_an_unknown_program() -> None:
    entries = {"lr": 0.01, "lr_decay": "exp", "batch_size": 4, "gradient_clipping": 1.0}
    found = told(c__json=json.dumps(entries, indent=1))
    assert (found["optimizer.learning_rate"], found["schedule.name"]) == (0.01, "exponential")
    flags = "--lr=0.1 --warmupSteps=10 --batchSize=4 --totalSteps 100 --weightDecay 0.2"
    found = told(run__sh=f"jsrun -n 4 python3 t.py {flags}\n")
    assert (found["schedule.warmup"], found["optimizer.weight_decay"]) == ("10 steps", 0.2)
    assert found["parallel.kind"].startswith("? jsrun starts several processes")
    assert "framework" not in found


@pytest.mark.parametrize(
    "text",
    [
        "lr: 0.1\n",
        "lr: 0.1\nbatch_size: 4\nhidden: 3\n",  # of an inference benchmark
        "warmup_steps: 3\nmax_grad_norm: 1.0\nbatch_size: 4\nepochs: 2\n",  # no rate
        "model: {lr: 0.1, weight_decay: 0.1, warmup_steps: 3, optimizer: adam}\n",
        "search:\n  lr: 0.1\n  weight_decay: 0.1\n  warmup: 3\n  epochs: 4\n",
        "- lr: 0.1\n  weight_decay: 0.1\n  epochs: 3\n  batch_size: 4\n",  # rows of results
    ],
)
def test_what_is_no_configuration_of_a_training(text: str) -> None:
    assert told(c__yaml=text) == {}


def test_results_in_json_are_no_configuration() -> None:
    rows = [{"lr": 0.1, "epochs": 3, "batch_size": 4, "weight_decay": 0.1}]
    assert told(c__json=json.dumps(rows)) == {}
    assert told(c__json=json.dumps({"lr": [0.1, 0.2], "loss": [2, 1], "step": [1, 2]})) == {}


def test_a_program_among_the_files_knows_better() -> None:
    program = (
        "import torch\nfor batch in batches:\n    model(batch).backward()\n"
        "    torch.nn.utils.clip_grad_value_(model.parameters(), 0.5)\n    optimizer.step()\n"
    )
    found = told(t__py=program, c__yaml=CONFIG)
    assert (found["clipping.kind"], found["clipping.value"]) == ("value", 0.5)
    assert found["schedule.name"] == "cosine"  # which the program does not speak of


def test_a_window_of_no_micro_batches_is_left_open() -> None:
    text = CONFIG.replace("gradient_accumulation_steps: 4", "gradient_accumulation_factor: 0")
    facts = told(train__yaml=text)
    assert facts["accumulation.present"] == "yes"
    assert "0 is no number of micro-batches" in str(facts["accumulation.steps"])


@pytest.mark.parametrize(
    ("kind", "warms"), [("noam_decay", "yes"), ("cosine", None), ("exponential_decay", None)]
)
def test_a_schedule_that_always_rises_first(kind: str, warms: str | None) -> None:
    text = f"optimizer: Adam\nlr: 2.0\nbatch_size: 8\ntrain_steps: 900\nlr_schedule: {kind}\n"
    assert told(run__yaml=text).get("schedule.has_warmup") == warms
