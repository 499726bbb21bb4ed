"""Training loops of PyTorch with parts to exchange, lifted."""

from __future__ import annotations

from crosscast.messages.source import Source
from crosscast_reading.lift.analysis import analyse
from crosscast_reading.lift.drafting import Lifted, lift

TORCH = """\
import torch
from torch.utils.data import DataLoader, TensorDataset
{imports}
model = torch.nn.Linear(128, 4)
optimizer = {optimizer}
loader = DataLoader(TensorDataset(*rows), batch_size=8{loader})
{before}
for epoch in range(3):
    for inputs, labels in loader:
        loss = {loss}
        loss.backward()
        {inside}
        optimizer.step()
        optimizer.zero_grad()
        {after}
"""
PARTS = {
    "imports": "",
    "optimizer": "torch.optim.SGD(model.parameters(), lr=0.1)",
    "loader": "",
    "before": "",
    "loss": "torch.nn.functional.cross_entropy(model(inputs), labels)",
    "inside": "",
    "after": "",
}


def program(**parts: str) -> str:
    return TORCH.format(**PARTS | parts)


def lifted(text: str = "", *others: Source, **parts: str) -> Lifted:
    return lift(analyse([Source("train.py", text or program(**parts)), *others]))
