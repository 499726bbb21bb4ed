"""Configurations of NeMo: Lightning's trainer beside Megatron's model, in OmegaConf."""

from __future__ import annotations

import re
from dataclasses import replace

from crosscast.messages.source import Source
from crosscast.readers.config.lightning_arguments import tell_lightning
from crosscast.readers.config.lightning_yaml import product_of
from crosscast.readers.config.yaml_format import YamlFormat
from crosscast.readers.settings import SettingWriter
from crosscast.readers.tree import Tree
from crosscast.readers.words import (
    positive,
    setting_of,
    tell_betas,
    tell_decay,
    tell_numbers,
    tell_optimizer,
    tell_warmup,
)
from crosscast.targets.parameter_words import scaling_words

_MARK = re.compile(
    r"^[ \t]+(megatron_amp_O2|tensor_model_parallel_size|activations_checkpoint_\w+|"
    r"create_checkpoint_callback|sched|train_ds|mcore_gpt)[ \t]*:",
    re.M,
)


def _owns(source: Source, keys: frozenset[str]) -> bool:
    if not {"trainer", "model"} <= keys or "task" in keys:
        return False
    marks = set(_MARK.findall(source.text))
    return ("exp_manager" in keys and bool(marks)) or len(marks) >= 3


def _tell(writer: SettingWriter, tree: Tree) -> None:
    trainer = tree.get("trainer") or tree
    model = tree.get("model") or tree
    settings = trainer.settings()
    writer.tell("framework", "pytorch", origin="presence")
    writer.tell("api", "nemo", trainer.as_setting("trainer"), origin="presence")
    tell_lightning(writer, settings.get)
    writer.facts = [
        replace(f, value="step") if f.field == "clipping.per" else f for f in writer.facts
    ]
    if model.get("megatron_amp_O2") or model.get("tensor_model_parallel_size"):
        writer.facts = [f for f in writer.facts if f.field != "parallel.kind"]
        kind = model.setting("tensor_model_parallel_size") or model.setting("megatron_amp_O2")
        writer.tell("parallel.kind", "megatron", kind, origin="presence")
    if (level := model.setting("megatron_amp_O2")) is not None and level.switch is not None:
        writer.tell("precision.level", "O2" if level.switch else "O1", level)
    world = product_of(settings.get("devices", "gpus"), settings.get("num_nodes"))
    if world is not None:
        given = (settings.get("devices", "gpus"), settings.get("num_nodes"))
        writer.tell("parallel.world_size", world, *given)
    _batch(writer, trainer, model, world)
    _optimizer(writer, model)
    recompute = model.setting("activations_checkpoint_granularity")
    recompute = recompute or model.setting("activations_checkpoint_method")
    if recompute is not None:
        word = "none" if recompute.value in (None, False) else "yes"
        writer.tell("activation_checkpointing", word, recompute)
    writer.number("seed", model.setting("seed") or tree.setting("seed"))
    writer.number("schedule.total_steps", positive(settings.get("max_steps")))
    writer.number("data.sequence_length", model.setting("encoder_seq_length"))
    if any(f.field == "precision.compute_dtype" and f.value == "float16" for f in writer.facts):
        for name, field in scaling_words("nemo").items():
            writer.number(field, model.setting(name))


def _batch(writer: SettingWriter, trainer: Tree, model: Tree, world: int | None) -> None:
    whole, micro = model.setting("global_batch_size"), model.setting("micro_batch_size")
    writer.number("batch.global_batch_size", whole)
    writer.number("batch.micro_batch_size", micro)
    if whole is None or micro is None:
        return
    if any(fact.field == "accumulation.present" for fact in writer.facts):
        times = setting_of("lightning", "accumulation.steps", trainer.setting)
        if times is not None and times.number != 1:
            return
        writer.facts = [f for f in writer.facts if not f.field.startswith("accumulation.")]
    parts = 1
    for name in ("tensor_model_parallel_size", "pipeline_model_parallel_size"):
        setting = model.setting(name)
        parts *= int((setting.number if setting is not None else None) or 1)
    writer.tell("accumulation.present", "yes", whole, micro)
    writer.by_library("accumulation.loss_divided", "accumulation.tail", "accumulation.no_sync")
    formula = "global_batch_size / (micro_batch_size * data parallel size)"
    rows, part = whole.number, micro.number
    devices = trainer.setting("devices")
    if world and world % parts:
        message = f"the model is divided over {parts} processes, the trainer starts {world}"
        writer.warn("CC928", message, devices)
    elif world and rows and part:
        steps, rest = divmod(rows, part * (world // parts))
        if rest:
            writer.warn("CC928", f"{formula} is not an integer", whole)
        else:
            given = (whole, micro, devices)
            writer.tell(
                "accumulation.steps", int(steps), *given, origin="derived", expression=formula
            )
        return
    reason = "the number of processes is not in this file"
    writer.unknown("accumulation.steps", reason, whole, micro, text=formula)


def _optimizer(writer: SettingWriter, model: Tree) -> None:
    optim = model.get("optim")
    if optim is None or optim.keys is None:
        return
    kind = optim.setting("name")
    family = tell_optimizer(writer, kind)
    fused = kind is not None and "fused" in kind.text
    coupled = family in ("sgd", "rmsprop", "adagrad") or (family == "adam" and not fused)
    tell_numbers(writer, "nemo", optim.setting, "optimizer", coupled=coupled)
    tell_betas(writer, optim)
    sched = optim.get("sched")
    named = None if sched is None else sched.setting("name")
    if sched is None or named is None or named.value is None:
        return
    tell_decay(writer, named)
    writer.tell("schedule.stepped_per", "step", named, origin="presence")
    tell_warmup(writer, sched.setting("warmup_steps"), sched.setting("warmup_ratio"))


READER = YamlFormat("nemo_yaml", _owns, _tell, loader="numbers", references=True)
