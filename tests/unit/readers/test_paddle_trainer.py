"""Arguments of PaddleNLP's Trainer: YAML of PaddleFormers and ERNIEKit, flags, and look-alikes."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.readers.config import hf_arguments_json, llama_factory_yaml
from reading_helpers.reader_texts import read, shell, value_of, values_of

COMMON = """\
model_name_or_path: some/model
do_train: true
seed: 7
num_train_epochs: 2
per_device_train_batch_size: 2
gradient_accumulation_steps: 8
learning_rate: 2.0e-04
lr_scheduler_type: cosine
warmup_ratio: 0.1
save_strategy: steps
save_steps: 10
logging_steps: 1
"""
FORMERS = f"""\
{COMMON}stage: SFT
template: some_template
bf16: true
fp16_opt_level: O2
unified_checkpoint: true
"""
ERNIE = f"""\
{COMMON.replace("per_device_train_batch_size: 2", "batch_size: 3")}recompute: false
sharding: stage1
compute_type: bf16
"""


def test_a_file_of_paddleformers() -> None:
    assert not llama_factory_yaml.READER.sniff(Source("sft.yaml", FORMERS))
    reading = read(hf_arguments_json.READER, FORMERS, "sft.yaml")
    assert value_of(reading, "framework") == "paddle"
    assert value_of(reading, "api") == "paddle_yaml"
    assert value_of(reading, "precision.mode") == "full"
    assert value_of(reading, "accumulation.steps") == 8
    assert value_of(reading, "schedule.stepped_per") == "step"
    assert value_of(reading, "parallel.kind") == "library"


def test_a_file_of_erniekit() -> None:
    reading = read(hf_arguments_json.READER, ERNIE, "sft.yaml")
    assert value_of(reading, "framework") == "paddle"
    assert value_of(reading, "precision.compute_dtype") == "bfloat16"
    assert value_of(reading, "batch.micro_batch_size") == 3
    assert value_of(reading, "activation_checkpointing") == "none"


def test_a_type_of_fewer_bits_leaves_the_precision_open() -> None:
    reading = read(hf_arguments_json.READER, ERNIE.replace("bf16", "fp8"), "sft.yaml")
    (fact,) = (fact for fact in reading.facts if fact.field == "precision.compute_dtype")
    assert not fact.known
    assert "fp8" in fact.reason


def test_attention_that_only_paddle_has() -> None:
    text = f"{COMMON}bf16: true\nlora: true\n_attn_implementation: "
    reading = read(hf_arguments_json.READER, f"{text}flashmask\n", "sft.yaml")
    assert value_of(reading, "framework") == "paddle"
    reading = read(hf_arguments_json.READER, f"{text}flash_attention_2\n", "sft.yaml")
    assert value_of(reading, "framework") == "pytorch"


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("recompute_granularity: full\nrecompute_method: uniform\n", "yes"),
        ("recompute_granularity: full\n", None),
        ("recompute: false\nrecompute_granularity: full\nrecompute_method: uniform\n", "none"),
    ],
)
def test_what_switches_recomputation_on(more: str, expected: str | None) -> None:
    reading = read(hf_arguments_json.READER, FORMERS + more, "sft.yaml")
    found = [f.value for f in reading.facts if f.field == "activation_checkpointing"]
    assert found == ([] if expected is None else [expected])


def test_degrees_above_one_divide_the_model() -> None:
    one = read(hf_arguments_json.READER, f"{FORMERS}tensor_parallel_degree: 1\n", "sft.yaml")
    assert value_of(one, "parallel.kind") == "library"
    two = read(hf_arguments_json.READER, f"{FORMERS}tensor_parallel_degree: 2\n", "sft.yaml")
    assert value_of(two, "parallel.kind") == "fleet_hybrid"


def test_arguments_of_the_same_names_beside_llama_factory() -> None:
    text = FORMERS.replace("unified_checkpoint: true\n", "finetuning_type: lora\n")
    assert llama_factory_yaml.READER.sniff(Source("sft.yaml", text))
    assert not hf_arguments_json.READER.sniff(Source("sft.yaml", text))


TRAINED = "--do_train --per_device_train_batch_size 4 --save_steps 10 --max_grad_norm 1 "


def test_flags_of_the_trainer_with_float16() -> None:
    reading = shell(f"python -m paddle.distributed.launch a.py {TRAINED}--fp16 --scale_loss 512")
    assert values_of(reading, "loss_scaling.mode") == {"dynamic"}
    assert values_of(reading, "loss_scaling.init_scale") == {512}
    assert values_of(reading, "schedule.on_skip") == {"guarded"}
    assert values_of(reading, "parallel.kind") == {"library"}
    plain = shell(f"python -m paddle.distributed.launch a.py {TRAINED}--bf16")
    assert values_of(plain, "loss_scaling.mode") == {"none"}
    assert values_of(plain, "schedule.on_skip") == {"library"}


SCRIPT = "python -m paddle.distributed.launch a.py --use_pure_fp16 True --scale_loss 1024 "


def test_flags_of_scripts_with_hybrid_parallelism() -> None:
    hybrid = shell(f"{SCRIPT} --dp_degree 2 --mp_degree 2 --grad_clip 0.5 --warmup_rate 0.1")
    assert values_of(hybrid, "parallel.kind") == {"fleet_hybrid"}
    assert value_of(hybrid, "clipping.value") == 0.5
    (kind,) = (fact for fact in hybrid.facts if fact.field == "clipping.kind")
    assert not kind.known
    assert value_of(hybrid, "schedule.has_warmup") == "yes"
    whole = shell(f"{SCRIPT} --dp_degree 8 --mp_degree 1 --pp_degree 1 --sharding_degree 1")
    assert values_of(whole, "parallel.kind") == {"paddle_dp"}
    one = shell(f"{SCRIPT} --dp_degree 2 --grad_clip 0")
    assert values_of(one, "parallel.kind") == {"paddle_dp"}
    assert not values_of(one, "clipping.value")
