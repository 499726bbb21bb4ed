"""Configurations of trainers in YAML."""

from __future__ import annotations

from typing import Any

import pytest

from crosscast.messages.source import Source
from crosscast_paddle.reading import paddle_yaml
from crosscast_reading.readers.config import (
    accelerate_yaml,
    axolotl_yaml,
    composer_yaml,
    detectron2_yaml,
    fairseq_yaml,
    hydra_yaml,
    lightning_yaml,
    llama_factory_yaml,
    nemo_yaml,
    neox_yaml,
    torchtune_yaml,
)
from crosscast_reading.readers.config.yaml_format import YamlFormat
from crosscast_reading.readers.protocol import Reading
from crosscast_tensorflow.reading import model_garden_yaml
from reading_helpers.reader_texts import codes, line_of, read, shown, value_of, values_of

from .yaml_cases import CASES, TEXTS

FORMATS = [
    *(accelerate_yaml.READER, axolotl_yaml.READER, composer_yaml.READER, nemo_yaml.READER),
    *(lightning_yaml.READER, lightning_yaml.LITGPT, llama_factory_yaml.READER, neox_yaml.READER),
    *(model_garden_yaml.READER, paddle_yaml.READER, torchtune_yaml.READER),
    *(detectron2_yaml.READER, fairseq_yaml.READER, hydra_yaml.READER, hydra_yaml.DIFFUSION),
]


@pytest.mark.parametrize(("reader", "text", "expected"), CASES)
def test_what_a_configuration_says(reader: YamlFormat, text: str, expected: dict[str, Any]) -> None:
    found = read(reader, text, "c.yaml")
    best: dict[str, Any] = {}
    for fact in found.facts:  # what the file says wins over what the library would do
        if fact.field not in best or fact.layer.value != "library":
            best[fact.field] = shown(fact)
    assert {field: best.get(field) for field in expected} == expected


@pytest.mark.parametrize(("reader", "text", "expected"), CASES)
def test_a_configuration_has_one_owner(
    reader: YamlFormat, text: str, expected: dict[str, Any]
) -> None:
    assert [format_ for format_ in FORMATS if format_.sniff(Source("c.yaml", text))] == [reader]


@pytest.mark.parametrize(
    "text",
    [
        "name: ci\non: [push]\njobs:\n  test:\n    runs-on: ubuntu\n",
        "version: 3\nservices:\n  web:\n    image: x\n",
        "model: resnet\nlr: 0.1\nepochs: 3\noptimizer: sgd\n",
        "trainer: foo\nmodel: bar\n",
        "train:\n  epochs: 3\nout_dir: x\n",
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: x\n",
        "base_model: x\nadapter: y\n",
        "runtime: python\ntask: build\n",
        "Global: 1\nother: 2\n",
        "Optimizer: adam\nAMP: true\n",
        *(
            f"{key}: x\npos_emb: rotary\ninit_method: a\ntrain_iters: 3\nmodel_parallel_size: 1\n"
            for key in ("base_model", "trainer")
        ),
        "model:\n  train_ds: 1\n  sched: 2\n  mcore_gpt: 3\n",
        "task:\n  train_steps: 1\n  optimizer_config: 2\n",
        "trainer:\n  train_steps: 1\n  optimizer_config: 2\nmodel: x\n",
        "model:\n  _component_: torchtune.models.x\n",
        "data:\n  base_learning_rate: 1\n  target: a.b\n",
        "out_dir: x\nmodel_name: y\nother:\n  global_batch_size: 1\n  micro_batch_size: 2\n",
        "out_dir: x\ntrain:\n  global_batch_size: 1\n  micro_batch_size: 2\n",
        "seed_everything: 1\nrun:\n  devices: 2\n",
        "stage: sft\ntemplate: x\nlearning_rate: 0.1\n",
        "datasets: x\nsequence_len: 8\nmicro_batch_size: 2\nnum_epochs: 3\n",
        "VERSION: 2\nMODEL:\n  META_ARCHITECTURE: x\n",
        "snapshot_epoch: 1\nother: 2\n",
        "iters: 10\nlr_scheduler: cosine\n",
        "TRAIN:\n  NUM_EPOCHS: 3\n  END_LR: 0\n",
        "distributed_type: star\n",
        "optimizer:\n  name: adam\nlr_scheduler: x\nloss: y\n",
        "- a\n- b\n",
        "just text",
        "",
    ],
)
def test_other_yaml_is_nobodys(text: str) -> None:
    assert [format_.name for format_ in FORMATS if format_.sniff(Source("c.yaml", text))] == []


