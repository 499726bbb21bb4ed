"""The body of train_window: the operations of a Plan, printed in its order."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from crosscast.emit.lowering import print_ops
from crosscast.plan import predicates
from crosscast.plan.operations import Plan
from crosscast_torch.target.optimizer import OptimizerView
from crosscast_torch.target.view import TorchView


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowCode:
    """The printed operations."""

    loop: str
    """The loop over the micro-batches of a window."""
    rest: str
    """What follows: everything up to clearing the gradients."""


def window_code(templates: Path, plan: Plan, view: TorchView) -> WindowCode:
    """Print the operations of a plan."""
    rest = print_ops(templates, "torch/ops", plan.window, view, 4)
    if view.weights.collects == "window":
        rest = f"    collect_gradients(model)\n{rest}"
    return WindowCode(loop=_micro_loop(templates, plan, view), rest=rest)


def _micro_loop(templates: Path, plan: Plan, view: TorchView) -> str:
    by = 12 if view.step.distributed else 8
    body = print_ops(templates, "torch/ops", plan.micro, view, by)
    copy = f"{' ' * by}batch = to_device(batch, device)"
    if not view.step.distributed:
        return f"    for batch in micro_batches:\n{copy}\n{body}"
    if view.weights.masters:
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


def rate_lines(optimizer: OptimizerView, rate: str, *, constant: bool) -> tuple[str, ...]:
    """Return the lines that set the learning rate, and what makes up for Adam's corrections.

    Args:
        optimizer: The optimizer.
        rate: The rate of a window in emitted code.
        constant: Whether it is what the optimizer was made with.
    """
    if optimizer.rates == "moving":
        rate = f'{rate} * group["rate_factor"]'
    set_rate = () if constant else (f'    group["lr"] = {rate}',)
    loop = "for group in state.optimizer.param_groups:"
    second = "second = math.sqrt(1.0 - BETAS[1] ** (state.updates + 1))"
    match optimizer.raw_moments:
        case "epsilon":
            return (
                f"# {optimizer.name} adds epsilon behind the correction of the bias (CC362).",
                second,
                loop,
                *set_rate,
                '    group["eps"] = EPS / second',
            )
        case "both":
            decoupled = optimizer.op.optimizer == "adamw" and predicates.decays(optimizer.op)
            decay = (
                '    decay = group.setdefault("decay", group["weight_decay"])',
                '    group["weight_decay"] = decay * second / first',
            )
            return (
                f"# {optimizer.name} corrects the bias of its moments; it cancels here (CC362).",
                "first = 1.0 - BETAS[0] ** (state.updates + 1)",
                second,
                loop,
                f'    group["lr"] = {rate} * first / second',
                '    group["eps"] = EPS / second',
                *(decay if decoupled else ()),
            )
    return (loop, *set_rate) if set_rate else ()
