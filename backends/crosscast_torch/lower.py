"""Recipe to PyTorch: the Plan in torch.amp's order and the view its templates print."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from crosscast import plan as ops
from crosscast.canonical import canonical_plan, scale_before_schedule
from crosscast.emit import py_literal
from crosscast.lowering import clip_constants, divisor, factory_import, print_ops, shared_view
from crosscast.recipe import DynamicLossScaling, Recipe, Sgd
from crosscast.target import File, Form, Lowered
from crosscast_torch.overrides import TorchOverrides
from crosscast_torch.rows import scaled_momentum

TITLE = "PyTorch 2.4 or newer"
STOCK_CLIP_EPS = 1e-6  # what torch.nn.utils.clip_grad_norm_ adds to the norm
_NEVER = "2**31 - 1"
_EXEMPT_MODULES = {"layer_norm": ("nn.LayerNorm", "nn.RMSNorm"), "embedding": ("nn.Embedding",)}


def lower(recipe: Recipe, templates: Path, form: Form) -> Lowered:
    """Return plan and files of a recipe for PyTorch."""
    overrides = TorchOverrides.model_validate(recipe.overrides.get("torch", {}))
    # GradScaler tells of a skip by lowering its scale.
    plan = scale_before_schedule(canonical_plan(recipe))
    view = shared_view(recipe, plan, TITLE, form)
    machine = needs_machine(recipe)
    clip = plan.find(ops.Clip)
    assert clip is not None  # every canonical plan has one
    own_clip = clip.mode == "global_norm" and clip.eps != STOCK_CLIP_EPS
    view |= {
        "machine": machine,
        "contextlib": view["distributed"],
        "own_norm": own_clip or clip.mode != "global_norm",
        "clip_constants": clip_constants(recipe, with_eps=own_clip),
        "math": recipe.schedule.name == "cosine" or machine,
        "compile": overrides.compile,
        "optimizer": _optimizer(recipe, overrides),
        "scaler": _scaler(recipe, machine),
        "factory_import": "" if view["bert"] else factory_import(recipe, "torch"),
        "module": "state.model.module" if view["distributed"] else "state.model",
        "autocast_dtype": _half(recipe),
        "output": f"runs/{recipe.name}-torch",
        "reseed": _reseed(view),
        "flags": "",
    }
    full = plan.find(ops.Normalize)
    assert full is not None
    if not full.renormalize:
        view["clip_constants"] = (*view["clip_constants"], f"FULL_WINDOW = {full.full}")
    view["micro_loop"] = _micro_loop(templates, plan, view, recipe)
    view["window_code"] = print_ops(
        templates, "torch/ops", plan.window, lambda op: _values(op, view, recipe), 4
    )
    return Lowered(plan=plan, files=_files(view, form))


def needs_machine(recipe: Recipe) -> bool:
    """Whether torch's GradScaler alone cannot follow the recipe: it knows no hysteresis."""
    scaling = recipe.loss_scaling
    return isinstance(scaling, DynamicLossScaling) and scaling.hysteresis > 1


def _half(recipe: Recipe) -> str:
    return recipe.precision.compute_dtype if recipe.precision.mode == "mixed" else ""


def _reseed(view: Mapping[str, Any]) -> str:
    if not view["has_dropout"]:
        return ""
    if view["distributed"]:
        return "torch.manual_seed(SEED + state.windows * PROCESSES + process_rank())"
    return "torch.manual_seed(SEED + state.windows)"


def _optimizer(recipe: Recipe, overrides: TorchOverrides) -> dict[str, Any]:
    optimizer = recipe.optimizer
    fused = overrides.fused_optimizer and not scaled_momentum(recipe)
    exempt = _exempt(recipe)
    constants, arguments = ["lr=LEARNING_RATE"], []
    if isinstance(optimizer, Sgd):
        values: dict[str, Any] = {"momentum": optimizer.momentum, "nesterov": optimizer.nesterov}
        values = {name: value for name, value in values.items() if value}
        cls = "SGD"
    else:
        values = {"betas": optimizer.betas, "eps": optimizer.eps}
        cls = "AdamW" if optimizer.name == "adamw" else "Adam"
    arguments = [*constants, *(f"{name}={name.upper()}" for name in values)]
    lines = [f"{name.upper()} = {py_literal(value)}" for name, value in values.items()]
    lines.append(f"WEIGHT_DECAY = {py_literal(optimizer.weight_decay)}")
    if not exempt:
        arguments.append("weight_decay=WEIGHT_DECAY")
    if fused:
        arguments.append("fused=True")
    decay = "Coupled (L2)" if optimizer.name != "adamw" else "Decoupled"
    doc = f"{cls}. {decay} weight decay on every parameter."
    if exempt:
        doc = f"{cls}. {decay} weight decay where `decays` says so."
    elif not optimizer.weight_decay:
        doc = f"{cls} without weight decay."
    if scaled_momentum(recipe):
        doc += " Not fused (CC315)."
    return {
        "cls": cls,
        "constants": tuple(lines),
        "arguments": tuple(arguments),
        "exempt": exempt,
        "doc": doc,
        "counts_steps": cls != "SGD",
        # Fused kernels keep the count of updates beside the parameter.
        "step_arguments": "float(state.updates)" + (", device=parameter.device" if fused else ""),
    }


