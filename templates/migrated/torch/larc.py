"""LARC of apex, which torch has not."""

import torch


class LARC:
    """Changes gradients by the ratio of the norms of weights and gradients, as LARC of apex."""

    def __init__(self, optimizer, trust_coefficient=0.02, clip=True, eps=1e-8):
        self.optim = optimizer
        self.trust_coefficient = trust_coefficient
        self.clip = clip
        self.eps = eps

    @property
    def param_groups(self):
        return self.optim.param_groups

    @property
    def state(self):
        return self.optim.state

    def state_dict(self):
        return self.optim.state_dict()

    def load_state_dict(self, state_dict):
        self.optim.load_state_dict(state_dict)

    def zero_grad(self):
        self.optim.zero_grad()

    def add_param_group(self, param_group):
        self.optim.add_param_group(param_group)

    def step(self):
        decays = [group.get("weight_decay", 0) for group in self.param_groups]
        for group, decay in zip(self.param_groups, decays):
            group["weight_decay"] = 0  # it is added here
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._adapt(parameter, decay, group["lr"])
        self.optim.step()
        for group, decay in zip(self.param_groups, decays):
            group["weight_decay"] = decay

    @torch.no_grad()
    def _adapt(self, parameter, decay, rate):
        weight, gradient = torch.norm(parameter), torch.norm(parameter.grad)
        if weight == 0 or gradient == 0:
            return
        ratio = self.trust_coefficient * weight / (gradient + weight * decay + self.eps)
        if self.clip:
            ratio = min(ratio / rate, 1)
        parameter.grad.add_(decay * parameter)
        parameter.grad.mul_(ratio)
