"""The loss scale of a script, and the flags of mixed precision that it has."""

from __future__ import annotations

from crosscast.emit.render import py_literal
from crosscast.emit.view import MachineView, machine_view
from crosscast.plan import predicates
from crosscast.plan.operations import Autocast, Plan, UpdateScale
from crosscast.targets.backend import Form
from crosscast.targets.parameter_words import scaling_words
from crosscast_paddle.target.adaptations import PaddleAdaptation


def machine_of(plan: Plan, *, flags: bool) -> MachineView | None:
    """Return the view of LossScale; None where the script has none.

    Args:
        plan: The plan.
        flags: Whether its rule is given by flags, with the constants as defaults.
    """
    if PaddleAdaptation.LOSS_SCALE not in plan.adapted:
        return None
    update = plan.get(UpdateScale)
    if not flags:
        return machine_view(update)
    return MachineView(
        growth_factor="self.growth_factor",
        backoff_factor="self.backoff_factor",
        growth_interval="self.growth_interval",
        hysteresis="self.hysteresis",
        # --decr_every_n_nan_or_inf decides, whatever the recipe says.
        counts_overflows=update.hysteresis_mode,
        fields=(
            "growth_factor: float = GROWTH_FACTOR",
            "backoff_factor: float = BACKOFF_FACTOR",
            "growth_interval: int = GROWTH_INTERVAL",
            "hysteresis: int = HYSTERESIS",
        ),
    )


def scale_code(plan: Plan, form: Form) -> str:
    """Return how a window learns its scale, as code; the scaler of a script may be off."""
    scale = "state.scaler.get_init_loss_scaling()"
    if form == "script" and PaddleAdaptation.SCALE_WHEN_OFF in plan.adapted:
        return f"{scale} if state.amp else 1.0"
    return f"{scale}  # the current one"


def launch_flags(plan: Plan) -> tuple[str, ...]:
    """Return the flags that launch.sh spells out, with the values of the plan."""
    if plan.get(Autocast).compute_dtype == "bfloat16":
        return ("--use_bf16=true",)
    update = plan.find(UpdateScale)
    if update is None:  # also float16 without loss scaling
        return (f"--use_fp16={py_literal(bool(predicates.half_type(plan))).lower()}",)
    if update.mode == "static":
        return (
            "--use_fp16=true",
            "--use_dynamic_loss_scaling=false",
            f"--init_loss_scaling={update.init_scale!r}",
        )
    return (
        "--use_fp16=true",
        "--use_dynamic_loss_scaling=true",
        *(
            f"--{flag}={getattr(update, path.removeprefix('loss_scaling.'))!r}"
            for flag, path in scaling_words("paddle").items()
        ),
    )
