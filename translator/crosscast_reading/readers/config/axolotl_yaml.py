"""Configurations of axolotl. It converts texts to numbers itself, so `2e-5` is a number."""

from __future__ import annotations

from crosscast.messages.source import Source
from crosscast_reading.readers.config.yaml_format import YamlFormat
from crosscast_reading.readers.settings import SettingWriter
from crosscast_reading.readers.tree import Tree
from crosscast_reading.readers.words import (
    first_given,
    tell_clip,
    tell_decay,
    tell_numbers,
    tell_optimizer,
    tell_warmup,
    tell_window,
)

_KNOWN = frozenset(
    (
        *("datasets", "micro_batch_size", "sequence_len", "adapter", "val_set_size", "num_epochs"),
        *("gradient_accumulation_steps", "sample_packing", "dataset_prepared_path", "lora_r"),
        *(
            "load_in_8bit",
            "evals_per_epoch",
            "saves_per_epoch",
            "special_tokens",
            "train_on_inputs",
        ),
    )
)


def _owns(source: Source, keys: frozenset[str]) -> bool:
    return "base_model" in keys and len(keys & _KNOWN) >= 3


def _tell(writer: SettingWriter, tree: Tree) -> None:
    get = tree.setting
    writer.tell("framework", "pytorch", origin="presence")
    writer.tell("api", "axolotl", get("base_model"), origin="presence")
    _precision(writer, tree)
    tell_window(writer, get("gradient_accumulation_steps"))
    writer.number("batch.micro_batch_size", get("micro_batch_size"))
    if not tell_clip(writer, first_given(get("max_grad_norm"))):
        writer.default("clipping.kind", "library_default")
        writer.by_library("clipping.unscaled_first", "clipping.per")
    tell_optimizer(writer, get("optimizer"))
    tell_numbers(writer, "axolotl", get, "optimizer")
    _schedule(writer, tree)
    writer.number("run.epochs", get("num_epochs"))
    tell_numbers(writer, "axolotl", get, "seed", "data")
    writer.by_library("zero_grad.where")
    recompute = first_given(get("gradient_checkpointing"), get("activation_checkpointing"))
    if recompute is not None:
        word = "none" if recompute.value is False else "yes"
        writer.tell("activation_checkpointing", word, recompute)
    _parallel(writer, tree)


def _precision(writer: SettingWriter, tree: Tree) -> None:
    fp16 = first_given(tree.setting("fp16"), tree.setting("float16"))
    bf16 = first_given(tree.setting("bf16"), tree.setting("bfloat16"))
    writer.switch("precision.tf32", tree.setting("tf32"))
    on = [setting for setting in (bf16, fp16) if setting is not None and setting.value is not False]
    if len(on) == 2 and "auto" not in {setting.text for setting in on}:
        writer.warn("CC925", "fp16 and bf16 are both enabled", fp16)
    if bf16 is not None and bf16.value == "auto":
        writer.tell("precision.enabled", "always", bf16)
        for dtype in ("bfloat16", "float16"):
            writer.tell("precision.dtypes", dtype, bf16)
        writer.tell("precision.compute_dtype", "bf16_or_fp16", bf16)
        writer.tell("loss_scaling.mode", "library", bf16, origin="presence")
    elif on:
        setting = on[0]
        dtype = "bfloat16" if setting is bf16 else "float16"
        # the long names are those of weights, without mixed precision
        full = setting.text == "full" or setting.name in ("float16", "bfloat16")
        writer.tell("precision.enabled", "always", setting)
        writer.tell("precision.dtypes", dtype, setting)
        writer.tell("precision.compute_dtype", dtype, setting)
        writer.tell("precision.mode", "full" if full else "mixed", setting)
        mode = "library" if setting is fp16 and not full else "none"
        writer.tell("loss_scaling.mode", mode, setting, origin="presence")
    else:
        writer.tell("precision.enabled", "never", fp16, bf16)
        writer.tell("precision.compute_dtype", "float32", fp16, bf16)
        writer.tell("loss_scaling.mode", "none", fp16, bf16, origin="presence")
        return
    writer.by_library("scaler_update.status")


def _schedule(writer: SettingWriter, tree: Tree) -> None:
    kind = first_given(tree.setting("lr_scheduler"))
    steps, ratio = tree.setting("warmup_steps"), tree.setting("warmup_ratio")
    if first_given(steps) is not None and first_given(ratio) is not None:
        writer.warn("CC930", "warmup_steps and warmup_ratio exclude each other", ratio)
    tell_warmup(writer, steps, ratio)
    writer.number("schedule.total_steps", tree.setting("max_steps"))
    if kind is None:
        writer.default("schedule.name", "cosine")
    else:
        tell_decay(writer, kind)
    writer.by_library("schedule.stepped_per", "schedule.on_skip")


def _parallel(writer: SettingWriter, tree: Tree) -> None:
    deepspeed = tree.section("deepspeed").as_setting("deepspeed")
    sharded = tree.section("fsdp")
    if deepspeed.text:
        writer.tell("parallel.kind", "deepspeed", deepspeed)
        writer.tell("api", "deepspeed", deepspeed, origin="presence")
        writer.mention(deepspeed.text)
    elif sharded.items or sharded.text or tree.get("fsdp_version"):
        settings = (tree.setting("fsdp"), tree.setting("fsdp_version"))
        writer.tell("parallel.kind", "fsdp", *settings)
    else:
        writer.by_library("parallel.kind")


READER = YamlFormat("axolotl_yaml", _owns, _tell, loader="numbers")
