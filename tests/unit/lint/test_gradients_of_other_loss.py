"""Gradients that the loss of a generator leaves in the discriminator (CL120)."""

from __future__ import annotations

import pytest

from .lint_results import codes, swap

GAN = """
import paddle

class Trainer:
    def __init__(self, cfg):
        self.net, self.critic = Net(), Critic()
        self.opt_g = paddle.optimizer.Adam(cfg.rate, parameters=self.net.parameters())
        self.opt_d = paddle.optimizer.Adam(cfg.rate, parameters=self.critic.parameters())

    def fit(self, loader):
        for x, real in loader:
            fake = self.net(x)
            loss_d = self.critic(fake.detach()).mean() - self.critic(real).mean()
            loss_d.backward()
            self.opt_d.step()
            self.opt_d.clear_grad()
            score = self.critic(fake)
            near = (fake - real).abs().mean()
            loss_g = near - score.mean()
            loss_g.backward()
            self.opt_g.step()
            self.opt_g.clear_grad()
"""
CLEAR = "            self.opt_d.clear_grad()\n"


def test_gradients_that_the_generator_leaves() -> None:
    assert "CL120" in codes(GAN)
    of_torch = GAN.replace("paddle.optimizer.Adam(cfg.rate, parameters=", "torch.optim.Adam(")
    assert "CL120" in codes(of_torch.replace("import paddle", "import torch"))


def before(statement: str, *lines: str) -> tuple[str, str]:
    """Return the change that puts lines before a statement of the loop."""
    indent = 12 * " "
    return (
        f"{indent}{statement}",
        "".join(f"{indent}{line}\n" for line in lines) + indent + statement,
    )


@pytest.mark.parametrize(
    "changes",
    [
        [(CLEAR, ""), before("loss_d.b", "self.opt_d.clear_grad()")],
        [before("self.opt_g.clear", "self.opt_d.clear_grad()")],
        [before("fake = self", "self.critic.clear_gradients()")],
        [("score.mean()", "score.detach().mean()")],
        [("near - score.mean()", "near")],
        [before("loss_g = ", "score = score.detach()")],
        [before("score =", "fake = fake.detach()")],
        [("self.critic(fake)\n", "self.critic(fake.data)\n")],
        [before("loss_g.backward", "loss_g = self.near(real)")],
        [("self.critic(fake)\n", "self.judge(fake)\n")],
        [("parameters=self.critic.parameters()", "parameters=weights")],
        [before("score =", "freeze(self.critic)")],
        [before("score =", "self.critic.w.stop_gradient = True")],
        [before("score =", "self.critic.w.trainable = cfg")],
        [
            before("score =", "with paddle.no_grad():"),
            ("            score", "                score"),
        ],
        [before("score =", "reset(self.opt_d)")],
    ],
)
def test_gradients_that_nothing_leaves(changes: list[tuple[str, str]]) -> None:
    assert "CL120" not in codes(swap(GAN, *changes))


def test_values_that_are_handed_on() -> None:
    both = swap(GAN, before("loss_g =", "score, other = score * 2, real"))
    assert "CL120" in codes(swap(both, before("loss_g.b", "loss_g += other.mean()")))
    assert "CL120" in codes(GAN.replace("fake", "self.fake"))


def test_weights_that_are_made_trainable() -> None:
    assert "CL120" in codes(swap(GAN, before("fake = self", "self.net.w.stop_gradient = False")))


SECOND = """
import torch

opt_g = torch.optim.Adam(net.parameters())
opt_d = torch.optim.Adam(critic.parameters())
for x, real in loader:
    fake = net(x)
    score = critic(fake)
    loss_g = -score.mean()
    loss_g.backward()
    opt_g.step()
    opt_g.zero_grad()
    loss_d = critic(fake.detach()).mean() - critic(real).mean()
    {clear}
    loss_d.backward()
    opt_d.step()
    opt_d.zero_grad()
"""


def test_a_generator_that_is_first() -> None:
    assert "CL120" in codes(SECOND.format(clear="pass"))
    assert "CL120" not in codes(SECOND.format(clear="opt_d.zero_grad()"))
