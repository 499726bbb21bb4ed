"""Flags of fairseq."""

from __future__ import annotations

from crosscast_reading.readers.config.fairseq_arguments import tell_fairseq
from crosscast_reading.readers.settings import Settings, SettingWriter
from crosscast_reading.readers.shell.launch import Launch

_ONLY_THERE = frozenset(
    (
        *("arch", "task", "criterion", "max_tokens", "update_freq", "lr_scheduler", "max_update"),
        *("warmup_updates", "warmup_init_lr", "adam_betas", "clip_norm", "max_sentences"),
        *("total_num_update", "label_smoothing", "max_epoch", "fp16_scale_window", "user_dir"),
    )
)


def owns(settings: Settings, launch: Launch) -> bool:
    """Return whether these can only be fairseq's flags."""
    known = len(settings.having(_ONLY_THERE))
    return known >= 4 or (launch.command.program.startswith("fairseq-") and known >= 2)


def tell(writer: SettingWriter, settings: Settings, launch: Launch) -> None:
    """Record the facts of the flags."""
    tell_fairseq(writer, settings)
