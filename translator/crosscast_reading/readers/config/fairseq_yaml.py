"""Configurations of fairseq: sections of its flags, in Hydra's form."""

from __future__ import annotations

from dataclasses import replace

from crosscast.messages.source import Source
from crosscast_reading.readers.config.fairseq_arguments import tell_fairseq
from crosscast_reading.readers.config.yaml_format import YamlFormat
from crosscast_reading.readers.settings import Settings, SettingWriter
from crosscast_reading.readers.tree import Tree

_SECTIONS = frozenset(
    {"common", "optimization", "optimizer", "lr_scheduler", "dataset", "distributed_training"}
)
_PARTS = ("common", "optimization", "distributed_training")
"""Sections whose entries are called like flags."""
_OBJECTS = ("optimizer", "lr_scheduler")
"""Sections that make an object, called `_name`."""


def _owns(source: Source, keys: frozenset[str]) -> bool:
    known = keys & _SECTIONS
    return "optimization" in known and len(known) >= 3 and bool(keys & {"criterion", "task"})


def _tell(writer: SettingWriter, tree: Tree) -> None:
    settings = Settings()
    for name in (*_PARTS, *_OBJECTS):
        for setting in tree.section(name).settings():
            # a list has one entry per epoch; a single one counts for all
            if isinstance(setting.value, tuple) and len(setting.value) == 1:
                setting = replace(setting, value=setting.value[0])
            if setting.value is not None or not setting.known:  # null is a flag that is not there
                settings.add(setting)
    for name in _OBJECTS:
        kind = tree.get(name, "_name") or tree.section(name)
        if kind.text:
            settings.add(kind.as_setting(name))
    tell_fairseq(writer, settings)
    writer.number("batch.micro_batch_size", tree.setting("dataset", "batch_size"))
    world = settings.get("distributed_world_size")
    if world is not None and (world.number or 0) > 1:
        writer.number("parallel.world_size", world)
        writer.tell("parallel.kind", "ddp", world, origin="presence")


READER = YamlFormat("fairseq_yaml", _owns, _tell, loader="numbers", references=True)
