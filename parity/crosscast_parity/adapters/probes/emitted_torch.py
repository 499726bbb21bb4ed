"""The emitted PyTorch script on the neutral cases."""

from __future__ import annotations

from typing import Any

import torch

from crosscast_parity.adapters.cases import Case, Seen
from crosscast_parity.adapters.probes import emitted
from crosscast_parity.adapters.probes import toy_torch as toy
from crosscast_parity.inside.emitted import prepared

PACKAGES = ("crosscast", "torch")


def run(case: Case) -> Seen:
    """Train the toy."""
    module = emitted.load_script(case, "torch", toy.Toy)
    state = prepared(module, torch.device("cpu"))

    def loss(model: Any, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        return model(batch["rows"]).sum()

    def look() -> tuple[float, list[float]]:
        seen = Seen.nothing()
        toy.note(seen, state.model, state.optimizer, None)
        return seen.weights[0], seen.slots[0]

    return emitted.train(case, module, state, loss, look)


def half() -> dict[str, Any]:
    """Train in float16 on a CPU."""

    def train(model: torch.nn.Module) -> bool:
        case = Case(name="half", rows=(1.0,), scale=1.0)
        module = emitted.load_script(case, "torch", lambda: model)
        state = prepared(module, torch.device("cpu"))
        rows = {"rows": torch.ones(1), "labels": torch.zeros(1)}
        module.train_window(state, [rows], lambda m, batch: m(batch["rows"]).sum())
        return state.scaler is not None

    return toy.half_facts(train)
