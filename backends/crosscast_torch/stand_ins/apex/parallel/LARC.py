"""apex.parallel.LARC: an optimizer whose gradients are changed by the ratio of the norms."""

from __future__ import annotations

from typing import Any

import torch


class LARC:
    """Wraps an optimizer; its passes and the result of a look for overflow are the optimizer's."""

    def __init__(
        self,
        optimizer: Any,
        trust_coefficient: float = 0.02,
        clip: bool = True,
        eps: float = 1e-8,
    ) -> None:
        self.optim, self._settings = optimizer, (trust_coefficient, clip, eps)

    def __getattr__(self, name: str) -> Any:
        if name in ("param_groups", "state", "state_dict", "load_state_dict", "zero_grad"):
            return getattr(self.optim, name)
        if name in ("add_param_group", "amp_passes"):
            return getattr(self.optim, name)
        raise AttributeError(name)

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self.optim if name == "amp_passes" else self, name, value)

    def step(self) -> None:
        """Change the gradients, and make a step without the decay, which they hold."""
        held = []
        for group in self.optim.param_groups:
            decay = group.get("weight_decay", 0)
            held.append((group, decay))
            group["weight_decay"] = 0
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._change(parameter, decay, group["lr"])
        self.optim.step()
        for group, decay in held:
            group["weight_decay"] = decay

    @torch.no_grad()
    def _change(self, parameter: Any, decay: float, rate: float) -> None:
        trust, clip, eps = self._settings
        size, slope = torch.norm(parameter), torch.norm(parameter.grad)
        if size != 0 and slope != 0:
            local = trust * size / (slope + size * decay + eps)
            parameter.grad += decay * parameter
            parameter.grad *= min(local / rate, 1) if clip else local