def accelerate(text: str) -> Reading:
    return read(accelerate_yaml.READER, text, "c.yaml")


def test_accelerate_no_is_a_word() -> None:
    found = accelerate("distributed_type: 'NO'\nmixed_precision: no\nnum_processes: 1\n")
    assert value_of(found, "precision.enabled") == "never"
    assert value_of(found, "parallel.kind") == "none"


def test_accelerate_with_a_deepspeed_file() -> None:
    found = accelerate(
        "distributed_type: DEEPSPEED\nmixed_precision: bf16\ndeepspeed_config:\n"
        "  deepspeed_config_file: ds.json\n  gradient_accumulation_steps: 2\n"
    )
    assert found.mentions == ("ds.json",)
    assert str(value_of(found, "loss_scaling.mode")).startswith("? ds.json")
    assert codes(found) == ["CC929", "CC929"]


def test_accelerate_with_deepspeed_inside() -> None:
    found = accelerate(
        "distributed_type: DEEPSPEED\nmixed_precision: fp16\ndeepspeed_config:\n"
        "  zero_stage: 3\n  gradient_accumulation_steps: 2\n  gradient_clipping: 1.0\n"
    )
    assert value_of(found, "parallel.kind") == "deepspeed_zero3"
    assert value_of(found, "accumulation.steps") == 2
    assert value_of(found, "clipping.value") == 1.0
    assert line_of(found, "accumulation.steps") == 5


def test_axolotl_auto_precision_and_contradictions() -> None:
    found = read(
        axolotl_yaml.READER, TEXTS["axolotl"].replace("bf16: true", "bf16: auto"), "c.yaml"
    )
    assert value_of(found, "precision.compute_dtype") == "bf16_or_fp16"
    assert values_of(found, "precision.dtypes") == {"bfloat16", "float16"}
    both = read(axolotl_yaml.READER, TEXTS["axolotl"] + "fp16: true\nwarmup_ratio: 0.1\n", "c.yaml")
    assert sorted(codes(both)) == ["CC925", "CC930"]


def test_a_constant_schedule_does_not_warm_up() -> None:
    text = TEXTS["factory"].replace("cosine", "constant")
    assert codes(read(llama_factory_yaml.READER, text, "c.yaml")) == ["CC926"]


def test_llama_factory_reads_what_pyyaml_reads() -> None:
    text = TEXTS["factory"].replace("1.0e-4", "1e-4")
    assert "CC924" in codes(read(llama_factory_yaml.READER, text, "c.yaml"))


def test_megatron_sizes_that_do_not_fit() -> None:
    text = TEXTS["nemo"].replace("tensor_model_parallel_size: 2", "tensor_model_parallel_size: 3")
    assert "CC928" in codes(read(nemo_yaml.READER, text, "c.yaml"))


def test_a_paddle_schedule_that_never_falls() -> None:
    text = TEXTS["detection"].replace("gamma: 0.1", "gamma: 1.0").replace("amp: true\n", "")
    found = read(paddle_yaml.READER, text, "c.yaml")
    assert value_of(found, "schedule.name") == "constant"
    assert value_of(found, "precision.enabled") == "inherit"
    assert found.mentions == ("base.yml",)


def test_paddle_static_scale_and_bf16() -> None:
    static = TEXTS["clas"].replace("scaling: True", "scaling: False")
    assert value_of(read(paddle_yaml.READER, static, "c.yaml"), "loss_scaling.mode") == "static"
    brain = TEXTS["clas"].replace("level: O2", "level: O2\n  dtype: bfloat16")
    assert value_of(read(paddle_yaml.READER, brain, "c.yaml"), "loss_scaling.mode") == "none"


