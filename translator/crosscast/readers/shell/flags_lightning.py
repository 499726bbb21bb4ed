"""Flags of Lightning's Trainer, as `Trainer.add_argparse_args` and LightningCLI name them."""

from __future__ import annotations

from collections.abc import Callable

from crosscast.readers.config.settings import Said, Setting, Settings
from crosscast.readers.shell.launch import Launch
from crosscast.readers.words import setting_of, tell_numbers, tell_precision, tell_window

_ONLY_THERE = frozenset(
    (
        *("accumulate_grad_batches", "gradient_clip_val", "val_check_interval", "amp_backend"),
        *("distributed_backend", "progress_bar_refresh_rate", "num_sanity_val_steps", "amp_level"),
        *(
            "limit_val_batches",
            "limit_train_batches",
            "default_root_dir",
            "check_val_every_n_epoch",
        ),
        *("gradient_clip_algorithm", "fast_dev_run", "row_log_interval"),
    )
)
_ALSO = frozenset(
    {"precision", "gpus", "max_epochs", "max_steps", "accelerator", "devices", "strategy"}
)
_TAKEN_UP = frozenset({"log_every_n_steps"})
"""Names of Lightning's that other programs use, too: they tell beside others."""
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


def owns(settings: Settings, launch: Launch) -> bool:
    """Return whether these can only be flags of the Trainer."""
    settings = of_trainer(settings)
    strong, also = len(settings.having(_ONLY_THERE)), len(settings.having(_ALSO))
    if settings.having(_TAKEN_UP) and (strong or also >= 2):
        strong += 1
    return strong >= 2 or (strong >= 1 and also >= 1)


def of_trainer(settings: Settings) -> Settings:
    """Return the flags with `trainer.` taken off their names."""
    if not any(name.startswith("trainer.") for name in settings.entries):
        return settings
    found = Settings()
    for name, setting in settings.entries.items():
        found.entries[name.removeprefix("trainer.")] = setting
    return found


def tell(said: Said, settings: Settings, launch: Launch) -> None:
    """Say what the flags mean."""
    settings = of_trainer(settings)
    get = settings.get
    said.tell("framework", "pytorch", origin="presence")
    strong = next((get(name) for name in sorted(_ONLY_THERE) if name in settings), None)
    said.tell("api", "lightning", strong, origin="presence")
    tell_lightning(said, get)
    devices = get("gpus", "devices")
    nodes = get("num_nodes")
    if devices is not None and launch.command.processes is None:
        _world(said, devices, nodes)
    tell_numbers(said, "lightning", get, "optimizer")
    # The module of the user makes its optimizer and schedule.
    given = get("lr", "learning_rate")
    said.tell("optimizer.name", "elsewhere", given, origin="presence")
    warmup = get("warmup_steps", "num_warmup_steps")
    said.tell("schedule.name", "elsewhere", warmup, origin="presence")
    if warmup is not None and warmup.number is not None:
        said.tell("schedule.warmup", f"{warmup.number} steps", warmup)
        said.tell("schedule.has_warmup", "yes" if warmup.number else "no", warmup)
        said.by_library("schedule.stepped_per")


def tell_lightning(said: Said, get: Callable[..., Setting | None]) -> None:
    """Say what arguments of the Trainer mean, wherever they stand."""
    if (precision := get("precision")) is not None:
        tell_precision(said, precision)
    tell_window(said, setting_of("lightning", "accumulation.steps", get))
    limit = setting_of("lightning", "clipping.max_norm", get)
    kind = get("gradient_clip_algorithm")
    if limit is not None:
        value = limit.number
        if limit.known and not value:
            said.tell("clipping.kind", "none", limit)
        else:
            by_value = kind is not None and kind.text == "value"
            said.tell("clipping.kind", "value" if by_value else "global_norm", limit)
            said.number("clipping.value", limit)
            said.by_library("clipping.unscaled_first", "clipping.per")
    said.by_library("zero_grad.where")
    strategy = get("strategy", "distributed_backend", "accelerator")
    if strategy is not None and strategy.text:
        word = strategy.text.lower().partition("_find")[0]
        if word.startswith("deepspeed"):
            stage = word.rpartition("stage_")[2][:1]
            known = stage if stage in ("1", "2", "3") and "stage_" in word else ""
            said.tell("parallel.kind", f"deepspeed_zero{known}" if known else "deepspeed", strategy)
        elif kind_word := KINDS.get(word):
            said.tell("parallel.kind", kind_word, strategy)
    said.number("run.epochs", get("max_epochs"))
    tell_numbers(said, "lightning", get, "seed")


def _world(said: Said, devices: Setting, nodes: Setting | None) -> None:
    text = devices.text.strip("[]\"' ")
    count = len(text.rstrip(",").split(",")) if "," in text else devices.number
    times = 1 if nodes is None else nodes.number
    if count is None or times is None or count < 1:
        return
    given = (devices,) if nodes is None else (devices, nodes)
    said.tell("parallel.world_size", int(count * times), *given)
