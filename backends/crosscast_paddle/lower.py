"""Recipe to Paddle: the Plan in paddle.amp's order and the view its templates print."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from crosscast import plan as ops
from crosscast.canonical import canonical_plan, scale_before_schedule
from crosscast.emit import py_literal
from crosscast.lowering import (
    MACHINE_RULE,
    clip_constants,
    divisor,
    factory_import,
    print_ops,
    shared_view,
)
from crosscast.recipe import DynamicLossScaling, Recipe, StaticLossScaling
from crosscast.target import File, Form, Lowered
from crosscast_paddle.optimizer import optimizer_view
from crosscast_paddle.overrides import PaddleOverrides

TITLE = "Paddle 3.0 or newer"
STOCK_CLIP_EPS = 1e-6  # what paddle.nn.utils.clip_grad_norm_ adds to the norm
_RULE_FLAGS = (
    ("--incr_every_n_steps", "growth_interval"),
    ("--decr_every_n_nan_or_inf", "hysteresis"),
    ("--incr_ratio", "growth_factor"),
    ("--decr_ratio", "backoff_factor"),
)


def lower(recipe: Recipe, templates: Path, form: Form) -> Lowered:
    """Return plan and files of a recipe for Paddle."""
    overrides = PaddleOverrides.model_validate(recipe.overrides.get("paddle", {}))
    # GradScaler tells of a skip by the counters that its update() changes.
    plan = scale_before_schedule(canonical_plan(recipe))
    view = shared_view(recipe, plan, TITLE, form)
    view |= _modes(recipe, overrides, form)
    view |= {
        "contextlib": view["distributed"],
        "math": recipe.schedule.name == "cosine" or view["machine"],
        "optimizer": optimizer_view(recipe.optimizer),
        "factory_import": "" if view["bert"] else factory_import(recipe, "paddle"),
        "module": "state.model._layers" if view["distributed"] else "state.model",
        "output": f"runs/{recipe.name}-paddle",
        "log_dir": f"runs/{recipe.name}-paddle/log",
        "no_gpus": ",".join(["-1"] * recipe.processes),
        "reseed": _reseed(view),
        "launch_flags": launch_flags(recipe),
        **_clipping(recipe, plan),
    }
    view["micro_loop"] = _micro_loop(templates, plan, view)
    view["window_code"] = print_ops(
        templates, "paddle/ops", plan.window, lambda op: _values(op, view), 4
    )
    return Lowered(plan=plan, files=_files(view, form))


def _modes(recipe: Recipe, overrides: PaddleOverrides, form: Form) -> dict[str, Any]:
    """Return what depends on precision and loss scaling; scripts have flags, steps have not."""
    half = recipe.precision.compute_dtype if recipe.precision.mode == "mixed" else ""
    scaling = recipe.loss_scaling
    machine = isinstance(scaling, DynamicLossScaling)
    script = form == "script"
    half_flag = "use_bf16" if half == "bfloat16" else "use_fp16"
    modes: dict[str, Any] = {
        "half": half,
        "half_flag": half_flag,
        "amp_level": overrides.amp_level,
        "auto_cast": _auto_cast(half, overrides.amp_level, script),
        "machine": machine,
        "flags": "paddle/flags.j2" if script else "",
        "state_flags": (),
        "state_arguments": "args" if half else "",
        "scaling_optional": script and recipe.scaling_on,
        "scaler": _scaler(recipe),
    }
    if script and half:
        modes["state_flags"] = (f"amp: bool = True  # --{half_flag}",)
    if script and machine:
        modes["state_flags"] += ("dynamic: bool = True  # --use_dynamic_loss_scaling",)
        modes["machine_fields"] = (
            "growth_factor: float = GROWTH_FACTOR",
            "backoff_factor: float = BACKOFF_FACTOR",
            "growth_interval: int = GROWTH_INTERVAL",
            "hysteresis: int = HYSTERESIS",
        )
        modes["machine_rule"] = {name: f"self.{name}" for name in MACHINE_RULE}
        lowest = 'row["scale"] <= MIN_SCALE or not state.dynamic'
        modes["hopeless"] = f'row["skipped"] and ({lowest})'
        modes["scale_range"] = "MIN_SCALE <= value <= min(MAX_SCALE, 2.0**126)"
    elif script and recipe.scaling_on:
        modes["hopeless"] = 'row["skipped"]'  # a constant scale never becomes lower
        modes["scale_range"] = "0 < value <= 2.0**126"
    return modes


def _auto_cast(half: str, level: str, script: bool) -> str:
    if not half:
        return ""
    enable = "state.amp, " if script else ""
    return f'paddle.amp.auto_cast({enable}dtype="{half}", level="{level}")'


def _scaler(recipe: Recipe) -> dict[str, str]:
    if isinstance(recipe.loss_scaling, StaticLossScaling):
        return {"doc": "Scales and skips; never adjusts the scale (CC342).", "init": "LOSS_SCALE"}
    return {
        "doc": "Scales and skips; LossScale decides about the scale (CC340).",
        "init": "INIT_SCALE",
    }


def launch_flags(recipe: Recipe) -> tuple[str, ...]:
    """Return the flags that launch.sh spells out, with the values of the recipe."""
    if recipe.precision.compute_dtype == "bfloat16":
        return ("--use_bf16=true",)
    scaling = recipe.loss_scaling
    if isinstance(scaling, StaticLossScaling):
        return (
            "--use_fp16=true",
            "--use_dynamic_loss_scaling=false",
            f"--init_loss_scaling={scaling.scale!r}",
        )
    if isinstance(scaling, DynamicLossScaling):
        return (
            "--use_fp16=true",
            "--use_dynamic_loss_scaling=true",
            f"--init_loss_scaling={scaling.init_scale!r}",
            *(f"{flag}={getattr(scaling, name)!r}" for flag, name in _RULE_FLAGS),
        )
    # Also float16 without loss scaling.
    return (f"--use_fp16={py_literal(recipe.precision.mode == 'mixed').lower()}",)


def _clipping(recipe: Recipe, plan: ops.Plan) -> dict[str, Any]:
    clip, normalize = plan.find(ops.Clip), plan.find(ops.Normalize)
    assert clip is not None  # every canonical plan has both
    assert normalize is not None
    own = clip.mode == "global_norm" and clip.eps != STOCK_CLIP_EPS
    full = () if normalize.renormalize else (f"FULL_WINDOW = {normalize.full}",)
    return {
        "own_norm": own or clip.mode != "global_norm",
        "clip_constants": (*clip_constants(recipe, with_eps=own), *full),
    }


def _reseed(view: Mapping[str, Any]) -> str:
    if not view["has_dropout"]:
        return ""
    if view["distributed"]:
        return "paddle.seed(SEED + state.windows * PROCESSES + process_rank())"
    return "paddle.seed(SEED + state.windows)"


def _values(op: ops.Op, view: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the template of one operation prints."""
    scaled = view["scaled"]
    match op:
        case ops.Autocast():
            return {"auto_cast": view["auto_cast"]}
        case ops.Normalize():
            return {"divisor": divisor(op, view["distributed"])}
        case ops.Backward():
            return {"loss": "scaled_loss" if scaled else "loss"}
        case ops.Clip():
            denominator = "(grad_norm + CLIP_EPS)" if op.eps else "grad_norm"
            stock = op.eps == STOCK_CLIP_EPS
            return {"mode": op.mode, "stock": stock, "denominator": denominator}
        case ops.Step() | ops.Schedule():
            return {"scaled": scaled}
        case ops.UpdateScale():
            return {"machine": view["machine"], "optional": view["scaling_optional"]}
        case _:
            return {}


