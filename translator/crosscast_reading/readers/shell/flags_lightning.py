"""Flags of Lightning's Trainer, as `Trainer.add_argparse_args` and LightningCLI name them."""

from __future__ import annotations

from crosscast_reading.readers.config.lightning_arguments import tell_lightning
from crosscast_reading.readers.settings import Setting, Settings, SettingWriter
from crosscast_reading.readers.shell.launch import Launch
from crosscast_reading.readers.words import tell_numbers, tell_warmup

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
"""Flags of Lightning that other programs use, too: they count only together with others."""


def owns(settings: Settings, launch: Launch) -> bool:
    """Return whether these can only be flags of the Trainer."""
    settings = of_trainer(settings)
    strong, also = len(settings.having(_ONLY_THERE)), len(settings.having(_ALSO))
    if settings.having(_TAKEN_UP) and (strong or also >= 2):
        strong += 1
    return strong >= 2 or (strong >= 1 and also >= 1)


def of_trainer(settings: Settings) -> Settings:
    """Return the flags without the prefix `trainer.` in their names."""
    entries = settings.entries.items()
    return Settings({name.removeprefix("trainer."): setting for name, setting in entries})


def tell(writer: SettingWriter, settings: Settings, launch: Launch) -> None:
    """Record the facts of the flags."""
    settings = of_trainer(settings)
    get = settings.get
    writer.tell("framework", "pytorch", origin="presence")
    strong = next((get(name) for name in sorted(_ONLY_THERE) if name in settings), None)
    writer.tell("api", "lightning", strong, origin="presence")
    tell_lightning(writer, get)
    devices = get("gpus", "devices")
    nodes = get("num_nodes")
    if devices is not None and launch.command.processes is None:
        _world(writer, devices, nodes)
    tell_numbers(writer, "lightning", get, "optimizer")
    # The module of the user makes its optimizer and schedule.
    given = get("lr", "learning_rate")
    writer.tell("optimizer.name", "elsewhere", given, origin="presence")
    warmup = get("warmup_steps", "num_warmup_steps")
    writer.tell("schedule.name", "elsewhere", warmup, origin="presence")
    tell_warmup(writer, warmup)
    if warmup is not None:
        writer.by_library("schedule.stepped_per")


def _world(writer: SettingWriter, devices: Setting, nodes: Setting | None) -> None:
    text = devices.text.strip("[]\"' ")
    count = len(text.rstrip(",").split(",")) if "," in text else devices.number
    times = 1 if nodes is None else nodes.number
    if count is None or times is None or count < 1:
        return
    given = (devices,) if nodes is None else (devices, nodes)
    writer.tell("parallel.world_size", int(count * times), *given)
