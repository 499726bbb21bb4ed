"""Runs the stand-in for apex; prints what its optimizers and its amp do to two small tensors."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import crosscast_torch.stand_ins

sys.path.insert(0, str(Path(crosscast_torch.stand_ins.__file__).parent))

from apex import amp, optimizers  # type: ignore[import-not-found]
from apex.parallel import DistributedDataParallel  # type: ignore[import-not-found]
from apex.parallel.LARC import LARC  # type: ignore[import-not-found]

GIVEN = json.loads(sys.argv[1])
"""Two tensors, and pairs of gradients."""


def updated(name: str, **settings: Any) -> list[list[float]]:
    """Return both tensors after a step for every pair of gradients."""
    held = [torch.tensor(values, requires_grad=True) for values in GIVEN["start"]]
    groups = [{"params": held[:1]}, {"params": held[1:], "weight_decay": 0.0}]
    optimizer = getattr(optimizers, name)(groups, **settings)
    for pair in GIVEN["gradients"]:
        for tensor, gradient in zip(held, pair, strict=True):
            tensor.grad = torch.tensor(gradient)
        optimizer.step()
    return [tensor.tolist() for tensor in held]


def larc(**settings: Any) -> list[list[float]]:
    """Return both tensors after a step of LARC around SGD for every pair of gradients."""
    held = [torch.tensor(values, requires_grad=True) for values in GIVEN["start"]]
    optimizer = LARC(torch.optim.SGD(held, lr=0.5, weight_decay=0.1), **settings)
    for pair in GIVEN["gradients"]:
        for tensor, gradient in zip(held, pair, strict=True):
            tensor.grad = torch.tensor(gradient)
        optimizer.step()
    return [tensor.tolist() for tensor in held]


def weighted() -> Any:
    """Return a model of one weight."""
    model = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.constant_(model.weight, 2.0)
    return model


def prepared(**settings: Any) -> Any:
    model = DistributedDataParallel(weighted())
    return amp.initialize(model, torch.optim.SGD(model.parameters(), lr=0.25), **settings)


def scaled(**settings: Any) -> dict[str, Any]:
    """Scales and gradients of two micro-batches, and of an update whose gradient overflows."""
    model, optimizer = prepared(**settings)
    (weight,) = amp.master_params(optimizer)
    seen: dict[str, Any] = {"scale": [], "loss": [], "grad": [], "weight": []}
    for inputs in ((1.0, 3.0), (float("inf"),), (1.0,)):
        for x in inputs:
            loss = model(torch.tensor([x]))
            with amp.scale_loss(loss, optimizer) as scaled_loss:
                scaled_loss.backward()
            finite = math.isfinite(loss.item())
            seen["loss"].append(scaled_loss.item() / loss.item() if finite else None)
        seen["grad"].append(weight.grad.item() if inputs[0] < 9 else None)
        optimizer.step()
        optimizer.zero_grad()
        seen["weight"].append(weight.item())
        seen["scale"].append(amp.state_dict()["loss_scaler0"]["loss_scale"])
    return seen


def delayed() -> list[float]:
    """The gradient after a pass that delays the unscaling, and after another that does not."""
    model, optimizer = prepared(opt_level="O1", loss_scale=8.0)
    (weight,) = amp.master_params(optimizer)
    found = []
    for late in (True, False):
        with amp.scale_loss(model(torch.ones(1)), optimizer, delay_unscale=late) as loss:
            loss.backward()
        found.append(weight.grad.item())
    return found


def grown() -> list[float]:
    """The scale before and after the window in which it grows."""
    model, optimizer = prepared(opt_level="O2", max_loss_scale=2.0**17)
    found = []
    for number in range(4000):
        with amp.scale_loss(model(torch.ones(1)), optimizer) as loss:
            loss.backward()
        optimizer.zero_grad()
        if number in (1998, 1999, 3999):
            found.append(amp.state_dict()["loss_scaler0"]["loss_scale"])
    return found


def refused(made: Callable[[], Any]) -> str:
    try:
        made()
    except (RuntimeError, TypeError) as error:
        return type(error).__name__
    return ""


def form(given: Any) -> str:
    return type(given).__name__


def main() -> None:
    model = weighted()
    sgd = torch.optim.SGD(model.parameters(), lr=1.0)
    print(
        json.dumps(
            {
                "adam": updated("FusedAdam", weight_decay=0.1, lr=0.01),
                "adam of L2": updated("FusedAdam", weight_decay=0.1, lr=0.01, adam_w_mode=False),
                "adam without correction": updated("FusedAdam", lr=0.01, bias_correction=False),
                "lamb": updated("FusedLAMB", lr=0.01),
                "lamb of another bound": updated("FusedLAMB", lr=0.01, max_grad_norm=0.25),
                "lamb for all": updated("FusedLAMB", lr=0.01, use_nvlamb=True),
                "sgd": updated("FusedSGD", lr=0.1, momentum=0.9, weight_decay=0.1, nesterov=True),
                "larc": larc(),
                "larc without clipping": larc(trust_coefficient=0.1, clip=False),
                "O1": scaled(),
                "O2": scaled(opt_level="O2", loss_scale="dynamic"),
                "O2, static": scaled(opt_level="O2", loss_scale=128.0),
                "O0": scaled(opt_level="O0"),
                "off": scaled(enabled=False, opt_level="O1"),
                "delayed": delayed(),
                "grown": grown(),
                "forms": [
                    form(amp.initialize(model, opt_level="O0")),
                    form(amp.initialize([model], opt_level="O0")),
                    form(amp.initialize(model, [sgd], opt_level="O0")[1]),
                ],
                "refused": [
                    refused(lambda: optimizers.FusedAdam(model.parameters(), amsgrad=True)),
                    refused(lambda: optimizers.FusedAdam(model.parameters(), max_grad_norm=1.0)),
                    refused(lambda: amp.initialize(model, opt_level="O4")),
                ],
            }
        )
    )


if __name__ == "__main__":
    main()
