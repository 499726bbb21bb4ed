"""Flags of fairseq."""

from __future__ import annotations

from crosscast.readers.config.settings import Said, Setting, Settings, number_of
from crosscast.readers.schedule_names import decay_of_schedule
from crosscast.readers.shell.launch import Launch
from crosscast.readers.words import (
    setting_of,
    tell_clip,
    tell_numbers,
    tell_optimizer,
    tell_window,
)
from crosscast.targets.parameter_words import scaling_words

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


def tell(said: Said, settings: Settings, launch: Launch) -> None:
    """Say what the flags mean."""
    get = settings.get
    said.tell("framework", "pytorch", origin="presence")
    _precision(said, settings)
    steps = get("update_freq")
    # fairseq divides gradients by the number of tokens of the whole window.
    tell_window(said, steps, divided="token_normalised")
    tell_clip(said, get("clip_norm"))
    family = tell_optimizer(said, get("optimizer"))

    def single(name: str) -> Setting | None:
        """Return a setting, None where it is a list of rates."""
        setting = get(name)
        return None if setting is not None and "," in setting.text else setting

    # fairseq's "adam" decouples the decay.
    coupled = family not in ("adam", "adamw", "lamb", "adafactor")
    tell_numbers(said, "fairseq", single, "optimizer", coupled=coupled)
    _betas(said, setting_of("fairseq", "optimizer.betas", get))
    kind = get("lr_scheduler")
    if kind is not None and (decay := decay_of_schedule(kind.text)):
        straight = kind.text == "polynomial_decay"  # whose power is 1, unless another is given
        said.tell("schedule.name", "linear" if straight else decay, kind)
        said.tell("schedule.stepped_per", "step", kind, origin="presence")
    if (warmup := get("warmup_updates")) is not None and warmup.number is not None:
        said.tell("schedule.warmup", f"{warmup.number} steps", warmup)
        said.tell("schedule.has_warmup", "yes" if warmup.number else "no", warmup)
    said.number("schedule.total_steps", get("total_num_update", "max_update"))
    said.number("seed", get("seed"))
    said.by_library("zero_grad.where")


def _betas(said: Said, both: Setting | None) -> None:
    """Say both decays of `(0.9, 0.98)`."""
    if both is None:
        return
    numbers = [number_of(text.strip()) for text in both.text.strip("()[]").split(",")]
    for index in range(2):
        field = f"optimizer.betas.{index}"
        if len(numbers) == 2 and numbers[index] is not None:
            said.tell(field, numbers[index], both)
        else:
            reason = both.reason or f"{both.name} is {both.text!r}, which are no two numbers"
            said.unknown(field, reason, both, text=both.text)


def _precision(said: Said, settings: Settings) -> None:
    half = settings.get("fp16", "memory_efficient_fp16")
    brain = settings.get("bf16", "memory_efficient_bf16")
    setting = half or brain
    if setting is None:
        said.default("precision.enabled", "never")
        said.default("precision.compute_dtype", "float32")
        said.tell("loss_scaling.mode", "none", origin="presence")
        return
    dtype = "float16" if half is not None else "bfloat16"
    said.tell("precision.enabled", "always", setting)
    said.tell("precision.dtypes", dtype, setting)
    said.tell("precision.compute_dtype", dtype, setting)
    if dtype == "bfloat16":
        said.tell("loss_scaling.mode", "none", setting, origin="presence")
        return
    stated = {path: settings.get(name) for name, path in scaling_words("fairseq").items()}
    given = tuple(number for number in stated.values() if number is not None)
    mode = "dynamic" if given else "framework_default"
    said.tell("loss_scaling.mode", mode, *(given or (setting,)))
    for path, number in stated.items():
        said.number(path, number)
    said.by_library("scaler_update.status")
