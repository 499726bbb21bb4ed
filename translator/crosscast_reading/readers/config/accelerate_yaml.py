"""The configuration file of `accelerate config` and `accelerate launch --config_file`."""

from __future__ import annotations

from dataclasses import replace

from crosscast.messages.source import Source
from crosscast.targets.parameter_words import parameter_words
from crosscast_reading.readers.config.deepspeed_config import tell_zero
from crosscast_reading.readers.config.yaml_format import YamlFormat
from crosscast_reading.readers.settings import Setting, SettingWriter
from crosscast_reading.readers.tree import Tree
from crosscast_reading.readers.words import (
    no_auto,
    setting_of,
    tell_clip,
    tell_precision,
    tell_window,
)

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
    "FALSE": "none",  # YAML 1.1 reads `NO` as a boolean
}
_KEYS = frozenset(
    (
        *("distributed_type", "num_processes", "mixed_precision", "deepspeed_config"),
        *("fsdp_config", "machine_rank"),
        *("main_training_function", "num_machines", "use_cpu", "compute_environment"),
        *("downcast_bf16", "dynamo_config", "megatron_lm_config", "main_process_port"),
    )
)


def _owns(source: Source, keys: frozenset[str]) -> bool:
    return len(keys & _KEYS) >= 2 and bool(keys & {"distributed_type", "compute_environment"})


def _tell(writer: SettingWriter, tree: Tree) -> None:
    kind = tree.setting("distributed_type")
    writer.tell("framework", "pytorch", origin="presence")
    writer.tell("api", "accelerate", kind, origin="presence")
    processes = tree.setting("num_processes")
    writer.number("parallel.world_size", processes)
    writer.by_library("zero_grad.where")
    word = "" if kind is None else kind.text.upper()
    if word == "DEEPSPEED":
        _deepspeed(writer, tree)
        return
    if (name := _KINDS.get(word)) is not None:
        writer.tell("parallel.kind", name, kind)
    elif kind is not None:
        writer.unknown("parallel.kind", f"distributed_type {word}", kind)
    _tell_settings(writer, tree, tree)
    if word == "FSDP":
        recompute = tree.setting("fsdp_config", "fsdp_activation_checkpointing")
        writer.switch("activation_checkpointing", recompute, off="none")


def _tell_settings(writer: SettingWriter, tree: Tree, section: Tree) -> None:
    if (precision := tree.setting("mixed_precision")) is not None:
        tell_precision(writer, precision)
    tell_window(writer, setting_of("accelerate", "accumulation.steps", section.setting))


def _deepspeed(writer: SettingWriter, tree: Tree) -> None:
    config = tree.section("deepspeed_config")
    given = tree.setting("deepspeed_config")
    writer.tell("api", "deepspeed", given, origin="presence")
    elsewhere = config.section("deepspeed_config_file").as_setting("deepspeed_config_file")
    if elsewhere.text:
        writer.mention(elsewhere.text)
        writer.tell("parallel.kind", "deepspeed", elsewhere)
        reason = f"{elsewhere.text} sets it"
        for field in ("precision.compute_dtype", "loss_scaling.mode", "accumulation.steps"):
            writer.unknown(field, reason, replace(elsewhere, origin="config"))
        writer.tell("precision.enabled", "config", elsewhere)
        writer.tell("accumulation.present", "yes", elsewhere, confidence="likely")
        writer.by_library("accumulation.loss_divided", "accumulation.tail", "accumulation.no_sync")
        writer.by_library("scaler_update.status")
        _double(writer, tree.section("mixed_precision"), elsewhere, config)
        return
    stage = config.get("zero_stage")
    if stage is not None:
        zero = Tree(config.span, keys={"stage": stage})
        tell_zero(writer, Tree(config.span, keys={"zero_optimization": zero}))
    else:
        writer.tell("parallel.kind", "deepspeed", given)
    _tell_settings(writer, tree, config)
    tell_clip(writer, no_auto(setting_of("accelerate", "clipping.max_norm", config.setting)))


def _double(writer: SettingWriter, precision: Tree, file: Setting, config: Tree) -> None:
    """Report keys that Accelerate rejects when a DeepSpeed configuration file is given."""
    beside = [
        name
        for name in (*parameter_words("accelerate", "accumulation", "clipping"), "zero_stage")
        if (section := config.get(name)) is not None and section.value is not None
    ]
    if precision.value not in (None, False, "no"):
        writer.warn(
            "CC929",
            f"mixed_precision is set together with deepspeed_config_file {file.text}",
            precision.as_setting("mixed_precision"),
            hint="Accelerate refuses it unless fp16 and bf16 of that file are auto",
        )
    if beside:
        writer.warn(
            "CC929",
            f"{', '.join(beside)} beside deepspeed_config_file: Accelerate refuses to start",
            config.setting(beside[0]),
        )


READER = YamlFormat("accelerate_yaml", _owns, _tell)
