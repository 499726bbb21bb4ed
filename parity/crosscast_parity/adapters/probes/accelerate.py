"""Accelerate on the neutral cases: the loop that its guides show."""

from __future__ import annotations

from typing import Any

import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState, GradientState
from torch.utils.data import DataLoader

from crosscast_parity.adapters.cases import Case, NotAsked, Seen
from crosscast_parity.adapters.probes import toy_torch as toy

PACKAGES = ("accelerate", "torch")


def make_accelerator(steps: int, precision: str) -> Accelerator:
    """Reset the state, which is otherwise kept from one case to the next."""
    AcceleratorState._reset_state(reset_partial_state=True)
    GradientState._reset_state()
    return Accelerator(cpu=True, mixed_precision=precision, gradient_accumulation_steps=steps)


def run(case: Case) -> Seen:
    """Train the toy."""
    if case.counted:
        raise NotAsked("no such setting")
    accelerator = make_accelerator(case.steps, "no" if case.scale is None else "fp16")
    if case.scale is not None:
        accelerator.scaler, accelerator.native_amp = toy.make_scaler(case), True
    model = toy.Toy()
    optimizer = toy.make_optimizer(case, model)
    schedule = toy.make_schedule(case, optimizer)
    loader = DataLoader(toy.Rows(case), batch_size=case.micro)
    model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)
    seen = Seen.nothing()
    for _ in range(case.epochs):
        for batch in loader:
            with accelerator.accumulate(model):
                loss = model(**batch).mean()
                accelerator.backward(loss)
                if accelerator.sync_gradients and case.clip is not None:
                    accelerator.clip_grad_norm_(model.parameters(), case.clip)
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
            toy.note(seen, model, optimizer, accelerator.scaler)
    return seen


def half() -> dict[str, Any]:
    """Train in float16 on a CPU."""

    def train(model: torch.nn.Module) -> bool:
        accelerator = make_accelerator(1, "fp16")
        prepared = accelerator.prepare(model)
        prepared(torch.ones(2)).mean().backward()
        return accelerator.scaler is not None

    return toy.half_facts(train)