def _exempt(recipe: Recipe) -> tuple[str, ...]:
    """Return the body of `decays`, empty where weight decay applies to everything or nothing."""
    optimizer = recipe.optimizer
    if not optimizer.weight_decay or not optimizer.no_decay:
        return ()
    bias = "bias" in optimizer.no_decay
    exempt = [names for role, names in _EXEMPT_MODULES.items() if role in optimizer.no_decay]
    modules = [name for names in exempt for name in names]
    types = f"({', '.join(modules)})" if len(modules) > 1 else "".join(modules)
    if not modules:
        return ('return "bias" not in name.split("_")',)
    first = ('if "bias" in name.split("_"):  # in_proj_bias too', "    return False")
    if len(modules) > 2:  # too long for one line
        last = [f"exempt = {types}", "return not isinstance(module, exempt)"]
    else:
        last = [f"return not isinstance(module, {types})"]
    return (*first, *last) if bias else tuple(last)


def _scaler(recipe: Recipe, machine: bool) -> dict[str, Any]:
    if not recipe.scaling_on:
        return {"arguments": (), "doc": ""}
    if recipe.loss_scaling.mode == "static":
        return {
            "doc": "Constant loss scale: it backs off only to tell of a skipped step (CC312).",
            "arguments": ("init_scale=LOSS_SCALE", f"growth_interval={_NEVER}"),
        }
    if machine:
        return {
            "doc": "Scales and skips; LossScale decides about the scale (CC311).",
            "arguments": ("init_scale=INIT_SCALE", f"growth_interval={_NEVER}"),
        }
    names = ("init_scale", "growth_factor", "backoff_factor", "growth_interval")
    return {
        "doc": "Dynamic loss scale; train_window keeps it within its bounds (CC310).",
        "arguments": tuple(f"{name}={name.upper()}" for name in names),
    }


def _values(op: ops.Op, view: Mapping[str, Any], recipe: Recipe) -> dict[str, Any]:
    """Return what the template of one operation prints."""
    scaled = view["scaled"]
    match op:
        case ops.Autocast():
            return {"dtype": op.compute_dtype}
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
            form = "machine" if view["machine"] else "static" if op.mode == "static" else "stock"
            return {"form": form, "has_max": op.max_scale is not None}
        case _:
            return {}


def _micro_loop(templates: Path, plan: ops.Plan, view: Mapping[str, Any], recipe: Recipe) -> str:
    by = 12 if view["distributed"] else 8
    body = print_ops(templates, "torch/ops", plan.micro, lambda op: _values(op, view, recipe), by)
    copy = f"{' ' * by}batch = to_device(batch, device)"
    if not view["distributed"]:
        return f"    for batch in micro_batches:\n{copy}\n{body}"
    return (
        "    for index, batch in enumerate(micro_batches, start=1):\n"
        "        last = index == len(micro_batches)  # the backward that reduces gradients\n"
        "        with contextlib.nullcontext() if last else model.no_sync():\n"
        f"{copy}\n{body}"
    )


def _usage(view: Mapping[str, Any]) -> tuple[str, ...]:
    """Return how the step is used, for the docstring of step.py."""
    scaler = ", make_scaler(device)" if view["scaled"] else ""
    wrap = ("    model = torch.nn.parallel.DistributedDataParallel(model)",)
    return (
        "",
        "Use it in a training loop of your own:",
        "",
        "    optimizer = make_optimizer(model)",
        *(wrap if view["distributed"] else ()),
        f"    state = TrainState(model, optimizer, device{scaler})",
        "    row = train_window(state, micro_batches, loss_fn)",
        "",
        "`micro_batches` are dicts of arrays or tensors, `labels` among them; `loss_fn(model,",
        f"batch)` returns the {view['reduction']} of their rows' losses. A checkpoint holds model,",
        "optimizer and everything else in `state`.",
    )


def _files(view: dict[str, Any], form: Form) -> tuple[File, ...]:
    wrapped = {"view": view}
    if form == "step":
        view["header"] = (*view["header"], *_usage(view))
        return (File(path="step.py", template="torch/step.py.j2", view=wrapped),)
    files = [
        File(path="train.py", template="torch/train.py.j2", view=wrapped),
        File(path="launch.sh", template="torch/launch.sh.j2", view=wrapped, executable=True),
        File(path="requirements.txt", template="torch/requirements.txt.j2", view=wrapped),
    ]
    if view["bert"]:
        files.insert(1, File(path="model.py", template="torch/model.py.j2", view=wrapped))
    return tuple(files)
