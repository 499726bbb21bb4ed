"""The configuration file of `accelerate config` and `accelerate launch --config_file`."""

from __future__ import annotations

from dataclasses import replace

from crosscast.messages.source import Source
from crosscast.readers.config.deepspeed_config import tell_zero
from crosscast.readers.config.yaml_format import YamlFormat
from crosscast.readers.settings import Setting, SettingWriter
from crosscast.readers.tree import Tree
from crosscast.readers.words import (
    no_auto,
    setting_of,
    tell_clip,
    tell_precision,
    tell_window,
)
from crosscast.targets.parameter_words import parameter_words

_KINDS = {
    "MULTI_GPU": "ddp",
    "MULTI_CPU": "ddp",
    "MULTI_NPU": "ddp",
    "MULTI_XPU": "ddp",
    "MULTI_MLU": "ddp",
    "FSDP": "fsdp",
    "DEEPSPEED": "deepspeed",
    "MEGATRON_LM": "megatron",
    "TPU": "tpu",
    "XLA": "tpu",
    "NO": "none",
}
_OTHERS = frozenset(
    (
        *("num_processes", "mixed_precision", "deepspeed_config", "fsdp_config", "machine_rank"),
        *("main_training_function", "num_machines", "use_cpu", "compute_environment"),
        *("downcast_bf16", "dynamo_config", "megatron_lm_config", "main_process_port"),
    )
)


def _owns(source: Source, keys: frozenset[str]) -> bool:
    known = len(keys & _OTHERS)
    return ("distributed_type" in keys and known >= 1) or (
        "compute_environment" in keys and known >= 2
    )


def _tell(writer: SettingWriter, tree: Tree) -> None:
    kind = tree.setting("distributed_type")
    writer.tell("framework", "pytorch", origin="presence")
    writer.tell("api", "accelerate", kind, origin="presence")
    processes = tree.setting("num_processes")
    writer.number("parallel.world_size", processes)
    writer.by_library("zero_grad.where")
    deepspeed = tree.get("deepspeed_config")
    word = "no" if kind is None or kind.value is False else kind.text.upper()
    if word == "DEEPSPEED" and deepspeed is not None and deepspeed.keys is not None:
        _deepspeed(writer, tree, deepspeed)
        return
    if (name := _KINDS.get(word)) is not None:
        writer.tell("parallel.kind", name, kind)
    elif word != "NO":
        writer.unknown("parallel.kind", f"distributed_type {word}", kind)
    if (precision := tree.setting("mixed_precision")) is not None:
        tell_precision(writer, _word(precision))
    tell_window(writer, setting_of("accelerate", "accumulation.steps", tree.setting))
    recompute = tree.setting("fsdp_config", "fsdp_activation_checkpointing")
    if recompute is not None and recompute.switch is not None and word == "FSDP":
        writer.tell("activation_checkpointing", "yes" if recompute.switch else "none", recompute)


def _deepspeed(writer: SettingWriter, tree: Tree, config: Tree) -> None:
    writer.tell("api", "deepspeed", config.as_setting("deepspeed_config"), origin="presence")
    precision = tree.setting("mixed_precision")
    elsewhere = config.setting("deepspeed_config_file")
    if elsewhere is not None and elsewhere.value:
        writer.mention(elsewhere.text)
        writer.tell("parallel.kind", "deepspeed", elsewhere)
        reason = f"{elsewhere.text} sets it"
        for field in ("precision.compute_dtype", "loss_scaling.mode", "accumulation.steps"):
            writer.unknown(field, reason, replace(elsewhere, origin="config"))
        writer.tell("precision.enabled", "config", elsewhere)
        writer.tell("accumulation.present", "yes", elsewhere, confidence="likely")
        writer.by_library("accumulation.loss_divided", "accumulation.tail", "accumulation.no_sync")
        writer.by_library("scaler_update.status")
        _double(writer, precision, elsewhere, config)
        return
    stage = config.setting("zero_stage")
    if stage is not None:
        tell_zero(writer, Tree(config.span, keys={"zero_optimization": _as_stage(config)}))
    else:
        writer.tell("parallel.kind", "deepspeed", config.as_setting("deepspeed_config"))
    if precision is not None:
        tell_precision(writer, _word(precision))
    tell_window(writer, no_auto(setting_of("accelerate", "accumulation.steps", config.setting)))
    tell_clip(writer, no_auto(setting_of("accelerate", "clipping.max_norm", config.setting)))


def _as_stage(config: Tree) -> Tree:
    stage = config.get("zero_stage")
    return Tree(config.span, keys={} if stage is None else {"stage": stage})


def _double(writer: SettingWriter, precision: Setting | None, file: Setting, config: Tree) -> None:
    """Report keys that Accelerate rejects when a DeepSpeed configuration file is given."""
    beside = [
        name
        for name in (*parameter_words("accelerate", "accumulation", "clipping"), "zero_stage")
        if (section := config.get(name)) is not None and section.value is not None
    ]
    if precision is not None and precision.value not in (None, False, "no"):
        writer.warn(
            "CC929",
            f"mixed_precision is set together with deepspeed_config_file {file.text}",
            precision,
            hint="Accelerate refuses it unless fp16 and bf16 of that file are auto",
        )
    if beside:
        writer.warn(
            "CC929",
            f"{', '.join(beside)} beside deepspeed_config_file: Accelerate refuses to start",
            config.setting(beside[0]),
        )


def _word(setting: Setting) -> Setting:
    """Return the word: YAML 1.1 reads `no` as False."""
    if setting.value is False:
        return Setting(name=setting.name, value="no", places=setting.places)
    return setting


READER = YamlFormat("accelerate_yaml", _owns, _tell)
