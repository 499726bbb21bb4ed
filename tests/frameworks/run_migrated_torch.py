"""Runs migrated loops on the CPU: `run_migrated_torch.py FILE`, a JSON list of programs.

Every program is run twice on the same batches: as it stands, with autocast to float16, and with
autocast and scaler switched off. The last line of output is a JSON list with, for each program,
the losses (`loss`), the last `scales` of its scalers, its weights and their types, of both runs.

A batch with a huge input comes third: it overflows float16, so the step of its window must be
skipped. The plain run is not given that window.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

Batch = tuple[torch.Tensor, torch.Tensor]
STEPS, POISONED = 48, 2
MADE: list[Any] = []
"""The contexts and scalers of a run."""
AUTOCAST, SCALER = torch.amp.autocast, torch.amp.GradScaler


def batches(half: bool, window: int) -> list[Batch]:
    """Return the batches of a run."""
    generator = torch.Generator().manual_seed(0)
    found = []
    for number in range(STEPS):
        inputs = torch.randn(64, 4, generator=generator)
        targets = (inputs[:, 0] + inputs[:, 1] > 0).long()
        if number == POISONED:
            inputs = inputs * 1e30
        if half or number // window != POISONED // window:
            found.append((inputs, targets))
    return found


def stays(self: Any, *_: object, **__: object) -> Any:
    """Stand in for `cuda()`."""
    return self


def namespace(half: bool, window: int) -> dict[str, Any]:
    """Names that a program finds: torch on the CPU, and stand-ins for its data and flags."""

    def plain(make: Callable[..., Any]) -> Callable[..., Any]:
        def made(device: str, **options: Any) -> Any:
            enabled = bool(options.pop("enabled", True)) and half
            MADE.append(make("cpu", enabled=enabled, **options))
            return MADE[-1]

        return made

    torch.nn.Module.cuda = stays
    torch.Tensor.cuda = stays
    torch.amp.autocast = plain(AUTOCAST)
    torch.amp.GradScaler = plain(SCALER)
    MADE.clear()
    torch.manual_seed(1)
    return {"loader": batches(half, window)}


def run(program: dict[str, Any], half: bool) -> dict[str, Any]:
    """Run one program and return its losses, scale and weights."""
    losses: list[float] = []
    functional = torch.nn.functional
    original = functional.cross_entropy

    def observed(*arguments: Any, **options: Any) -> torch.Tensor:
        loss = original(*arguments, **options)
        losses.append(float(loss.detach()))
        return loss

    names = namespace(half, program.get("window", 1))
    functional.cross_entropy = observed
    sys.argv = ["train.py", *program.get("flags", ())]
    try:
        exec(compile(program["text"], "train.py", "exec"), names)  # our own examples
        exec(program.get("then", ""), names)
    finally:
        functional.cross_entropy = original
    model = names["model"]
    scales = [made.get_scale() for made in MADE if isinstance(made, SCALER)]
    return {
        "loss": losses,
        "scales": scales,
        "weights": [value for p in model.parameters() for value in p.detach().flatten().tolist()],
        "types": sorted({str(p.dtype) for p in model.parameters()}),
    }


def main() -> None:
    programs = json.loads(Path(sys.argv[1]).read_text())
    print(json.dumps([[run(program, half) for half in (True, False)] for program in programs]))


if __name__ == "__main__":
    main()
