"""Plan and Frame to Paddle: the view that its templates print."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from crosscast.emit.frame import Frame
from crosscast.emit.launching import job_files
from crosscast.emit.lowering import divisor, factory_import, print_ops, shared_view
from crosscast.emit.runtime import runtime_files, settings_lines
from crosscast.plan import operations as ops
from crosscast.targets.backend import Dialect, File, Form, version_view
from crosscast_paddle.adaptations import PaddleAdaptation
from crosscast_paddle.clipping import clip_view
from crosscast_paddle.modes import launch_flags, modes
from crosscast_paddle.optimizer import optimizer_view
from crosscast_paddle.overrides import PaddleOverrides


def files(
    plan: ops.Plan, frame: Frame, templates: Path, dialect: Dialect, form: Form
) -> tuple[File, ...]:
    """Return the files for a dialect of dynamic graphs."""
    overrides = PaddleOverrides.model_validate(frame.overrides.get("paddle", {}))
    view = shared_view(plan, frame, dialect.title, form)
    view["versions"] = version_view(dialect.title, dialect.since, dialect.until)
    view |= modes(plan, frame, overrides, form)
    optimizer = optimizer_view(plan)
    wrapped = view["distributed"] and not view["full"]  # DataParallel would reduce in half
    view |= {
        "wrapped": wrapped,
        "late_sums": PaddleAdaptation.LATE_SUMS in plan.adapted,
        "recompute": frame.recomputes,
        "recomputed_dropout": PaddleAdaptation.GPU_RECOMPUTATION in plan.adapted,
        "checked_half": view["half"] if view["requires_amp"] else "",
        "main_arguments": "SETTINGS, train, argv, add_options",
        "betas": "BETAS" if optimizer["counts_steps"] else "",
        "math": view["schedule"]["math"] or view["machine"] or optimizer["math"],
        "field": view["machine"] or view["full"] or view["ema"],
        "optimizer": optimizer,
        "factory_import": factory_import(frame, "paddle"),
        "module": "state.model._layers" if wrapped else "state.model",
        "output": f"runs/{frame.name}-paddle",
        "log_dir": f"runs/{frame.name}-paddle/log",
        "no_gpus": ",".join(["-1"] * frame.processes_per_node),
        "reseed": _reseed(view),
        "launch_flags": launch_flags(plan),
        "requirements": dialect.requirements,
        "told_scale": _told_scale(plan, view["scaling_optional"]),
        **clip_view(plan),
    }
    view["micro_loop"] = _micro_loop(templates, plan, view)
    view["window_code"] = print_ops(
        templates, "paddle/ops", plan.window, lambda op: _values(op, view), 4
    )
    return _files(frame, view, dialect, form)


def _told_scale(plan: ops.Plan, optional: bool) -> str:
    """Return how a window learns its scale; the scaler of a script may be off."""
    scale = "state.scaler.get_init_loss_scaling()"
    if optional and PaddleAdaptation.SCALE_WHEN_OFF in plan.adapted:
        return f"{scale} if state.amp else 1.0"
    return f"{scale}  # the current one"


def _reseed(view: Mapping[str, Any]) -> str:
    if not view["has_dropout"]:
        return ""
    if view["distributed"]:
        return "paddle.seed(SETTINGS.seed + state.windows * PROCESSES + run.rank)"
    return "paddle.seed(SETTINGS.seed + state.windows)"


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
        case ops.Accumulate():
            # A sum in half is made by Paddle itself and collected behind the last micro-batch.
            return {"collect": view["full"] and not view["late_sums"]}
        case ops.AllReduce():
            return {"own_reduction": view["full"]}
        case ops.Clip():
            return {**view["clip"], "parameters": _clipped(view)}
        case ops.Step():
            return {"scaled": scaled, "numbered": view["optimizer"]["numbered"]}
        case ops.Ema() | ops.Schedule():
            return {"scaled": scaled}
        case ops.Unscale():
            return {"told_scale": view["told_scale"], "exempt": view["unclipped"]}
        case ops.UpdateScale():
            names = ("machine", "scaling_optional", "told_scale")
            return {name: view[name] for name in names} | {"exempt": view["unclipped"]}
        case _:
            return {}


def _clipped(view: Mapping[str, Any]) -> str:
    if view["unclipped"]:
        return "clipped"
    return "state.model.parameters()" if view["full"] else "model.parameters()"


def _micro_loop(templates: Path, plan: ops.Plan, view: Mapping[str, Any]) -> str:
    by = 12 if view["wrapped"] else 8
    body = print_ops(templates, "paddle/ops", plan.micro, lambda op: _values(op, view), by)
    copy = f"{' ' * by}batch = to_device(batch)"
    if not view["wrapped"]:
        behind = "\n    collect_gradients(state)" if view["late_sums"] else ""
        return f"    for batch in micro_batches:\n{copy}\n{body}{behind}"
    return (
        "    for index, batch in enumerate(micro_batches, start=1):\n"
        "        last = index == len(micro_batches)  # the backward that reduces gradients\n"
        "        with contextlib.nullcontext() if last else model.no_sync():\n"
        f"{copy}\n{body}"
    )


def _files(frame: Frame, view: dict[str, Any], dialect: Dialect, form: Form) -> tuple[File, ...]:
    wrapped = {"view": view}
    if form == "step":
        return (File(path="step.py", template="paddle/step.py.j2", view=wrapped),)
    view["settings"] = settings_lines(view)
    modules = dict.fromkeys(("device", "state", "flags"), "paddle")
    spelling = {"flags": True, "recomputes_on_cpu": not dialect.until}
    files = [
        File(path="train.py", template="paddle/train.py.j2", view=wrapped),
        *runtime_files(modules, spelling),
        File(path="launch.sh", template="paddle/launch.sh.j2", view=wrapped, executable=True),
        File(path="requirements.txt", template="paddle/requirements.txt.j2", view=wrapped),
        *job_files(frame, view),
    ]
    if view["bert"]:
        files.insert(1, File(path="model.py", template="paddle/model.py.j2", view=wrapped))
    return tuple(files)
