"""YAML files with arguments of Hugging Face's Trainer, as `HfArgumentParser` and TRL take them.

They may be a section of the file, `training_args:`, which a program unpacks. PaddleFormers and
ERNIEKit have the same arguments for PaddleNLP's Trainer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from crosscast.messages.source import Source
from crosscast_reading.readers.config.hf_arguments import (
    ONLY_THERE,
    are_trainer_arguments,
    tell_smoothing,
    tell_trainer,
)
from crosscast_reading.readers.config.llama_factory_yaml import owns as is_llama_factory
from crosscast_reading.readers.config.paddlenlp_arguments import are_paddlenlps, tell_trainer_flags
from crosscast_reading.readers.config.yaml_format import YamlFormat
from crosscast_reading.readers.settings import Settings, SettingWriter
from crosscast_reading.readers.tree import Tree

_TRAINING = frozenset(
    (
        *("per_device_train_batch_size", "per_gpu_train_batch_size", "num_train_epochs"),
        *("lr_scheduler_type", "gradient_accumulation_steps", "learning_rate"),
    )
)
_LEAST = 5
_SECTION = re.compile(
    r"^(\w{0,60}train\w{0,60}):[ \t]*(?:#.*)?\n((?:(?:[ \t].*|#.*)?\n)+)", re.M | re.I
)
_ENTRY = re.compile(r"^([ \t]+)([a-z]\w*)[ \t]*:", re.M)


def _owns(source: Source, keys: frozenset[str]) -> bool:
    if _are_arguments(keys):
        return not is_llama_factory(source, keys)
    return len(list(_sections(source.text))) == 1  # of several, each trains something else


def _are_arguments(keys: frozenset[str]) -> bool:
    return len(keys & ONLY_THERE) >= _LEAST and len(keys & _TRAINING) >= 2


def _sections(text: str) -> Iterator[str]:
    """Yield the names of sections with arguments of the Trainer."""
    for name, entries in _SECTION.findall(text if text.endswith("\n") else f"{text}\n"):
        keys = _ENTRY.findall(entries)
        if _are_arguments(frozenset(key for margin, key in keys if margin == keys[0][0])):
            yield name


def _tell(writer: SettingWriter, tree: Tree) -> None:
    names = [name for name in tree.keys or () if "train" in name.lower()]
    for section in (tree, *(tree.section(name) for name in names)):
        settings = section.settings()
        if _are_arguments(section.names()) and are_trainer_arguments(settings):
            if are_paddlenlps(settings):
                _tell_paddles(writer, settings)
            else:
                tell_trainer(writer, settings)
                tell_smoothing(writer, settings)
            _tell_length(writer, settings)
            return


def _tell_paddles(writer: SettingWriter, settings: Settings) -> None:
    rows = settings.get("batch_size")  # as ERNIEKit calls it
    if rows is not None and "per_device_train_batch_size" not in settings:
        settings.add(replace(rows, name="per_device_train_batch_size"))
    tell_trainer_flags(writer, settings, api="paddle_yaml")
    if "parallel.kind" not in {fact.field for fact in writer.facts}:
        writer.tell("parallel.kind", "library", settings.get("sharding"), origin="presence")


def _tell_length(writer: SettingWriter, settings: Settings) -> None:
    length = settings.get("max_seq_length", "max_seq_len", "max_length", "model_max_length")
    writer.number("data.sequence_length", length)


FORMAT = YamlFormat("hf_arguments_yaml", _owns, _tell)
