"""Files with arguments of Hugging Face's Trainer, as `HfArgumentParser` reads them: JSON, YAML."""

from __future__ import annotations

from dataclasses import dataclass

from crosscast.messages.source import Source
from crosscast.readers.config.hf_arguments import (
    are_trainer_arguments,
    tell_smoothing,
    tell_trainer,
)
from crosscast.readers.config.hf_arguments_yaml import FORMAT
from crosscast.readers.config.json_places import read_json
from crosscast.readers.config.paddlenlp_arguments import TRAINER, tell_trainer_flags
from crosscast.readers.protocol import Reading
from crosscast.readers.settings import SettingWriter

_WORDS = ("per_device_train_batch_size", "per_gpu_train_batch_size", "num_train_epochs")


@dataclass(slots=True)
class HfArgumentsJson:
    """Reads JSON and YAML with Trainer arguments."""

    name: str = "hf_arguments_json"

    def sniff(self, source: Source) -> bool:
        """Return whether the outermost entries can only be arguments of the Trainer."""
        text = source.text
        if not text.lstrip().startswith("{"):
            return FORMAT.sniff(source)
        if not any(word in text for word in _WORDS):
            return False
        tree = read_json(source).tree
        if tree is None or tree.keys is None:
            return False
        settings = tree.settings()
        return any(w in settings for w in _WORDS) and are_trainer_arguments(settings)

    def read(self, source: Source) -> Reading:
        """Return the facts of the arguments."""
        if not source.text.lstrip().startswith("{"):
            return FORMAT.read(source)
        document = read_json(source)
        if document.tree is None:
            return Reading(diagnostics=tuple(document.diagnostics))
        first = next(iter((document.tree.keys or {}).values()), document.tree)
        writer = SettingWriter(self.name, home=(first.key or first.span,))
        settings = document.tree.settings()
        inner = document.tree.get("lr_scheduler_kwargs")
        for setting in inner.settings() if inner is not None else ():
            settings.add(setting)
        if settings.having(TRAINER):
            tell_trainer_flags(writer, settings)
        else:
            tell_trainer(writer, settings)
            tell_smoothing(writer, settings)
        return Reading(
            facts=tuple(writer.facts),
            diagnostics=(*document.diagnostics, *writer.diagnostics),
            mentions=tuple(writer.mentions),
        )


READER = HfArgumentsJson()
