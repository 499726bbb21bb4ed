"""DeepSpeed's JSON configurations."""

from __future__ import annotations

from dataclasses import dataclass

from crosscast.messages.diagnostics import Diagnostic, Severity
from crosscast.messages.source import Source
from crosscast.readers.config.deepspeed_config import looks_like_deepspeed, tell_deepspeed
from crosscast.readers.config.json_places import read_json
from crosscast.readers.config.neox_yaml import owns as is_neox
from crosscast.readers.config.yaml_format import top_keys
from crosscast.readers.protocol import Reading
from crosscast.readers.settings import SettingWriter

_WORDS = (
    "train_batch_size",
    "train_micro_batch_size_per_gpu",
    "zero_",
    "fp16",
    "bf16",
    "optimizer",
)
MAX_SNIFFED = 200_000


@dataclass(slots=True)
class DeepSpeedJson:
    """Reads DeepSpeed's JSON."""

    name: str = "deepspeed_json"

    def sniff(self, source: Source) -> bool:
        """Return whether the text is a DeepSpeed configuration."""
        if len(source.text) > MAX_SNIFFED:
            return False
        text = source.text.lstrip()
        if not text.startswith(("{", "//", "/*")) or not any(w in text for w in _WORDS):
            return False
        if is_neox(source, top_keys(source)):  # looks like JSON, but is loaded as YAML
            return False
        tree = read_json(source).tree
        return tree is not None and tree.keys is not None and looks_like_deepspeed(tree)

    def read(self, source: Source) -> Reading:
        """Return the facts of the configuration; a duplicate key is an error, as in DeepSpeed."""
        document = read_json(source)
        if document.tree is None:
            return Reading(diagnostics=tuple(document.diagnostics))
        first = next(iter((document.tree.keys or {}).values()), document.tree)
        writer = SettingWriter(self.name, home=(first.key or first.span,))
        tell_deepspeed(writer, document.tree)
        return Reading(
            facts=tuple(writer.facts),
            diagnostics=(*map(_refused, document.diagnostics), *writer.diagnostics),
        )


def _refused(diagnostic: Diagnostic) -> Diagnostic:
    if diagnostic.code not in ("CC922", "CC923"):
        return diagnostic
    return Diagnostic(
        code=diagnostic.code,
        message=diagnostic.message,
        span=diagnostic.span,
        severity=Severity.ERROR,
        hint="DeepSpeed refuses to read this file",
    )


READER = DeepSpeedJson()