WARMED = """batch_size: 2
iters: 90
amp_cfg:
  use_amp: {on}
  level: O1
  scaler:
    init_loss_scaling: 256.0
train_dataset:
  type: Points
optimizer:
  type: AdamW
  weight_decay: 0.02
  grad_clip:
    type: {clip}
    clip_norm: 7
lr_scheduler:
  type: LinearWarmup
  learning_rate:
    type: {rate}
    learning_rate: 0.003
  warmup_steps: 40
"""


@pytest.mark.parametrize(
    ("clip", "kind"),
    [("ClipGradByGlobalNorm", "global_norm"), ("ClipGradByNorm", "per_param_norm")],
)
@pytest.mark.parametrize(
    ("rate", "decay"), [("CosineAnnealingDecay", "cosine"), ("MultiStepDecay", "multistep")]
)
def test_a_schedule_inside_a_warm_up(clip: str, kind: str, rate: str, decay: str) -> None:
    found = read(paddle_yaml.READER, WARMED.format(on=True, clip=clip, rate=rate), "c.yaml")
    assert value_of(found, "schedule.name") == decay
    assert value_of(found, "schedule.warmup") == "40 steps"
    assert value_of(found, "optimizer.learning_rate") == 0.003
    assert value_of(found, "clipping.kind") == kind
    assert value_of(found, "clipping.value") == 7
    assert value_of(found, "loss_scaling.init_scale") == 256.0
    assert value_of(found, "precision.level") == "O1"


def test_half_precision_that_is_switched_off_beside_its_settings() -> None:
    text = WARMED.format(on=False, clip="ClipGradByNorm", rate="CosineAnnealingDecay")
    found = read(paddle_yaml.READER, text, "c.yaml")
    assert value_of(found, "precision.enabled") == "never"
    assert value_of(found, "loss_scaling.mode") == "none"


WINDOWS: list[tuple[str, dict[str, Any]]] = [
    ("update_freq: 6", {"accumulation.present": "yes", "accumulation.steps": 6}),
    ("update_freq: 1", {"accumulation.present": "no", "accumulation.steps": None}),
    ("print_freq: 6", {"accumulation.present": None, "accumulation.steps": None}),
]


@pytest.mark.parametrize(("line", "expected"), WINDOWS)
def test_the_windows_of_paddleclas(line: str, expected: dict[str, Any]) -> None:
    found = read(
        paddle_yaml.READER, TEXTS["clas"].replace("  epochs: 90", f"  epochs: 90\n  {line}"), "c"
    )
    assert {name: value_of(found, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("line", "kind", "per"),
    [
        ("beta1: 0.9", "none", "step"),
        ("clip_norm: 3.0", "global_norm", "step"),
        ("clip_norm: ${limit}", None, "step"),
        ("beta2: 0.9\n  clip_norm_all: True", None, "step"),
    ],
)
def test_what_paddleclas_does_with_gradients(line: str, kind: str | None, per: str) -> None:
    found = read(paddle_yaml.READER, TEXTS["clas"].replace("beta1: 0.9", line), "c.yaml")
    assert value_of(found, "clipping.kind") == kind
    assert value_of(found, "schedule.stepped_per") == per
    assert value_of(found, "parallel.kind") == "library"
    epochs = TEXTS["clas"].replace("warmup_epoch: 5}", "warmup_epoch: 5, by_epoch: True}")
    by_epoch = read(paddle_yaml.READER, epochs, "c.yaml")
    assert value_of(by_epoch, "schedule.stepped_per") == "epoch"


@pytest.mark.parametrize(("given", "word"), [("True", "yes"), ("False", None)])
def test_recomputing_in_a_model_of_paddle(given: str, word: str | None) -> None:
    text = WARMED.format(on=True, clip="ClipGradByNorm", rate="CosineAnnealingDecay")
    found = read(paddle_yaml.READER, f"{text}model:\n  use_recompute: {given}\n", "c.yaml")
    assert value_of(found, "activation_checkpointing") == word
    assert value_of(found, "clipping.per") == "step"
    assert value_of(found, "clipping.unscaled_first") == "library"


def test_other_texts_have_no_outermost_keys() -> None:
    text = "trainer:\n  _target_: lightning.Trainer\n"
    assert hydra_yaml.READER.sniff(Source("a.yaml", text))
    assert not hydra_yaml.READER.sniff(Source("notes.md", text))
    assert not hydra_yaml.READER.sniff(Source("a.yaml", f"{text}\0"))
