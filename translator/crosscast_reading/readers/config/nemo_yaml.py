"""Configurations of NeMo: Lightning's trainer beside Megatron's model, in OmegaConf."""

from __future__ import annotations

import re
from dataclasses import replace

from crosscast.messages.source import Source
from crosscast.targets.parameter_words import scaling_words
from crosscast_reading.readers.config.lightning_arguments import tell_lightning
from crosscast_reading.readers.config.lightning_yaml import processes_of
from crosscast_reading.readers.config.yaml_format import YamlFormat
from crosscast_reading.readers.settings import SettingWriter
from crosscast_reading.readers.tree import Tree
from crosscast_reading.readers.words import (
    first_given,
    positive,
    product_of,
    tell_betas,
    tell_numbers,
    tell_optimizer,
    tell_schedule,
    tell_warmup,
)

_MARK = re.compile(
    r"^[ \t]+(megatron_amp_O2|tensor_model_parallel_size|activations_checkpoint_\w+|"
    r"create_checkpoint_callback|sched|train_ds|mcore_gpt)[ \t]*:",
    re.M,
)


def _owns(source: Source, keys: frozenset[str]) -> bool:
    marks = set(_MARK.findall(source.text))
    return {"trainer", "model"} <= keys and len(marks) + 2 * ("exp_manager" in keys) >= 3


def _tell(writer: SettingWriter, tree: Tree) -> None:
    trainer, model = tree.section("trainer"), tree.section("model")
    settings = trainer.settings()
    writer.tell("framework", "pytorch", origin="presence")
    writer.tell("api", "nemo", trainer.as_setting("trainer"), origin="presence")
    tell_lightning(writer, settings.get)
    writer.facts = [
        replace(f, value="step") if f.field == "clipping.per" else f for f in writer.facts
    ]
    level = model.setting("megatron_amp_O2")
    kind = model.setting("tensor_model_parallel_size") or level
    if kind is not None:
        writer.facts = [f for f in writer.facts if f.field != "parallel.kind"]
        writer.tell("parallel.kind", "megatron", kind, origin="presence")
    writer.switch("precision.level", level, "O2", "O1")
    world = processes_of(settings.get("devices", "gpus"), settings.get("num_nodes"))
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
    writer.number("seed", first_given(model.setting("seed"), tree.setting("seed")))
    writer.number("schedule.total_steps", positive(settings.get("max_steps")))
    writer.number("data.sequence_length", model.setting("encoder_seq_length"))
    if ("precision.compute_dtype", "float16") in {(f.field, f.value) for f in writer.facts}:
        for name, field in scaling_words("nemo").items():
            writer.number(field, model.setting(name))


def _batch(writer: SettingWriter, trainer: Tree, model: Tree, world: int | None) -> None:
    whole, micro = model.setting("global_batch_size"), model.setting("micro_batch_size")
    writer.number("batch.global_batch_size", whole)
    writer.number("batch.micro_batch_size", micro)
    if whole is None or micro is None:
        return
    if any(f.field == "accumulation.steps" and f.value != 1 for f in writer.facts):
        return
    writer.facts = [f for f in writer.facts if not f.field.startswith("accumulation.")]
    parts = product_of(
        model.setting("tensor_model_parallel_size"), model.setting("pipeline_model_parallel_size")
    )
    writer.tell("accumulation.present", "yes", whole, micro)
    writer.by_library("accumulation.loss_divided", "accumulation.tail", "accumulation.no_sync")
    formula = "global_batch_size / (micro_batch_size * data parallel size)"
    rows, part = whole.number or 0, micro.number or 0
    devices = trainer.setting("devices")
    apart = part * ((world or 0) // (parts or 1))
    if world and parts and world % parts:
        message = f"the model is divided over {parts} processes, the trainer starts {world}"
        writer.warn("CC928", message, devices)
    elif parts and rows > 0 and apart > 0:
        steps, rest = divmod(rows, apart)
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
    optim = model.section("optim")
    family = tell_optimizer(writer, optim.setting("name"))
    fused = "fused" in optim.section("name").text
    coupled = family in ("sgd", "rmsprop", "adagrad") or (family == "adam" and not fused)
    tell_numbers(writer, "nemo", optim.setting, "optimizer", coupled=coupled)
    tell_betas(writer, optim)
    sched = optim.section("sched")
    tell_schedule(writer, sched.setting("name"))
    tell_warmup(writer, sched.setting("warmup_steps"), sched.setting("warmup_ratio"))


READER = YamlFormat("nemo_yaml", _owns, _tell, loader="numbers", references=True)
