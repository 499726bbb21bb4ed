"""Configurations of fairseq: sections of its flags, in Hydra's form."""

from __future__ import annotations

from dataclasses import replace

from crosscast.messages.source import Source
from crosscast.readers.config.fairseq_arguments import tell_fairseq
from crosscast.readers.config.yaml_format import YamlFormat
from crosscast.readers.settings import Settings, SettingWriter
from crosscast.readers.tree import Tree

_SECTIONS = frozenset(
    {"common", "optimization", "optimizer", "lr_scheduler", "dataset", "distributed_training"}
)
_PARTS = ("common", "optimization", "distributed_training")
"""Sections whose entries are called like flags; others make an object, called `_name`."""


def _owns(source: Source, keys: frozenset[str]) -> bool:
    known = keys & _SECTIONS
    return "optimization" in known and len(known) >= 3 and bool(keys & {"criterion", "task"})


def _tell(writer: SettingWriter, tree: Tree) -> None:
    settings = Settings()
    for name in _PARTS:
        section = tree.get(name)
        for setting in section.settings() if section is not None else ():
            # a list has one entry per epoch; a single one counts for all
            if isinstance(setting.value, tuple) and len(setting.value) == 1:
                setting = replace(setting, value=setting.value[0])
            settings.add(setting)
    for name in ("optimizer", "lr_scheduler"):
        section = tree.get(name)
        kind = section.setting("_name") if section is not None and section.keys else None
        kind = kind or tree.setting(name)
        if kind is not None and kind.value is not None:
            settings.add(replace(kind, name=name))
        for setting in section.settings() if section is not None else ():
            if setting.name != "_name" and setting.name not in settings:
                settings.add(setting)
    tell_fairseq(writer, settings)
    writer.number("batch.micro_batch_size", tree.setting("dataset", "batch_size"))
    world = settings.get("distributed_world_size")
    if world is not None and (world.number or 0) > 1:
        writer.number("parallel.world_size", world)
        writer.tell("parallel.kind", "ddp", world, origin="presence")


READER = YamlFormat("fairseq_yaml", _owns, _tell, loader="numbers", references=True)
