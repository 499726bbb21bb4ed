"""Configurations that make objects by their names: Hydra's trees, and latent diffusion's."""

from __future__ import annotations

import re

from crosscast.messages.source import Source
from crosscast_reading.readers.config.lightning_arguments import tell_lightning
from crosscast_reading.readers.config.lightning_yaml import processes_of
from crosscast_reading.readers.config.made_objects import made_objects, tell_objects
from crosscast_reading.readers.config.yaml_format import YamlFormat
from crosscast_reading.readers.settings import SettingWriter
from crosscast_reading.readers.tree import Tree
from crosscast_reading.readers.words import first_given

_TARGET = re.compile(
    r"^[ \t-]*_target_[ \t]*:[ \t]*[\"']?((pytorch_lightning|lightning|pl)\.([\w.]+\.)?Trainer"
    r"|(torch|apex|transformers|bitsandbytes|timm|deepspeed)\.[\w.]*optim[\w.]*)\b",
    re.MULTILINE,
)
_DIFFUSION = re.compile(r"^[ \t]+base_learning_rate[ \t]*:", re.MULTILINE)
_SCHEDULES = {
    "LambdaLinearScheduler": "linear",
    "LambdaWarmUpCosineScheduler": "cosine",
    "LambdaWarmUpCosineScheduler2": "cosine",
}
"""Latent diffusion's schedules; a linear one from 1 to 1 is constant."""


def _owns(source: Source, keys: frozenset[str]) -> bool:
    return "exp_manager" not in keys and _TARGET.search(source.text) is not None


def _tell(writer: SettingWriter, tree: Tree) -> None:
    if not tell_objects(writer, tree):
        return
    writer.tell("framework", "pytorch", origin="presence")
    writer.number("seed", first_given(tree.setting("seed"), tree.setting("seed_everything")))
    trainer = tree.section("trainer")
    devices = trainer.setting("devices") or trainer.setting("gpus")
    nodes = trainer.setting("num_nodes")
    world = processes_of(devices, nodes)
    if world is not None:
        writer.tell("parallel.world_size", world, devices, nodes)
    rows = (tree.setting(name, "batch_size") for name in ("data", "datamodule"))
    writer.number("batch.micro_batch_size", first_given(*rows))


def _owns_diffusion(source: Source, keys: frozenset[str]) -> bool:
    return "model" in keys and bool(_DIFFUSION.search(source.text)) and "target:" in source.text


def _tell_diffusion(writer: SettingWriter, tree: Tree) -> None:
    writer.tell("framework", "pytorch", origin="presence")
    writer.tell("api", "lightning", tree.setting("model", "target"), origin="presence")
    tell_lightning(writer, tree.section("lightning", "trainer").settings().get)
    rate = tree.setting("model", "base_learning_rate")
    if rate is not None:
        reason = "main.py multiplies it by devices, batch and window unless --scale_lr is False"
        writer.unknown("optimizer.learning_rate", reason, rate, text="base_learning_rate")
    writer.number("batch.micro_batch_size", tree.setting("data", "params", "batch_size"))
    unet = tree.setting("model", "params", "unet_config", "params", "use_checkpoint")
    writer.switch("activation_checkpointing", unet, off="none")
    _diffusion_schedule(writer, tree)


def _diffusion_schedule(writer: SettingWriter, tree: Tree) -> None:
    """Record `scheduler_config`, whose lists have one entry per cycle."""
    made = next(made_objects(tree.section("model", "params", "scheduler_config")), None)
    if made is None:
        return
    arguments = made.arguments

    def single(name: str) -> float | None:
        """Return a number, or that of a list with one entry."""
        section = arguments.section(name)
        items = section.items or []
        return (items[0] if len(items) == 1 else section).as_setting(name).number

    word = _SCHEDULES.get(made.name.rpartition(".")[2], "")
    low, high = single("f_min"), single("f_max")
    if not word:
        writer.unknown("schedule.name", f"a schedule called {made.name!r}", made.kind)
    elif word == "linear" and (low is None or low != high):
        cycle = single("cycle_lengths")
        writer.tell("schedule.name", word, made.kind)
        if cycle is not None:
            writer.tell("schedule.total_steps", int(cycle), arguments.setting("cycle_lengths"))
    else:
        writer.tell("schedule.name", "constant" if word == "linear" else word, made.kind)
    writer.tell("schedule.stepped_per", "step", made.kind, origin="presence")
    warmup = single("warm_up_steps")
    if warmup is not None:
        place = arguments.setting("warm_up_steps")
        writer.tell("schedule.warmup", f"{int(warmup)} steps", place)
        writer.tell("schedule.has_warmup", "yes" if warmup else "no", place)


DIFFUSION = YamlFormat(
    "latent_diffusion_yaml", _owns_diffusion, _tell_diffusion, loader="numbers", references=True
)
READER = YamlFormat("hydra_yaml", _owns, _tell, loader="numbers", references=True)
