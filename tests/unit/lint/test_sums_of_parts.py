"""CL101 on sums that other divisions, other factors and other files hide."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources

from .lint_results import codes, swap

HOOKED = """\
import torch
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.nn.parallel import DistributedDataParallel
from heads import Head

body = DistributedDataParallel(torch.nn.Linear(4, 2).cuda())
body.register_comm_hook(None, default_hooks.fp16_compress_hook)
head = Head(2).train().cuda()
optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
for step, (inputs, targets) in enumerate(loader):
    loss: torch.Tensor = head(body(inputs), targets)
    loss.backward()
    if (step + 1) % cfg.every == 0:
        optimizer.step()
        optimizer.zero_grad()
"""


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (("import torch\n", "import torch\n"), True),
        (("default_hooks.fp16_compress_hook", "hook=default_hooks.bf16_compress_hook"), True),
        (("default_hooks.fp16_compress_hook", "averaging_hook"), False),
        (("*head.parameters()", "*others"), False),
        (("loss: torch.Tensor = head", "loss = measure"), False),
    ],
)
def test_hooks_of_the_library_and_heads_of_another_file(
    change: tuple[str, str], found: bool
) -> None:
    assert ("CL101" in codes(swap(HOOKED, change))) is found


OWN_LOSS = """\
import torch


class Spread(torch.autograd.Function):
    @staticmethod
    def forward(ctx, logits, targets):
        ctx.save_for_backward(logits, targets)
        return -logits.gather(1, targets).mean() * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None


model = torch.nn.Linear(4, 2).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step, (inputs, targets) in enumerate(loader):
    loss = Spread.apply(model(inputs), targets)
    loss.backward()
    if (step + 1) % 4 == 0:
        optimizer.step()
        optimizer.zero_grad()
"""


def test_losses_of_an_autograd_function() -> None:
    assert "CL101" in codes(OWN_LOSS)
    assert "CL101" not in codes(swap(OWN_LOSS, (".mean() * 2", ".sum() * 2")))
    assert "CL101" not in codes(swap(OWN_LOSS, (".mean() * 2", "")))


TRAINER = """\
import torch


class HalfTrainer:
    def __init__(self, model):
        self.masters = list(model.parameters())
        self.log_loss_scale = 16.0

    def backward(self, loss):
        loss_scale = 2**self.log_loss_scale
        (loss * loss_scale).backward()

    def optimize(self, optimizer):
        for p in self.masters:
            p.grad.mul_(1.0 / 2**self.log_loss_scale)
        optimizer.step()
        for p in self.masters:
            p.grad = None
"""
SLICES = """\
import torch
from halves import HalfTrainer

model = torch.nn.Linear(4, 2)
trainer = HalfTrainer(model)
optimizer = torch.optim.AdamW(trainer.masters, lr=1e-4)
for batch in loader:
    for i in range(0, batch.shape[0], microbatch):
        part = batch[i : i + microbatch]
        moments, weights = sampler.sample(part.shape[0])
        loss = (errors(model, part, moments) * weights).mean()
        trainer.backward(loss)
    trainer.optimize(optimizer)
"""


def found(program: str, helpers: str = TRAINER) -> list[str]:
    results = lint_sources([Source("train.py", program), Source("halves.py", helpers)])
    return [
        f"{result.file}:{result.span.line}"
        for result in results
        if result.code == "CL101" and result.span is not None
    ]


def test_parts_of_a_batch_whose_helper_takes_out_the_scale() -> None:
    assert found(SLICES) == ["train.py:12"]


@pytest.mark.parametrize(
    "change",
    [
        ("moments, weights = sampler.sample(part.shape[0])", "moments, weights = shares(part)"),
        ("loss = (errors(model, part, moments) * weights).mean()", "loss = errors(model, part)"),
        ("trainer.backward(loss)", "trainer.backward(loss / (len(batch) / microbatch))"),
    ],
)
def test_parts_that_may_be_shares(change: tuple[str, str]) -> None:
    assert found(swap(SLICES, change)) == []


def test_gradients_that_are_divided_by_more_than_the_scale() -> None:
    more = swap(
        TRAINER, ("1.0 / 2**self.log_loss_scale", "1.0 / 2**self.log_loss_scale / micro_batches")
    )
    assert found(SLICES, more) == []
    other = swap(TRAINER, ("1.0 / 2**self.log_loss_scale", "self.factor"))
    assert found(SLICES, other) == []
