"""DeepSpeed's JSON configurations."""

from __future__ import annotations

from crosscast.messages.source import Source
from crosscast_reading.readers.config.deepspeed_config import looks_like_deepspeed, tell_deepspeed
from crosscast_reading.readers.config.json_format import JsonFormat
from crosscast_reading.readers.config.neox_yaml import owns as is_neox
from crosscast_reading.readers.config.yaml_format import top_keys
from crosscast_reading.readers.tree import Tree

_WORDS = (
    "train_batch_size",
    "train_micro_batch_size_per_gpu",
    "zero_",
    "fp16",
    "bf16",
    "optimizer",
)


def _owns(source: Source, tree: Tree) -> bool:
    # gpt-neox's files look like JSON, but are loaded as YAML
    return looks_like_deepspeed(tree) and not is_neox(source, top_keys(source))


READER = JsonFormat("deepspeed_json", _WORDS, _owns, tell_deepspeed, refuses="DeepSpeed")
