"""Optimizers whose arguments have foreign names or come too late (CL513, CL514)."""

from __future__ import annotations

import pytest

from .lint_results import codes


@pytest.mark.parametrize(
    ("call", "found"),
    [
        ("torch.optim.Adam(model.parameters(), learning_rate=0.1)", True),
        ("torch.optim.AdamW(model.parameters(), lr=0.1, beta1=0.9)", True),
        ("torch.optim.Adam(model.parameters(), momentum=0.9)", True),
        ("torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)", False),
        ("torch.optim.lr_scheduler.StepLR(optimizer, learning_rate=0.1)", False),
        ("paddle.optimizer.SGD(learning_rate=0.1, momentum=0.9)", True),
        ("paddle.optimizer.Momentum(learning_rate=0.1, momentum=0.9)", False),
        ("paddle.optimizer.AdamW(0.1, betas=(0.9, 0.99))", True),
        ("paddle.optimizer.lr.StepDecay(lr=0.1)", False),
        ("keras.optimizers.Adam(1e-3, betas=(0.9, 0.99))", True),
        ("keras.optimizers.Adam(lr=1e-3, beta_1=0.9)", False),
        ("ours.Adam(learning_rate=0.1, betas=(0.9, 0.99))", False),
        ("kinds[name](model.parameters(), learning_rate=0.1)", False),
    ],
)
def test_foreign_names(call: str, found: bool) -> None:
    text = f"import torch\nimport paddle\nimport keras\noptimizer = {call}\n"
    assert ("CL513" in codes(text)) is found


def test_one_of_several_optimizers() -> None:
    text = "import torch\nimport ours\nmade = torch.optim.Adam if plain else ours.Adam\n"
    assert "CL513" not in codes(f"{text}made(p, learning_rate=0.1)\n")


LATE = """
import torch

def main(model, loader, rate, scale, factor=2):
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    {late}
    for x, y in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        {inside}
"""


@pytest.mark.parametrize(
    ("late", "inside", "found"),
    [
        ("rate = rate * factor", "pass", True),
        ("if scale: rate *= factor", "print(rate)", True),
        ("rate = rate * factor", "log.info(f'{rate:.4f}')", True),
        ("rate = rate * factor", "set_rate(optimizer, rate)", False),
        ("rate = rate * factor; optimizer.param_groups[0]['lr'] = rate", "pass", False),
        ("rate = optimizer.param_groups[0]['lr']", "print(rate)", False),
        ("rate = factor", "pass", False),
        ("rate = rate * factor", "scale = math.log(rate)", False),
        ("rate = rate * factor", "wandb.log({'rate': rate})", False),
        ("pass", "rate = rate * factor", False),
        ("other = rate * factor", "pass", False),
        ("rate = rate * factor; f = lambda: rate", "pass", False),
        ("rate = rate * factor; report(locals())", "pass", False),
        ("rate = rate * factor; optimizer = torch.optim.Adam(weights, lr=rate)", "pass", False),
    ],
)
def test_late_rates(late: str, inside: str, found: bool) -> None:
    text = LATE.format(late=late.replace("; ", "\n    "), inside=inside)
    assert ("CL514" in codes(text)) is found
