"""The body of train_window: the operations of a Plan, printed in its order."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from crosscast.emit.lowering import divisor, print_ops
from crosscast.plan import operations as ops
from crosscast_torch.adaptations import TorchAdaptation


def micro_loop(templates: Path, plan: ops.Plan, view: Mapping[str, Any]) -> str:
    """Return the loop over the micro-batches of a window."""
    by = 12 if view["distributed"] else 8
    body = print_ops(templates, "torch/ops", plan.micro, lambda op: _values(op, plan, view), by)
    copy = f"{' ' * by}batch = to_device(batch, device)"
    if not view["distributed"]:
        return f"    for batch in micro_batches:\n{copy}\n{body}"
    if view["full"]:
        return (
            "    for batch in micro_batches:\n"
            "        with model.no_sync():  # the sums are reduced, in float32\n"
            f"{copy}\n{body}"
        )
    return (
        "    for index, batch in enumerate(micro_batches, start=1):\n"
        "        last = index == len(micro_batches)  # the backward that reduces gradients\n"
        "        with contextlib.nullcontext() if last else model.no_sync():\n"
        f"{copy}\n{body}"
    )


def window_code(templates: Path, plan: ops.Plan, view: Mapping[str, Any]) -> str:
    """Return what follows the loop: everything up to clearing the gradients."""
    code = print_ops(templates, "torch/ops", plan.window, lambda op: _values(op, plan, view), 4)
    return f"    collect_gradients(model)\n{code}" if view["half_sums"] else code


def rate_lines(optimizer: Mapping[str, Any], rate: str, *, constant: bool) -> tuple[str, ...]:
    """Return the lines that set the learning rate, and what makes up for Adam's corrections.

    Args:
        optimizer: What the template of the optimizer prints.
        rate: The rate of a window in emitted code.
        constant: Whether it is what the optimizer was made with.
    """
    if optimizer["rates"]:
        rate = f'{rate} * group["rate_factor"]'
    set_rate = () if constant else (f'    group["lr"] = {rate}',)
    loop = "for group in state.optimizer.param_groups:"
    second = "second = math.sqrt(1.0 - BETAS[1] ** (state.updates + 1))"
    match optimizer["raw_moments"]:
        case "epsilon":
            return (
                f"# {optimizer['name']} adds epsilon behind the correction of the bias (CC362).",
                second,
                loop,
                *set_rate,
                '    group["eps"] = EPS / second',
            )
        case "both":
            decay = (
                '    decay = group.setdefault("decay", group["weight_decay"])',
                '    group["weight_decay"] = decay * second / first',
            )
            return (
                f"# {optimizer['name']} corrects the bias of its moments; it cancels here (CC362).",
                "first = 1.0 - BETAS[0] ** (state.updates + 1)",
                second,
                loop,
                f'    group["lr"] = {rate} * first / second',
                '    group["eps"] = EPS / second',
                *(decay if optimizer["decoupled"] else ()),
            )
    return (loop, *set_rate) if set_rate else ()


def _values(op: ops.Op, plan: ops.Plan, view: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the template of one operation prints."""
    scaled, full = view["scaled"], view["full"]
    match op:
        case ops.Autocast():
            return {"autocast": view["autocast"]}
        case ops.Normalize():
            return {"divisor": divisor(op, view["distributed"])}
        case ops.Backward():
            return {"loss": "scaled_loss" if scaled else "loss"}
        case ops.Accumulate():
            return {"collect": TorchAdaptation.FLOAT32_SUMS in plan.adapted}
        case ops.AllReduce():
            return {"full": full}
        case ops.Clip():
            return _clip(op, plan.adapted, view)
        case ops.Step():
            return {"scaled": scaled, "full": full}
        case ops.Schedule() | ops.Ema():
            return {"scaled": scaled}
        case ops.UpdateScale():
            return {
                "form": _update_form(plan.adapted),
                "has_min": op.min_scale > 0,
                "has_max": op.max_scale is not None,
                "grows_to_inf": view["grows_to_inf"],
            }
        case ops.Zero():
            return {"to_none": view["zero_to_none"], "parameters": view["parameters"]}
        case _:
            return {}


def _update_form(adapted: frozenset[str]) -> str:
    """Return what follows GradScaler's own update of the scale."""
    if TorchAdaptation.LOSS_SCALE in adapted:
        return "machine"
    if TorchAdaptation.CONSTANT_SCALE in adapted:
        return "static"
    stock = adapted.isdisjoint({TorchAdaptation.SCALE_BOUNDS, TorchAdaptation.FINITE_GROWTH})
    return "" if stock else "bounds"


def _clip(op: ops.Clip, adapted: frozenset[str], view: Mapping[str, Any]) -> dict[str, Any]:
    each = op.mode == "per_param_norm" and TorchAdaptation.EACH_NORM in adapted
    return {
        "mode": op.mode if each or op.mode != "per_param_norm" else "global_norm",
        "stock": TorchAdaptation.OWN_CLIP not in adapted,
        "exempt": bool(op.exempt),
        "parameters": "clipped" if op.exempt else view["parameters"],
        "denominator": "(grad_norm + CLIP_EPS)" if op.eps else "grad_norm",
        "own_denominator": "(norm + CLIP_EPS)" if op.eps else "norm",
    }
