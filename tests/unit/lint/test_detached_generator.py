"""Updates of a generator from a loss that its outputs are detached from (CL520)."""

from __future__ import annotations

import pytest

from .lint_results import codes, swap

GAN = """
import torch

def train(loader, args):
    net, critic = Net(), Critic()
    opt_g = torch.optim.Adam(net.parameters(), lr=args.rate)
    opt_d = torch.optim.Adam(critic.parameters(), lr=args.rate)
    for step, (x, real) in enumerate(loader):
        fake = net(x)
        loss_d = critic(fake.detach()).mean() - critic(real).mean()
        opt_d.zero_grad()
        loss_d.backward()
        opt_d.step()
        opt_g.zero_grad()
        score = critic(fake.detach())
        loss_g = -score.mean()
        loss_g.backward()
        opt_g.step()
"""


def test_a_detached_generator() -> None:
    assert codes(GAN) == {"CL520"}
    some = swap(
        GAN,
        ("        opt_g.z", "        if step % 5: continue\n        opt_g.z"),
    )
    assert "CL520" in codes(some)
    cleared = swap(GAN, ("opt_g.zero_grad()", "net.zero_grad()"))
    assert "CL520" in codes(cleared)


@pytest.mark.parametrize(
    "changes",
    [
        [("score = critic(fake.detach())", "score = critic(fake)")],
        [("-score.mean()", "-score.mean() + (fake - real).abs().mean()")],
        [("-score.mean()", "-score.mean() + weight(fake.detach()) * near")],
        [("-score.mean()", "-score.mean() + penalty(net)")],
        [("loss_g.backward()", "loss_g.backward(); (fake - real).abs().mean().backward()")],
        [("        score =", "        fake = net(x)\n        score =")],
        [("        opt_g.zero_grad()\n", "")],
        [("torch.optim.Adam(net.parameters()", "torch.optim.Adam(weights")],
        [("score = critic(fake.detach())", "score = critic(x)")],
        [
            ("        score =", "        fakes.append(fake)\n        score ="),
            ("-score", "-sum(fakes)"),
        ],
        [("        score =", "        if step: score = fake\n        else: score =")],
    ],
)
def test_a_generator_that_is_trained(changes: list[tuple[str, str]]) -> None:
    near = swap(GAN, ("        loss_d =", "        near = (fake - real).mean()\n        loss_d ="))
    assert "CL520" not in codes(swap(near, *changes))


OBJECT = (
    GAN.replace(
        "def train(loader, args):\n    net, critic =",
        "class Trainer:\n  def __init__(self):\n    net, critic =",
    )
    .replace("    for step", "  def train(self, loader):\n    for step")
    .replace("args.rate", "0.1")
)
for _name in ("net", "critic", "opt_g", "opt_d"):
    OBJECT = OBJECT.replace(f"{_name}(", f"self.{_name}(").replace(f"{_name}.", f"self.{_name}.")
OBJECT = OBJECT.replace("net, critic =", "self.net, self.critic =").replace(
    "opt_g =", "self.opt_g ="
)
OBJECT = OBJECT.replace("opt_d =", "self.opt_d =")


def test_models_of_an_object() -> None:
    assert "CL520" in codes(OBJECT)
    method = "\n  def near(self, x):\n    return self.net(x).mean()\n"
    assert "CL520" not in codes(OBJECT.replace("-score.mean()", "self.near(x) - score") + method)
