"""LARC of apex, which torch has not, as a class that is written into the program."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from crosscast_migrate.codemod import Refusal

if TYPE_CHECKING:
    from crosscast_reading.edits.layout import Draft
    from crosscast_reading.pysource.programs.module import Module
    from crosscast_torch.migration.experimental.apex.moved_names import Name

NAME = "LARC"
NOTE = (
    "LARC is now a class of the program, with the arithmetic of apex. GradScaler unscales the "
    "gradients before it calls LARC.step, as apex did."
)
_TEXT = '''\
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
'''


def wrong(name: Name) -> Refusal | None:
    """Return why LARC cannot be written into a module."""
    module = name.module
    homes = {(statement.module, alias.asname) for statement, alias in name.imports}
    others = [
        other
        for other in module.program.modules
        if other is not module and any(NAME in row for row in other.lines)
    ]
    if homes != {("apex.parallel.LARC", None)} or others:
        return Refusal(
            span=module.span(name.uses[0]),
            message="LARC has another name here, or several modules use it; torch has none",
            hint="import it in one module only: from apex.parallel.LARC import LARC",
        )
    return None


def write(name: Name, draft: Draft, torch: str) -> None:
    """Define LARC before the first statement of a module that is no import.

    Args:
        name: the imported name.
        draft: of its module.
        torch: the name of torch there.
    """
    lines = _TEXT.replace("torch.n", f"{torch}.n").splitlines()
    draft.before(_first(name.module), "", *lines, "", "")
    for use in name.uses:
        draft.replace(use, NAME)


def _first(module: Module) -> ast.stmt:
    """Return the first statement behind the imports that begin a module."""
    body = module.tree.body
    last = 0
    for number, statement in enumerate(body):
        if isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            break
        inner = statement.body if isinstance(statement, ast.Try | ast.If) else [statement]
        if any(isinstance(each, ast.Import | ast.ImportFrom) for each in inner):
            last = number
    return body[last + 1]
