"""Flags that hand-written PyTorch loops share and that identify no library."""

from __future__ import annotations

from crosscast.readers.schedule_names import decay_of_schedule
from crosscast.readers.settings import Settings, SettingWriter
from crosscast.readers.shell.launch import Launch
from crosscast.readers.words import PRECISIONS, tell_numbers, tell_warmup
from crosscast.targets.parameter_words import fields_of

_STEPS = fields_of("loop flags")["accumulation.steps"]
_USUAL = frozenset(
    (
        *(*_STEPS, "learning_rate", "train_batch_size", "per_device_train_batch_size"),
        *("num_train_epochs", "train_epochs", "train_steps", "max_steps", "warmup_steps"),
        *("num_warmup_steps", "weight_decay", "max_grad_norm", "lr_scheduler_type", "max_seq_len"),
        *("max_source_length", "max_seq_length", "adam_epsilon", "fp16"),
    )
)
_SHORT = frozenset(
    (
        *("batch_size", "epochs", "warmup", "wd", "weight_decay", "precision", "accum_freq"),
        *("grad_checkpointing", "beta1", "beta2", "clip_grad", "grad_clip_norm", "warmup_epochs"),
    )
)
"""Flags of scripts that call the learning rate `--lr`."""
_LAUNCHERS = ("torchrun", "torch.distributed.launch", "deepspeed", "accelerate")
_LEAST = 4


def owns(settings: Settings, launch: Launch) -> bool:
    """Return whether a launcher of PyTorch starts a script with the usual flags."""
    if launch.command.launcher not in _LAUNCHERS:
        return False
    short = "lr" in settings and len(settings.having(_SHORT)) >= _LEAST
    return short or len(settings.having(_USUAL)) >= _LEAST


def tell(writer: SettingWriter, settings: Settings, launch: Launch) -> None:
    """Record the facts of these flags, which every script uses in the same way."""
    get = settings.get
    writer.tell("framework", "pytorch", origin="presence")
    steps = get(*_STEPS)
    if steps is not None:
        writer.number("accumulation.steps", steps)
        writer.tell("accumulation.present", "yes", steps)
    tell_numbers(writer, "loop flags", get, "optimizer")
    limit = get("max_grad_norm", "grad_clip_norm")
    if limit is not None and limit.number:
        writer.tell("clipping.kind", "global_norm", limit)
        writer.number("clipping.value", limit)
    kind = get("lr_scheduler_type")
    if kind is not None and (decay := decay_of_schedule(kind.text)):
        writer.tell("schedule.name", decay, kind)
    tell_warmup(writer, get("warmup_steps", "num_warmup_steps"), get("warmup_ratio"))
    named, half = get("precision"), get("fp16")
    if named is not None and (dtype := PRECISIONS.get(named.text.lower())) is not None:
        writer.tell("precision.enabled", "never" if dtype == "float32" else "always", named)
        writer.tell("precision.compute_dtype", dtype, named)
        if dtype != "float32":
            writer.tell("precision.dtypes", dtype, named)
    recompute = get("grad_checkpointing", "gradient_checkpointing")
    if recompute is not None and recompute.switch:
        writer.tell("activation_checkpointing", "yes", recompute)
    if half is not None and half.switch is not None:
        writer.tell("precision.enabled", "always" if half.switch else "never", half)
        writer.tell("precision.compute_dtype", "float16" if half.switch else "float32", half)
        if half.switch:
            writer.tell("precision.dtypes", "float16", half)
    writer.number("seed", get("seed"))
    writer.number("run.epochs", get("num_train_epochs", "train_epochs", "epochs"))