def _micro_loop(templates: Path, plan: ops.Plan, view: Mapping[str, Any]) -> str:
    by = 12 if view["distributed"] else 8
    body = print_ops(templates, "paddle/ops", plan.micro, lambda op: _values(op, view), by)
    copy = f"{' ' * by}batch = to_device(batch)"
    if not view["distributed"]:
        return f"    for batch in micro_batches:\n{copy}\n{body}"
    return (
        "    for index, batch in enumerate(micro_batches, start=1):\n"
        "        last = index == len(micro_batches)  # the backward that reduces gradients\n"
        "        with contextlib.nullcontext() if last else model.no_sync():\n"
        f"{copy}\n{body}"
    )


def _files(view: dict[str, Any], form: Form) -> tuple[File, ...]:
    wrapped = {"view": view}
    if form == "step":
        return (File(path="step.py", template="paddle/step.py.j2", view=wrapped),)
    files = [
        File(path="train.py", template="paddle/train.py.j2", view=wrapped),
        File(path="launch.sh", template="paddle/launch.sh.j2", view=wrapped, executable=True),
        File(path="requirements.txt", template="paddle/requirements.txt.j2", view=wrapped),
    ]
    if view["bert"]:
        files.insert(1, File(path="model.py", template="paddle/model.py.j2", view=wrapped))
    return tuple(files)
