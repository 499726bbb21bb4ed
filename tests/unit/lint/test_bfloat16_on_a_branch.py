"""Names that stand for many others cost CL207 no more than one look each."""

from __future__ import annotations

import pytest

from reading_helpers.lint_results import codes, swap

SWITCHED = """import torch

scaler = torch.cuda.amp.GradScaler(enabled=options.train.bf16)
for x, y in loader:
    with torch.cuda.amp.autocast(enabled=options.train.bf16, dtype=torch.bfloat16):
        loss = torch.nn.functional.cross_entropy(model(x), y)
        if second:
            extra = second(x).mean()
    optimizer.zero_grad()
    finite = loss.requires_grad
    if second:
        scaler.scale(extra).backward()
    if finite and not torch.isnan(loss).any():
        scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
"""


@pytest.mark.timeout(60)
def test_names_that_stand_for_many_others_are_followed_once() -> None:
    names = [f"v{place}" for place in range(40)]
    made = (f"{name} = make({', '.join(names[:place])})\n" for place, name in enumerate(names))
    switch = ("enabled=options.train.bf16, dtype", "enabled=options.train.bf16 and v39, dtype")
    text = swap(SWITCHED, ("import torch\n", f"import torch\n\n{''.join(made)}"), switch)
    assert "CL207" not in codes(text)  # what was made may switch autocast off
