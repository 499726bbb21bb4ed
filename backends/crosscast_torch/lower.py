"""Plan and Frame to PyTorch: the view that its templates print."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from crosscast.emit.frame import Frame
from crosscast.emit.launching import job_files
from crosscast.emit.lowering import clip_constants, factory_import, shared_view
from crosscast.emit.runtime import runtime_files, settings_lines
from crosscast.messages.diagnostics import Diagnostic, DiagnosticError
from crosscast.plan import operations as ops
from crosscast.plan import predicates
from crosscast.targets.backend import Dialect, File, Form, version_view
from crosscast_torch.adaptations import TorchAdaptation
from crosscast_torch.api import spelling
from crosscast_torch.launcher import launcher
from crosscast_torch.optimizer import optimizer_view
from crosscast_torch.overrides import TorchOverrides
from crosscast_torch.roles import without_roles
from crosscast_torch.types import types_view
from crosscast_torch.window import micro_loop, rate_lines, window_code

_NEVER = "2**31 - 1"


def files(
    plan: ops.Plan, frame: Frame, dialect: Dialect, templates: Path, form: Form
) -> tuple[File, ...]:
    """Return the files for an API generation of PyTorch.

    Raises:
        DiagnosticError: CC208 for an override that the dialect does not know, CC212 for one about
            the model that a step is given.
    """
    overrides = _overrides(frame, dialect, form)
    optimizer = optimizer_view(plan, overrides, dialect.features)
    view = shared_view(plan, frame, optimizer["title"] or dialect.title, form)
    view["versions"] = version_view(
        optimizer["title"] or dialect.title,
        optimizer["since"] or dialect.since,
        dialect.until,
    )
    view |= spelling(dialect, predicates.half_type(plan))
    view |= _adapted(plan, view, form)
    view |= _precision(plan, frame, form)
    view["launcher"] = launcher(frame, dialect)
    if optimizer["requirement"]:
        view["requirements"] = (optimizer["requirement"], *dialect.requirements[1:])
    view |= {
        "contextlib": view["distributed"] and not view["full"],
        "compile": overrides.compile,
        "optimizer": optimizer,
        "scaler": _scaler(plan),
        "factory_import": factory_import(frame, "torch"),
        "module": "state.model.module" if view["distributed"] else "state.model",
        "output": f"runs/{frame.name}-torch",
        "reseed": _reseed(view),
        "fnmatch": bool(optimizer["groups"]),
        "rate_lines": rate_lines(optimizer, view["rate"], constant=view["schedule"]["constant"]),
    }
    view |= _clipping(plan, dialect)
    view["math"] = _needs_math(view)
    view["micro_loop"] = micro_loop(templates, plan, view)
    view["window_code"] = window_code(templates, plan, view)
    return _files(frame, view, form)


def _overrides(frame: Frame, dialect: Dialect, form: Form) -> TorchOverrides:
    overrides = TorchOverrides.model_validate(frame.overrides.get("torch", {}))
    if not overrides.compile:
        return overrides
    if "compile" not in dialect.features:
        message = f"{dialect.title} is not compiled"
        raise _not_compiled("CC208", message, "leave it out, or emit for PyTorch 2.4 or newer")
    if form == "step":
        message = "this is about the model, which a step does not contain"
        raise _not_compiled("CC212", message, "leave it out and call model.compile() yourself")
    return overrides


def _not_compiled(code: str, message: str, hint: str) -> DiagnosticError:
    path = "overrides.torch.compile"
    return DiagnosticError(Diagnostic(code=code, path=path, message=message, hint=hint))


def _adapted(plan: ops.Plan, view: Mapping[str, Any], form: Form) -> dict[str, Any]:
    """Return the parts of the script that the rows asked for."""
    has = plan.adapted.__contains__
    # A step is given its model, whose casts are the program's own.
    casts = has(TorchAdaptation.AUTOCAST) or (form == "step" and view["half"])
    return {
        "autocast": view["autocast"] if casts else "",
        "checked_half": view["half"] if has(TorchAdaptation.GPU_ONLY) else "",
        "grows_to_inf": has(TorchAdaptation.FINITE_GROWTH),
        "machine": has(TorchAdaptation.LOSS_SCALE),
        "keeps_averages": has(TorchAdaptation.OWN_AVERAGE),
        "full": has(TorchAdaptation.MASTER_WEIGHTS),
    }


def _precision(plan: ops.Plan, frame: Frame, form: Form) -> dict[str, Any]:
    """Return what follows from the types of weights and operations."""
    full = TorchAdaptation.MASTER_WEIGHTS in plan.adapted
    return {
        "half_sums": predicates.half_sums(plan),
        "types": types_view(plan, frame, form),
        "activation_checkpointing": frame.recomputes,
        # How the float32 weights are called: of the parameter `p`, of `parameter`, of all.
        "weight_type": "torch.Tensor" if full else "nn.Parameter",
        "weight": "master(p)" if full else "p",
        "weight_of": "master(parameter)" if full else "parameter",
        "parameters": "weights(model)" if full else "model.parameters()",
    }


def _clipping(plan: ops.Plan, dialect: Dialect) -> dict[str, Any]:
    clip, own = plan.get(ops.Clip), TorchAdaptation.OWN_CLIP in plan.adapted
    return {
        "own_norm": own or clip.mode != "global_norm",
        "exempt": without_roles(clip.exempt, dialect.features),
        "clip_constants": clip_constants(plan, with_eps=own),
    }


def _needs_math(view: Mapping[str, Any]) -> bool:
    """Whether a step by itself uses the module `math`."""
    watches_growth = view["dynamic"] and view["grows_to_inf"]
    return any(
        (view["schedule"]["math"], view["machine"], watches_growth, view["optimizer"]["math"])
    )


def _reseed(view: Mapping[str, Any]) -> str:
    if not view["has_dropout"]:
        return ""
    if view["distributed"]:
        return "torch.manual_seed(SETTINGS.seed + state.windows * PROCESSES + run.rank)"
    return "torch.manual_seed(SETTINGS.seed + state.windows)"


def _scaler(plan: ops.Plan) -> dict[str, Any]:
    if not predicates.scaled(plan):
        return {"arguments": (), "doc": ""}
    if TorchAdaptation.CONSTANT_SCALE in plan.adapted:
        return {
            "doc": "Constant loss scale: it backs off only to tell of a skipped step (CC312).",
            "arguments": ("init_scale=LOSS_SCALE", f"growth_interval={_NEVER}"),
        }
    if TorchAdaptation.LOSS_SCALE in plan.adapted:
        return {
            "doc": "Scales and skips; LossScale decides about the scale (CC311).",
            "arguments": ("init_scale=INIT_SCALE", f"growth_interval={_NEVER}"),
        }
    names = ("init_scale", "growth_factor", "backoff_factor", "growth_interval")
    bounded = TorchAdaptation.SCALE_BOUNDS in plan.adapted
    bounds = "; train_window keeps it within its bounds (CC310)" if bounded else ""
    return {
        "doc": f"Dynamic loss scale{bounds}.",
        "arguments": tuple(f"{name}={name.upper()}" for name in names),
    }


def _usage(view: Mapping[str, Any]) -> tuple[str, ...]:
    """Return how the step is used, for the docstring of step.py."""
    scaler = f", make_scaler({'device' if view['scaler_device'] else ''})" if view["scaled"] else ""
    masters = ", and `weights(model)` in float32" if view["full"] else ""
    wrap = ("    model = torch.nn.parallel.DistributedDataParallel(model)",)
    shared = (
        "    torch.distributed.init_process_group()  # make_optimizer sends the weights of rank 0",
        "    model.to(device)",
    )
    end = (
        "    state.model = model = model.module  # or the end of the group may hang",
        "    torch.distributed.destroy_process_group()",
    )
    return (
        "",
        "Use it in a training loop of your own:",
        "",
        *(shared if view["distributed"] and view["full"] else ()),
        "    optimizer = make_optimizer(model)",
        *(wrap if view["distributed"] else ()),
        f"    state = TrainState(model, optimizer, device{scaler})",
        "    row = train_window(state, micro_batches, loss_fn)",
        *(end if view["distributed"] else ()),
        "",
        "`micro_batches` are dicts of arrays or tensors, `labels` among them; `loss_fn(model,",
        f"batch)` returns the {view['reduction']} of their rows' losses. A checkpoint holds model,",
        f"optimizer and everything else in `state`{masters}.",
    )


def _files(frame: Frame, view: dict[str, Any], form: Form) -> tuple[File, ...]:
    wrapped = {"view": view}
    if form == "step":
        view["header"] = (*view["header"], *_usage(view))
        return (File(path="step.py", template="torch/step.py.j2", view=wrapped),)
    view["settings"] = settings_lines(view)
    spelling = {name: view[name] for name in ("device_amp", "step_tensors", "tf32_switch")}
    files = [
        File(path="train.py", template="torch/train.py.j2", view=wrapped),
        *runtime_files(dict.fromkeys(("device", "state"), "torch"), spelling),
        File(path="launch.sh", template="torch/launch.sh.j2", view=wrapped, executable=True),
        File(path="requirements.txt", template="torch/requirements.txt.j2", view=wrapped),
        *job_files(frame, view),
    ]
    if view["bert"]:
        files.insert(1, File(path="model.py", template="torch/model.py.j2", view=wrapped))
    return tuple(files)
