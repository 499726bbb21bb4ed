"""Arguments of Lightning's Trainer in any form: flags, YAML."""

from __future__ import annotations

from collections.abc import Callable

from crosscast.readers.settings import Setting, SettingWriter
from crosscast.readers.words import setting_of, tell_numbers, tell_precision, tell_window

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
        value = limit.number
        if limit.known and not value:
            writer.tell("clipping.kind", "none", limit)
        else:
            by_value = kind is not None and kind.text == "value"
            writer.tell("clipping.kind", "value" if by_value else "global_norm", limit)
            writer.number("clipping.value", limit)
            writer.by_library("clipping.unscaled_first", "clipping.per")
    writer.by_library("zero_grad.where")
    strategy = get("strategy", "distributed_backend", "accelerator")
    if strategy is not None and strategy.text:
        word = strategy.text.lower().partition("_find")[0]
        if word.startswith("deepspeed"):
            stage = word.rpartition("stage_")[2][:1]
            known = stage if stage in ("1", "2", "3") and "stage_" in word else ""
            writer.tell(
                "parallel.kind", f"deepspeed_zero{known}" if known else "deepspeed", strategy
            )
        elif kind_word := KINDS.get(word):
            writer.tell("parallel.kind", kind_word, strategy)
    writer.number("run.epochs", get("max_epochs"))
    tell_numbers(writer, "lightning", get, "seed")
