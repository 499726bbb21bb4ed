"""`accelerate launch`, and the flags of scripts that hand them to Accelerate."""

from __future__ import annotations

from crosscast.facts.fact import Fact
from crosscast.readers.config.settings import Said, Setting, Settings
from crosscast.readers.schedule_names import decay_of_schedule
from crosscast.readers.shell.launch import Launch
from crosscast.readers.words import (
    no_auto,
    setting_of,
    tell_clip,
    tell_numbers,
    tell_precision,
    tell_window,
)


def owns(settings: Settings, launch: Launch) -> bool:
    """Return whether Accelerate starts the program."""
    return launch.command.launcher == "accelerate"


def tell(said: Said, settings: Settings, launch: Launch) -> None:
    """Say what the launcher's options mean, and flags that scripts name like them."""
    options = {name: _setting(name, fact) for name, fact in launch.options.items()}
    said.tell("framework", "pytorch", origin="presence")
    said.tell("api", "accelerate", *list(options.values())[:1], origin="presence")
    precision = settings.get("mixed_precision") or options.get("mixed_precision")
    if precision is not None:
        tell_precision(said, precision)
    given = setting_of("accelerate", "accumulation.steps", options.get)
    tell_window(
        said, setting_of("accelerate", "accumulation.steps", settings.get) or no_auto(given)
    )
    limit = setting_of("accelerate", "clipping.max_norm", options.get)
    tell_clip(said, settings.get("max_grad_norm") or no_auto(limit))
    tell_numbers(said, "accelerate", settings.get, "batch", "optimizer")
    kind = settings.get("lr_scheduler_type", "lr_scheduler")
    if kind is not None and (decay := decay_of_schedule(kind.text)):
        said.tell("schedule.name", decay, kind)
    warmup = settings.get("num_warmup_steps", "lr_warmup_steps")
    if warmup is not None and warmup.number is not None:
        said.tell("schedule.warmup", f"{warmup.number} steps", warmup)
        said.tell("schedule.has_warmup", "yes" if warmup.number else "no", warmup)
    recompute = settings.get("gradient_checkpointing")
    if recompute is not None and recompute.switch is not False:
        said.tell("activation_checkpointing", "yes", recompute)
    said.number("seed", settings.get("seed"))
    said.by_library("zero_grad.where")
    stage = options.get("zero_stage")
    if stage is not None and stage.number in (0, 1, 2, 3):
        said.tell("parallel.kind", f"deepspeed_zero{int(stage.number or 0)}", stage)


def _setting(name: str, fact: Fact) -> Setting:
    return Setting(
        name=name,
        value=fact.value,
        known=fact.known,
        reason=fact.reason,
        places=fact.places,
        origin=fact.origin,
        under=fact.under,
    )
