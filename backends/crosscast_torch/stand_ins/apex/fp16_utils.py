"""apex.fp16_utils: FP16_Optimizer and the helpers of half weights, with weights in float32.

While this module is loaded, `half()` leaves models and tensors in float32: the optimizer then has
the weights themselves instead of copies, and every number is that of the copies without rounding.
"""

from __future__ import annotations

from typing import Any

import torch
from apex import amp  # type: ignore[import-not-found]

__all__ = [
    "FP16_Optimizer",
    "convert_network",
    "master_params_to_model_params",
    "model_grads_to_master_grads",
    "network_to_half",
    "prep_param_lists",
    "to_python_float",
]
torch.nn.Module.half = lambda self: self
torch.Tensor.half = lambda self, *ignored, **more: self.float()


class FP16_Optimizer:
    """An optimizer that scales losses, and steps with gradients whose scale is taken out."""

    window = amp.WINDOW

    def __init__(
        self,
        init_optimizer: Any,
        static_loss_scale: float = 1.0,
        dynamic_loss_scale: bool = False,
        dynamic_loss_args: dict[str, Any] | None = None,
        verbose: bool = True,
    ) -> None:
        scale = "dynamic" if dynamic_loss_scale else static_loss_scale
        scaler = amp.Scaler(scale, 1.0, float("inf"), "full")
        if scaler.dynamic:
            given = dynamic_loss_args or {}
            scaler.scale = given.get("init_scale", scaler.scale)
            scaler.growth = given.get("scale_factor", scaler.growth)
            scaler.window = given.get("scale_window", self.window)
        self.optimizer, self.loss_scaler = init_optimizer, scaler
        for parameter in amp.master_params(init_optimizer):
            parameter.data = parameter.data.float()
        amp.prepare(init_optimizer, scaler)
        self.overflow = False
        self._scaled = False

    @property
    def param_groups(self) -> Any:
        """Return those of the optimizer."""
        return self.optimizer.param_groups

    @property
    def state(self) -> Any:
        """Return that of the optimizer."""
        return self.optimizer.state

    @property
    def loss_scale(self) -> float:
        """Return the scale of now."""
        return float(self.loss_scaler.scale)

    def backward(
        self, loss: Any, update_master_grads: bool = True, retain_graph: bool = False
    ) -> None:
        """Run the backward pass of the scaled loss."""
        if not self._scaled:
            amp._multiply(self.optimizer, self.loss_scaler.scale)
        (loss.float() * self.loss_scaler.scale).backward(retain_graph=retain_graph)
        self._scaled = True
        if update_master_grads:
            self.update_master_grads()

    def update_master_grads(self) -> None:
        """Take the scale out of the gradients."""
        scale = self.loss_scaler.scale
        self.overflow = not amp._multiply(self.optimizer, 1.0 / scale) and self.loss_scaler.dynamic
        self._scaled = False
        self.optimizer.amp_passes.add(self.loss_scaler, scale, self.overflow)
        self.loss_scaler.update(self.overflow)

    def clip_master_grads(self, max_norm: float, norm_type: float = 2) -> Any:
        """Clip the gradients by their norm, and return it; -1 after an overflow."""
        if self.overflow:
            return -1
        weights = list(amp.master_params(self.optimizer))
        return torch.nn.utils.clip_grad_norm_(weights, max_norm, norm_type)

    def step(self, closure: Any = None) -> Any:
        """Make a step; none after an overflow."""
        return self.optimizer.step() if closure is None else self.optimizer.step(closure)

    def zero_grad(self, set_grads_to_None: bool = False) -> None:
        """Clear the gradients."""
        self.optimizer.zero_grad()

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the optimizer and the scale."""
        return {
            "loss_scale": self.loss_scaler.scale,
            "optimizer_state_dict": self.optimizer.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over what `state_dict` returned."""
        self.loss_scaler.scale = state["loss_scale"]
        self.optimizer.load_state_dict(state["optimizer_state_dict"])


def network_to_half(network: Any) -> Any:
    """Return a network in the form that apex gives it."""
    return torch.nn.Sequential(torch.nn.Identity(), network)


def convert_network(network: Any, dtype: Any) -> Any:
    """Return a network unchanged."""
    return network


def to_python_float(value: Any) -> Any:
    """Return a tensor of one element as a number."""
    return value.item() if hasattr(value, "item") else value[0]


def prep_param_lists(model: Any, flat_master: bool = False) -> Any:
    """Return the weights that are trained, and copies of them."""
    if flat_master:
        raise NotImplementedError("the stand-in for apex makes no flat copies: flat_master=False")
    weights = [parameter for parameter in model.parameters() if parameter.requires_grad]
    return weights, [weight.detach().clone().requires_grad_() for weight in weights]


def model_grads_to_master_grads(model_params: Any, master_params: Any) -> None:
    """Copy gradients of weights to their copies."""
    for weight, master in zip(model_params, master_params, strict=True):
        master.grad = None if weight.grad is None else weight.grad.detach().clone()


def master_params_to_model_params(model_params: Any, master_params: Any) -> None:
    """Copy weights back."""
    with torch.no_grad():
        for weight, master in zip(model_params, master_params, strict=True):
            weight.copy_(master)
