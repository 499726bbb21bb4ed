"""Arguments of Lightning's Trainer in any form: flags, YAML."""

from __future__ import annotations

import re
from collections.abc import Callable

from crosscast_reading.readers.settings import Setting, SettingWriter
from crosscast_reading.readers.words import (
    is_no_limit,
    setting_of,
    tell_numbers,
    tell_precision,
    tell_window,
)

_DEEPSPEED = re.compile(r"deepspeed(?:\w*stage_([123]))?")
KINDS = {
    "ddp": "ddp",
    "ddp_spawn": "ddp",
    "ddp2": "ddp",
    "dp": "dp",
    "horovod": "horovod",
    "fsdp": "fsdp",
    "ddp_sharded": "fsdp",
    "tpu": "tpu",
}


def tell_lightning(writer: SettingWriter, get: Callable[..., Setting | None]) -> None:
    """Record the facts of arguments of the Trainer from any source."""
    if (precision := get("precision")) is not None:
        tell_precision(writer, precision)
    tell_window(writer, setting_of("lightning", "accumulation.steps", get))
    limit = setting_of("lightning", "clipping.max_norm", get)
    kind = get("gradient_clip_algorithm")
    if limit is not None:
        if is_no_limit(limit):
            writer.tell("clipping.kind", "none", limit)
        else:
            by_value = kind is not None and kind.text == "value"
            writer.tell("clipping.kind", "value" if by_value else "global_norm", limit)
            writer.number("clipping.value", limit)
            writer.by_library("clipping.unscaled_first", "clipping.per")
    writer.by_library("zero_grad.where")
    strategy = get("strategy", "distributed_backend", "accelerator")
    if strategy is not None:
        word = strategy.text.lower().partition("_find")[0]
        if match := _DEEPSPEED.match(word):
            zero = f"deepspeed_zero{match[1]}" if match[1] else "deepspeed"
            writer.tell("parallel.kind", zero, strategy)
        elif kind_word := KINDS.get(word):
            writer.tell("parallel.kind", kind_word, strategy)
    writer.number("run.epochs", get("max_epochs"))
    tell_numbers(writer, "lightning", get, "seed")
