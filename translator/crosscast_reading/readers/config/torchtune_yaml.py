"""Configurations of torchtune recipes: OmegaConf with `_component_` entries."""

from __future__ import annotations

import re

from crosscast.messages.source import Source
from crosscast_reading.readers.config.yaml_format import YamlFormat
from crosscast_reading.readers.settings import Setting, SettingWriter
from crosscast_reading.readers.tree import Tree
from crosscast_reading.readers.words import (
    tell_clip,
    tell_precision,
    tell_schedule,
    tell_torch_class,
    tell_warmup,
    tell_window,
)

_COMPONENT = re.compile(r"^[ \t]+(?:_component_|component)\s*:\s*torchtune\.", re.M)


def _owns(source: Source, keys: frozenset[str]) -> bool:
    return bool(keys & {"optimizer", "checkpointer", "dataset"}) and bool(
        _COMPONENT.search(source.text)
    )


def _tell(writer: SettingWriter, tree: Tree) -> None:
    writer.tell("framework", "pytorch", origin="presence")
    writer.tell("api", "torchtune", _component(tree.section("model")), origin="presence")
    get = tree.setting
    if (dtype := get("dtype")) is not None:
        tell_precision(writer, dtype, full=True)
    tell_window(writer, get("gradient_accumulation_steps"), divided="token_normalised")
    writer.number("batch.micro_batch_size", get("batch_size"))
    tell_clip(writer, get("clip_grad_norm"))
    optimizer, schedule = tree.section("optimizer"), tree.section("lr_scheduler")
    tell_torch_class(writer, _component(optimizer), optimizer)
    tell_schedule(writer, _component(schedule))
    tell_warmup(writer, schedule.setting("num_warmup_steps"))
    recompute = get("enable_activation_checkpointing")
    writer.switch("activation_checkpointing", recompute, off="none")
    writer.number("run.epochs", get("epochs"))
    writer.number("seed", get("seed"))
    writer.number("data.sequence_length", get("tokenizer", "max_seq_len"))
    writer.by_library("zero_grad.where", "parallel.kind")


def _component(section: Tree) -> Setting | None:
    """Return the setting that names the class of a section; newer files write `component`."""
    return section.setting("_component_") or section.setting("component")


READER = YamlFormat("torchtune_yaml", _owns, _tell, loader="numbers", references=True)
