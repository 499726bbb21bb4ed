"""apex.optimizers: the fused optimizers, without the fusing."""

from __future__ import annotations

import math
from typing import Any

import torch


class _Fused(torch.optim.Optimizer):
    """Moments of the gradients, as FusedAdam and FusedLAMB keep them."""

    @torch.no_grad()
    def step(self, closure: Any = None, **ignored: Any) -> Any:
        """Make a step."""
        loss = None if closure is None else closure()
        held = [p for group in self.param_groups for p in group["params"] if p.grad is not None]
        if not held:
            return loss
        factor = self._factor([parameter.grad for parameter in held])
        for group in self.param_groups:
            group["step"] = group.get("step", 0) + 1
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._update(group, parameter, parameter.grad.float() * factor)
        return loss

    def _factor(self, gradients: Any) -> float:
        return 1.0

    def _direction(self, group: Any, parameter: Any, gradient: Any) -> Any:
        """Return the step of Adam; `adam_w_mode` chooses decoupled weight decay."""
        beta1, beta2 = group["betas"]
        if group["weight_decay"] and not group["adam_w_mode"]:
            gradient = gradient + group["weight_decay"] * parameter
        state = self.state[parameter]
        if not state:
            state["exp_avg"] = torch.zeros_like(gradient)
            state["exp_avg_sq"] = torch.zeros_like(gradient)
        first, second = state["exp_avg"], state["exp_avg_sq"]
        first.mul_(beta1).add_(gradient, alpha=1.0 - beta1)
        second.mul_(beta2).addcmul_(gradient, gradient, value=1.0 - beta2)
        corrections = (1.0, 1.0)
        if group["bias_correction"]:
            corrections = (1.0 - beta1 ** group["step"], 1.0 - beta2 ** group["step"])
        root = (second / corrections[1]).sqrt().add_(group["eps"])
        direction = first / corrections[0] / root
        if group["weight_decay"] and group["adam_w_mode"]:
            direction = direction + group["weight_decay"] * parameter
        return direction

    def _update(self, group: Any, parameter: Any, gradient: Any) -> None:
        parameter.add_(self._direction(group, parameter, gradient), alpha=-group["lr"])


class FusedAdam(_Fused):
    """AdamW, or Adam without `adam_w_mode`."""

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        bias_correction: bool = True,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        adam_w_mode: bool = True,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        set_grad_none: bool = True,
        capturable: bool = False,
        master_weights: bool = False,
    ) -> None:
        if amsgrad:
            raise RuntimeError("FusedAdam does not support the AMSGrad variant.")
        super().__init__(
            params,
            {
                "lr": lr,
                "bias_correction": bool(bias_correction),
                "betas": betas,
                "eps": eps,
                "adam_w_mode": bool(adam_w_mode),
                "weight_decay": weight_decay,
            },
        )


class FusedLAMB(_Fused):
    """LAMB with a bound on the norm of all gradients."""

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        bias_correction: bool = True,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-6,
        weight_decay: float = 0.01,
        amsgrad: bool = False,
        adam_w_mode: bool = True,
        grad_averaging: bool = True,
        set_grad_none: bool = True,
        max_grad_norm: float = 1.0,
        use_nvlamb: bool = False,
    ) -> None:
        if amsgrad or not grad_averaging:
            raise RuntimeError("the stand-in for FusedLAMB has no AMSGrad, and averages gradients")
        self._always = use_nvlamb
        super().__init__(
            params,
            {
                "lr": lr,
                "bias_correction": bool(bias_correction),
                "betas": betas,
                "eps": eps,
                "adam_w_mode": bool(adam_w_mode),
                "weight_decay": weight_decay,
                "max_grad_norm": max_grad_norm,
            },
        )

    def _factor(self, gradients: Any) -> float:
        norm = math.sqrt(sum(float(gradient.double().pow(2).sum()) for gradient in gradients))
        most = self.defaults["max_grad_norm"]  # of all groups together
        return most / norm if norm > most else 1.0

    def _update(self, group: Any, parameter: Any, gradient: Any) -> None:
        direction = self._direction(group, parameter, gradient)
        rate = group["lr"]
        if self._always or group["weight_decay"]:
            weight, step = float(parameter.norm()), float(direction.norm())
            rate *= weight / step if weight and step else 1.0
        parameter.add_(direction, alpha=-rate)


class FusedSGD(torch.optim.SGD):
    """SGD of PyTorch."""

    def __init__(
        self,
        params: Any,
        lr: float,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        wd_after_momentum: bool = False,
        materialize_master_grads: bool = True,
        set_grad_none: bool = False,
    ) -> None:
        if wd_after_momentum:
            raise RuntimeError("the stand-in for FusedSGD has no wd_after_momentum")
        super().__init__(params, lr, momentum, dampening, weight_decay, nesterov)


def __getattr__(name: str) -> Any:
    """Return FP16_Optimizer as apex.optimizers had it, only where a program asks for it."""
    if name != "FP16_Optimizer":
        raise AttributeError(name)
    from apex import fp16_utils  # type: ignore[import-not-found]

    return type(name, (fp16_utils.FP16_Optimizer,), {"window": 1000})
