"""`accelerate launch`, and the flags of scripts that pass them to Accelerate."""

from __future__ import annotations

from crosscast_reading.facts.fact import Fact
from crosscast_reading.readers.settings import Setting, Settings, SettingWriter
from crosscast_reading.readers.shell.launch import Launch
from crosscast_reading.readers.words import (
    no_auto,
    setting_of,
    tell_clip,
    tell_decay,
    tell_numbers,
    tell_precision,
    tell_warmup,
    tell_window,
)


def owns(settings: Settings, launch: Launch) -> bool:
    """Return whether Accelerate starts the program."""
    return launch.command.launcher == "accelerate"


def tell(writer: SettingWriter, settings: Settings, launch: Launch) -> None:
    """Record the options of the launcher, and flags of scripts with the same names."""
    options = {name: setting_of_option(name, fact) for name, fact in launch.options.items()}
    writer.tell("framework", "pytorch", origin="presence")
    writer.tell("api", "accelerate", *list(options.values())[:1], origin="presence")
    precision = settings.get("mixed_precision") or options.get("mixed_precision")
    if precision is not None:
        tell_precision(writer, precision)
    given = setting_of("accelerate", "accumulation.steps", options.get)
    tell_window(
        writer, setting_of("accelerate", "accumulation.steps", settings.get) or no_auto(given)
    )
    limit = setting_of("accelerate", "clipping.max_norm", options.get)
    tell_clip(writer, settings.get("max_grad_norm") or no_auto(limit))
    tell_numbers(writer, "accelerate", settings.get, "batch", "optimizer")
    kind = settings.get("lr_scheduler_type", "lr_scheduler")
    if kind is not None:
        tell_decay(writer, kind)
    tell_warmup(writer, settings.get("num_warmup_steps", "lr_warmup_steps"))
    recompute = settings.get("gradient_checkpointing")
    if recompute is not None and recompute.switch is not False:
        writer.tell("activation_checkpointing", "yes", recompute)
    writer.number("seed", settings.get("seed"))
    writer.by_library("zero_grad.where")
    stage = options.get("zero_stage")
    if stage is not None and stage.number in (0, 1, 2, 3):
        writer.tell("parallel.kind", f"deepspeed_zero{int(stage.number or 0)}", stage)


def setting_of_option(name: str, fact: Fact) -> Setting:
    """Return an option of the launcher as a setting."""
    return Setting(
        name=name,
        value=fact.value,
        known=fact.known,
        reason=fact.reason,
        places=fact.places,
        origin=fact.origin,
        under=fact.under,
    )
