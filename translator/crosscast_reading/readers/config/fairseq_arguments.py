"""Settings of fairseq in any form: flags, YAML."""

from __future__ import annotations

from crosscast.targets.parameter_words import scaling_words
from crosscast_reading.readers.settings import Setting, Settings, SettingWriter, number_of
from crosscast_reading.readers.words import (
    setting_of,
    tell_backend,
    tell_clip,
    tell_numbers,
    tell_optimizer,
    tell_schedule,
    tell_warmup,
    tell_window,
)


def tell_fairseq(writer: SettingWriter, settings: Settings) -> None:
    """Record the facts of fairseq's settings by the names of its flags."""
    get = settings.get
    writer.tell("framework", "pytorch", origin="presence")
    _precision(writer, settings)
    steps = get("update_freq")
    # fairseq divides gradients by the number of tokens of the whole window.
    tell_window(writer, steps, divided="token_normalised")
    tell_clip(writer, get("clip_norm"))
    family = tell_optimizer(writer, get("optimizer"))

    def single(name: str) -> Setting | None:
        """Return a setting, None where it is a list of rates."""
        setting = get(name)
        return None if setting is not None and "," in setting.text else setting

    # fairseq's "adam" decouples the decay.
    coupled = family not in ("adam", "adamw", "lamb", "adafactor")
    tell_numbers(writer, "fairseq", single, "optimizer", coupled=coupled)
    _betas(writer, setting_of("fairseq", "optimizer.betas", get))
    kind = get("lr_scheduler")
    # the power of that polynomial is 1, unless another is given
    tell_schedule(writer, kind, {"polynomial_decay": "linear"})
    tell_warmup(writer, get("warmup_updates"), get("warmup_ratio"))
    writer.number("schedule.total_steps", get("total_num_update", "max_update"))
    writer.number("seed", get("seed"))
    writer.by_library("zero_grad.where")
    if kind is not None:
        writer.by_library("schedule.on_skip")
    tell_backend(writer, get("distributed_backend"))


def _betas(writer: SettingWriter, both: Setting | None) -> None:
    """Record both decays of `(0.9, 0.98)`."""
    if both is None:
        return
    numbers = [number_of(text.strip()) for text in both.text.strip("()[]").split(",")]
    for index in range(2):
        field = f"optimizer.betas.{index}"
        if len(numbers) == 2 and numbers[index] is not None:
            writer.tell(field, numbers[index], both)
        else:
            reason = both.reason or f"{both.name} is {both.text!r}, not two numbers"
            writer.unknown(field, reason, both, text=both.text)


def _on(settings: Settings, *names: str) -> Setting | None:
    """Return the first of some switches that is not off; flags without a value are on."""
    switches = (settings.get(name) for name in names)
    return next((s for s in switches if s is not None and s.switch is not False), None)


def _precision(writer: SettingWriter, settings: Settings) -> None:
    half = _on(settings, "fp16", "memory_efficient_fp16")
    brain = _on(settings, "bf16", "memory_efficient_bf16")
    setting = half or brain
    if setting is None:
        writer.default("precision.enabled", "never")
        writer.default("precision.compute_dtype", "float32")
        writer.tell("loss_scaling.mode", "none", origin="presence")
        return
    dtype = "float16" if half is not None else "bfloat16"
    writer.tell("precision.enabled", "always", setting)
    writer.tell("precision.dtypes", dtype, setting)
    writer.tell("precision.compute_dtype", dtype, setting)
    if dtype == "bfloat16":
        writer.tell("loss_scaling.mode", "none", setting, origin="presence")
        return
    stated = {path: settings.get(name) for name, path in scaling_words("fairseq").items()}
    given = tuple(number for number in stated.values() if number is not None)
    mode = "dynamic" if given else "framework_default"
    writer.tell("loss_scaling.mode", mode, *(given or (setting,)))
    for path, number in stated.items():
        writer.number(path, number)
    writer.by_library("scaler_update.status")
