"""A training script of a user: `user_loop_torch.py SCRIPTS OUTPUT STEPS whole|half|within`.

Model and rows come from the emitted scripts below SCRIPTS, so that both train the same; the loop
and everything in the file it saves are the usual ones. It saves after STEPS and goes on for as many
more; `within` saves once more after the next micro-batch, in the middle of a window. Prints the
losses as JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional

LEARNING_RATE, WARMUP, TOTAL = 2e-3, 10, 100


def main(folder: Path, output: Path, steps: int, mode: str) -> list[float]:
    """Train, save model, optimizer, scaler and scheduler half way; return the losses."""
    sys.path.insert(0, str(folder))
    import model as modeling
    import train  # type: ignore[import-not-found]
    from runtime.rows import row_numbers
    from runtime.sources import read_rows
    from safetensors.numpy import load_file

    from crosscast_parity.inside.emitted import batches

    half = mode == "half"
    torch.set_num_threads(1)
    model = modeling.build_model().train()
    parameters: dict[str, Any] = dict(model.named_parameters())
    with torch.no_grad():
        for name, array in load_file(output.with_name("start.safetensors")).items():
            parameters[name].copy_(torch.tensor(array))
    exempt = ("bias", "LayerNorm.weight")
    groups = [
        {
            "params": [p for n, p in parameters.items() if n.endswith(exempt) == kept],
            "weight_decay": 0.0 if kept else 0.1,
        }
        for kept in (False, True)
    ]
    optimizer = torch.optim.AdamW(groups, lr=LEARNING_RATE)
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda step: step / WARMUP if step < WARMUP else (TOTAL - step) / (TOTAL - WARMUP),
    )
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=7, enabled=half)

    def save(**more: Any) -> None:
        saved = {
            "epoch": 3,
            "model": {
                f"module.{name}": parameter.detach() for name, parameter in parameters.items()
            },
            "optimizer": optimizer.state_dict(),
            "scheduler": scheduler.state_dict() | {"lr_lambdas": None},
        }
        scaled = {"scaler": scaler.state_dict()} if half else {}
        torch.save(saved | scaled | more, output)

    losses = []
    rows = read_rows(output.with_name("train.npz"), train.SETTINGS)
    windows = batches(row_numbers, rows, train.SETTINGS)
    for number, window in zip(range(2 * steps), windows, strict=False):
        rows, total = sum(len(entry["labels"]) for entry in window), 0.0
        for micro_step, batch in enumerate(window, start=1):
            inputs = {n: torch.tensor(a) for n, a in batch.items() if n != "labels"}
            with torch.autocast("cpu", torch.float16, enabled=half):
                logits = model(**inputs)
            labels = torch.tensor(batch["labels"]).long()
            loss = functional.cross_entropy(logits.float(), labels, reduction="sum") / rows
            if half and number in (8, 19):
                loss = loss * np.inf
            total += loss.item()
            scaler.scale(loss).backward()
            if mode == "within" and (number, micro_step) == (steps, 1):
                save(micro_step=1, grads={n: p.grad for n, p in parameters.items()})
        losses.append(total)
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        before = scaler.get_scale()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        if scaler.get_scale() >= before:
            scheduler.step()
        if number + 1 == steps:
            save()
    return losses


if __name__ == "__main__":
    scripts, out, count, mode = sys.argv[1:5]
    print(json.dumps(main(Path(scripts), Path(out), int(count), mode)))
