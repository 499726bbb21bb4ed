"""YAML files with arguments of Hugging Face's Trainer, as `HfArgumentParser` and TRL take them."""

from __future__ import annotations

from crosscast.messages.source import Source
from crosscast.readers.config.hf_arguments import (
    ONLY_THERE,
    are_trainer_arguments,
    tell_smoothing,
    tell_trainer,
)
from crosscast.readers.config.llama_factory_yaml import owns as is_llama_factory
from crosscast.readers.config.paddlenlp_arguments import are_paddlenlps, tell_trainer_flags
from crosscast.readers.config.yaml_format import YamlFormat
from crosscast.readers.settings import SettingWriter
from crosscast.readers.tree import Tree

_TRAINING = frozenset(
    (
        *("per_device_train_batch_size", "per_gpu_train_batch_size", "num_train_epochs"),
        *("lr_scheduler_type", "gradient_accumulation_steps", "learning_rate"),
    )
)
_LEAST = 5


def _owns(source: Source, keys: frozenset[str]) -> bool:
    if len(keys & ONLY_THERE) < _LEAST or len(keys & _TRAINING) < 2:
        return False
    return not is_llama_factory(source, keys)


def _tell(writer: SettingWriter, tree: Tree) -> None:
    settings = tree.settings()
    if not are_trainer_arguments(settings):
        return
    if are_paddlenlps(settings):
        tell_trainer_flags(writer, settings, api="paddle_yaml")
        if not any(fact.field == "parallel.kind" for fact in writer.facts):
            writer.by_library("parallel.kind")
    else:
        tell_trainer(writer, settings)
        tell_smoothing(writer, settings)
    length = settings.get("max_seq_length", "max_length", "model_max_length")
    writer.number("data.sequence_length", length)


FORMAT = YamlFormat("hf_arguments_yaml", _owns, _tell)
