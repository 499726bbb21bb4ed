"""Configurations of LightningCLI and of litgpt."""

from __future__ import annotations

import re

from crosscast.messages.source import Source
from crosscast_reading.readers.config.lightning_arguments import tell_lightning
from crosscast_reading.readers.config.yaml_format import YamlFormat
from crosscast_reading.readers.settings import Setting, SettingWriter
from crosscast_reading.readers.tree import Tree
from crosscast_reading.readers.words import (
    first_given,
    product_of,
    tell_clip,
    tell_decay,
    tell_numbers,
    tell_optimizer,
    tell_precision,
    tell_torch_class,
    tell_warmup,
)

_TRAIN = re.compile(r"^[ \t]+(global_batch_size|micro_batch_size|lr_warmup_steps)[ \t]*:", re.M)
_TRAINER = re.compile(
    r"^[ \t]+(accumulate_grad_batches|gradient_clip_val|max_epochs|precision|devices|strategy|"
    r"max_steps|accelerator)[ \t]*:",
    re.M,
)


def _owns_litgpt(source: Source, keys: frozenset[str]) -> bool:
    known = keys & {"checkpoint_dir", "model_name", "out_dir", "lora_r", "tokenizer_dir", "eval"}
    return "train" in keys and len(known) >= 2 and len(_TRAIN.findall(source.text)) >= 2


def _tell_litgpt(writer: SettingWriter, tree: Tree) -> None:
    get = tree.setting
    writer.tell("framework", "pytorch", origin="presence")
    writer.tell("api", "lightning_fabric", get("precision") or get("out_dir"), origin="presence")
    precision = get("precision")
    if precision is not None and precision.value is not None:
        tell_precision(writer, precision)
    devices, nodes = get("devices"), get("num_nodes")
    world = processes_of(devices, nodes)
    if world is not None:
        writer.tell("parallel.world_size", world, devices, nodes)
    writer.by_library("parallel.kind", "zero_grad.where")
    train = tree.section("train")
    _window(writer, train, devices, world)
    tell_clip(writer, train.setting("max_norm"))
    writer.number("run.epochs", train.setting("epochs"))
    tell_numbers(writer, "litgpt", train.setting, "data", "schedule")
    writer.number("seed", get("seed"))
    warmup = train.setting("lr_warmup_steps")
    tell_warmup(writer, warmup)
    # litgpt's recipes warm up linearly, then follow a cosine down to min_lr.
    writer.tell("schedule.name", "cosine", warmup, train.setting("min_lr"), confidence="likely")
    writer.tell("schedule.stepped_per", "step", warmup, origin="presence")
    tell_optimizer(writer, tree.setting("optimizer"))
    _typed_optimizer(writer, tree.section("optimizer"))


def processes_of(devices: Setting | None, nodes: Setting | None) -> int | None:
    """Return devices times nodes, None if it is not known."""
    return None if devices is None else product_of(devices, nodes)


def _window(writer: SettingWriter, train: Tree, devices: Setting | None, world: int | None) -> None:
    whole, micro = train.setting("global_batch_size"), train.setting("micro_batch_size")
    writer.number("batch.global_batch_size", whole)
    writer.number("batch.micro_batch_size", micro)
    if whole is None or micro is None:
        return
    writer.tell("accumulation.present", "yes", whole, micro)
    writer.by_library("accumulation.loss_divided", "accumulation.tail", "accumulation.no_sync")
    rows, part = whole.number or 0, micro.number or 0
    formula = "global_batch_size / devices / micro_batch_size"
    together = part * (world or 0)
    if rows > 0 and together > 0:
        if rows % together:
            message = f"{rows} rows are not a multiple of {part} x {world} processes"
            writer.warn("CC928", message, whole)
        steps = max(int(rows // together), 1)
        given = (whole, micro, devices)
        writer.tell("accumulation.steps", steps, *given, origin="derived", expression=formula)
    else:
        reason = "the number of processes is not in this file"
        writer.unknown("accumulation.steps", reason, whole, micro, text=formula)


def _typed_optimizer(writer: SettingWriter, section: Tree) -> None:
    tell_torch_class(writer, section.setting("class_path"), section.section("init_args"))


def _owns_lightning(source: Source, keys: frozenset[str]) -> bool:
    marked = "seed_everything" in keys or "class_path:" in source.text
    return "trainer" in keys and marked and bool(_TRAINER.search(source.text))


def _tell_lightning(writer: SettingWriter, tree: Tree) -> None:
    trainer = tree.section("trainer")
    writer.tell("framework", "pytorch", origin="presence")
    writer.tell("api", "lightning", trainer.as_setting("trainer"), origin="presence")
    settings = trainer.settings()
    tell_lightning(writer, settings.get)
    writer.number("seed", tree.setting("seed_everything"))
    world = processes_of(settings.get("devices", "gpus"), settings.get("num_nodes"))
    if world is not None:
        writer.tell("parallel.world_size", world, settings.get("devices", "gpus"))
    _typed_optimizer(writer, tree.section("optimizer"))
    if (kind := first_given(tree.setting("lr_scheduler", "class_path"))) is not None:
        tell_decay(writer, kind)


LITGPT = YamlFormat("litgpt_yaml", _owns_litgpt, _tell_litgpt, loader="numbers")
READER = YamlFormat("lightning_yaml", _owns_lightning, _tell_lightning, loader="numbers")
