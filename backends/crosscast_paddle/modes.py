"""What of a script depends on precision and loss scaling, and the flags that tell of it."""

from __future__ import annotations

from typing import Any

from crosscast.emit.frame import Frame
from crosscast.emit.lowering import MACHINE_RULE
from crosscast.emit.render import py_literal
from crosscast.plan import predicates
from crosscast.plan.operations import Autocast, Plan, UpdateScale
from crosscast.recipe.document import OpTypes
from crosscast.targets.backend import Form
from crosscast.targets.parameter_words import scaling_words
from crosscast_paddle.adaptations import PaddleAdaptation
from crosscast_paddle.overrides import PaddleOverrides


def modes(plan: Plan, frame: Frame, overrides: PaddleOverrides, form: Form) -> dict[str, Any]:
    """Return what depends on precision and loss scaling; scripts have flags, steps have not."""
    has, half = plan.adapted.__contains__, predicates.half_type(plan)
    machine, scaled = has(PaddleAdaptation.LOSS_SCALE), predicates.scaled(plan)
    bounded = machine and plan.get(UpdateScale).max_scale is not None
    op_types = frame.op_types if has(PaddleAdaptation.EXPLICIT_CASTS) else OpTypes()
    auto_cast = _auto_cast(half, op_types, overrides.amp_level, script=form == "script")
    script = form == "script"
    half_flag = "use_bf16" if half == "bfloat16" else "use_fp16"
    found: dict[str, Any] = {
        "half": half,
        "full": has(PaddleAdaptation.HALF_COPY),
        "requires_amp": has(PaddleAdaptation.REQUIRED_AMP),
        **_types(half, op_types),
        "length": "input_ids.shape[1]",
        "working": "half_copy(self.model)" + (" if self.amp else self.model" if script else ""),
        "half_flag": half_flag,
        "auto_cast": auto_cast if has(PaddleAdaptation.AUTO_CAST) else "",
        "machine": machine,
        "most_scale": "MAX_SCALE" if bounded else "LARGEST_SCALE",
        "flag_names": _flag_names(half, scaled=scaled, machine=machine, bounded=bounded),
        "model_names": _model_names(op_types),
        "state_flags": (),
        "scaling_optional": script and scaled,
        "scaler": _scaler(plan),
    }
    if script and half:
        found["state_flags"] = (f"amp: bool = True  # --{half_flag}",)
    if script and machine:
        found["state_flags"] += ("dynamic: bool = True  # --use_dynamic_loss_scaling",)
        found["machine_fields"] = (
            "growth_factor: float = GROWTH_FACTOR",
            "backoff_factor: float = BACKOFF_FACTOR",
            "growth_interval: int = GROWTH_INTERVAL",
            "hysteresis: int = HYSTERESIS",
        )
        # --decr_every_n_nan_or_inf decides, whatever the recipe says.
        found["counts_overflows"] = plan.get(UpdateScale).hysteresis_mode
        found["machine_rule"] = {name: f"self.{name}" for name in MACHINE_RULE}
    return found


def _flag_names(half: str, *, scaled: bool, machine: bool, bounded: bool) -> str:
    """Return what train.py imports of the types of flags."""
    if machine:
        names = "above_one, below_one, boolean, scale_between"
        return names if bounded else f"LARGEST_SCALE, {names}"
    if scaled:
        return "LARGEST_SCALE, boolean, false, scale_between"
    return "boolean" if half else "false"


def _model_names(op_types: OpTypes) -> str:
    """Return what train.py imports of the shipped model."""
    if op_types == OpTypes():
        return "LIMITS, MAX_POSITIONS, build_model"
    return "LIMITS, MAX_POSITIONS, TYPES, build_model, compute_in_float32"


def _types(half: str, chosen: OpTypes) -> dict[str, Any]:
    """Return the types of the classes of operations where they are not those of auto_cast O1."""
    if chosen == OpTypes():
        plain = {"dense_class": "nn.Linear", "norm_class": "nn.LayerNorm", "lowest": "-1e9"}
        return plain | {"types": {}}
    found = {"compute": half, "float32": "float32"}
    types = {name: found[kind] for name, kind in chosen.model_dump().items()}
    narrow = types["reductions"] == "float16"
    lowest = "-1e4" if narrow else "-1e9"  # float16 ends at 65504
    return {"dense_class": "Dense", "norm_class": "Norm", "lowest": lowest, "types": types}


def _auto_cast(half: str, op_types: OpTypes, level: str, *, script: bool) -> str:
    if op_types != OpTypes():
        return f'paddle.amp.auto_cast(False, dtype="{half}")'  # GradScaler asks for the type
    enable = "state.amp, " if script else ""
    return f'paddle.amp.auto_cast({enable}dtype="{half}", level="{level}")'


def _scaler(plan: Plan) -> dict[str, str]:
    if PaddleAdaptation.CONSTANT_SCALE in plan.adapted:
        return {"doc": "Scales and skips; never adjusts the scale (CC342).", "init": "LOSS_SCALE"}
    return {
        "doc": "Scales and skips; LossScale decides about the scale (CC340).",
        "init": "INIT_SCALE",
    }


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
