"""Configurations of axolotl. It converts texts to numbers itself, so `2e-5` is a number."""

from __future__ import annotations

from crosscast.messages.source import Source
from crosscast.readers.config.yaml_format import YamlFormat
from crosscast.readers.settings import Setting, SettingWriter
from crosscast.readers.tree import Tree
from crosscast.readers.words import (
    no_auto,
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
    if not tell_clip(writer, _given(get("max_grad_norm"))):
        writer.default("clipping.kind", "library_default")
        writer.by_library("clipping.unscaled_first", "clipping.per")
    tell_optimizer(writer, get("optimizer"))
    tell_numbers(writer, "axolotl", get, "optimizer")
    _schedule(writer, tree)
    writer.number("run.epochs", get("num_epochs"))
    tell_numbers(writer, "axolotl", get, "seed", "data")
    writer.by_library("zero_grad.where")
    recompute = get("gradient_checkpointing") or get("activation_checkpointing")
    if recompute is not None and recompute.value is not None:
        word = "none" if recompute.value is False else "yes"
        writer.tell("activation_checkpointing", word, recompute)
    _parallel(writer, tree)


def _given(setting: Setting | None) -> Setting | None:
    return None if setting is None or setting.value is None else setting


def _precision(writer: SettingWriter, tree: Tree) -> None:
    fp16 = _given(tree.setting("fp16") or tree.setting("float16"))
    bf16 = _given(tree.setting("bf16") or tree.setting("bfloat16"))
    tf32 = _given(tree.setting("tf32"))
    if tf32 is not None and tf32.switch is not None:
        writer.tell("precision.tf32", "yes" if tf32.switch else "no", tf32)
    on = [setting for setting in (bf16, fp16) if setting is not None and setting.value is not False]
    if len(on) == 2 and no_auto(bf16) is not None and fp16 is not None and fp16.value is True:
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
        full = setting.text == "full" or (tree.get("bfloat16") is not None and dtype == "bfloat16")
        writer.tell("precision.enabled", "always", setting)
        writer.tell("precision.dtypes", dtype, setting)
        writer.tell("precision.compute_dtype", dtype, setting)
        writer.tell("precision.mode", "full" if full else "mixed", setting)
        mode = "none" if dtype == "bfloat16" else "library"
        writer.tell("loss_scaling.mode", mode, setting, origin="presence")
    else:
        given = [setting for setting in (fp16, bf16) if setting is not None]
        writer.tell("precision.enabled", "never", *given)
        writer.tell("precision.compute_dtype", "float32", *given)
        writer.tell("loss_scaling.mode", "none", *given, origin="presence")
        return
    writer.by_library("scaler_update.status")


def _schedule(writer: SettingWriter, tree: Tree) -> None:
    kind = _given(tree.setting("lr_scheduler"))
    steps, ratio = tree.setting("warmup_steps"), tree.setting("warmup_ratio")
    if _given(steps) is not None and _given(ratio) is not None:
        writer.warn("CC930", "warmup_steps and warmup_ratio exclude each other", ratio)
    tell_warmup(writer, steps, ratio)
    writer.number("schedule.total_steps", tree.setting("max_steps"))
    if kind is None:
        writer.default("schedule.name", "cosine")
    else:
        tell_decay(writer, kind)
    writer.by_library("schedule.stepped_per", "schedule.on_skip")


def _parallel(writer: SettingWriter, tree: Tree) -> None:
    deepspeed = _given(tree.setting("deepspeed"))
    sharded = tree.get("fsdp")
    if deepspeed is not None and deepspeed.text:
        writer.tell("parallel.kind", "deepspeed", deepspeed)
        writer.tell("api", "deepspeed", deepspeed, origin="presence")
        writer.mention(deepspeed.text)
    elif (sharded is not None and (sharded.items or sharded.value)) or tree.get("fsdp_version"):
        writer.tell("parallel.kind", "fsdp", tree.setting("fsdp") or tree.setting("fsdp_version"))
    else:
        writer.by_library("parallel.kind")


READER = YamlFormat("axolotl_yaml", _owns, _tell, loader="numbers")
