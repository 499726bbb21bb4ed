"""Files with arguments of Hugging Face's Trainer, as `HfArgumentParser` reads them: JSON, YAML."""

from __future__ import annotations

from dataclasses import dataclass

from crosscast.messages.source import Source
from crosscast_reading.readers.config.hf_arguments import (
    are_trainer_arguments,
    tell_smoothing,
    tell_trainer,
)
from crosscast_reading.readers.config.hf_arguments_yaml import FORMAT
from crosscast_reading.readers.config.json_format import JsonFormat
from crosscast_reading.readers.config.paddlenlp_arguments import are_paddlenlps, tell_trainer_flags
from crosscast_reading.readers.config.yaml_format import YamlFormat
from crosscast_reading.readers.protocol import Reading
from crosscast_reading.readers.settings import SettingWriter
from crosscast_reading.readers.tree import Tree

_WORDS = ("per_device_train_batch_size", "per_gpu_train_batch_size", "num_train_epochs")


def _owns(source: Source, tree: Tree) -> bool:
    return are_trainer_arguments(tree.settings())


def _tell(writer: SettingWriter, tree: Tree) -> None:
    settings = tree.settings()
    for setting in tree.section("lr_scheduler_kwargs").settings():
        settings.add(setting)
    if are_paddlenlps(settings):
        tell_trainer_flags(writer, settings, api="paddle_yaml")
    else:
        tell_trainer(writer, settings)
        tell_smoothing(writer, settings)


_JSON = JsonFormat("hf_arguments_json", _WORDS, _owns, _tell)


@dataclass(slots=True)
class HfArguments:
    """Reads JSON and YAML with Trainer arguments."""

    name: str = _JSON.name

    def sniff(self, source: Source) -> bool:
        """Return whether the outermost entries can only be arguments of the Trainer."""
        return _format(source).sniff(source)

    def read(self, source: Source) -> Reading:
        """Return the facts of the arguments."""
        return _format(source).read(source)


def _format(source: Source) -> JsonFormat | YamlFormat:
    return _JSON if source.text.lstrip().startswith("{") else FORMAT


READER = HfArguments()
