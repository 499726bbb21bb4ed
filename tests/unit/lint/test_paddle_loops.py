"""Mistakes of Paddle training loops, and right loops that look like them."""

from __future__ import annotations

import pytest

from .lint_results import codes, swap

Changes = tuple[tuple[str, str], ...]

# ---- CL101: a loss by a function that is not seen, with a criterion that is

CRITERION = """\
import paddle
from parts import Process


class Trainer:
    def __init__(self, cfg, model):
        self.cfg = cfg
        self.process = Process(cfg)
        self.optimizer = paddle.optimizer.AdamW(1e-3, parameters=model.parameters())
        if cfg.kind == "l1":
            self.loss_fn = paddle.nn.L1Loss("mean")
        else:
            self.loss_fn = paddle.nn.MSELoss()

    def train(self, loader):
        if self.cfg.amp:
            scaler = paddle.amp.GradScaler(init_loss_scaling=1024)
        for step, rows in enumerate(loader):
            with paddle.amp.auto_cast(enable=self.cfg.amp):
                guess, truth = self.process(rows)
            loss = self.process.get_loss(guess, truth, self.loss_fn)
            (scaler.scale(loss) if self.cfg.amp else loss).backward()
            if (step + 1) % self.cfg.rounds == 0 or step + 1 == len(loader):
                if self.cfg.amp:
                    scaler.step(self.optimizer)
                    scaler.update()
                else:
                    self.optimizer.step()
                self.optimizer.clear_grad()
"""
DIVIDED: dict[str, Changes] = {
    "a sum": (("MSELoss()", 'MSELoss(reduction="sum")'),),
    "of the program": (("paddle.nn.MSELoss()", "Process.loss()"),),
    "no criterion": (("truth, self.loss_fn", "truth, self.kind"),),
    "not a loss": (("get_loss(", "get_parts("),),
    "weights of a sum": (("    def train", "    reduction = 'sum_loss'\n\n    def train"),),
    "divided": (("truth, self.loss_fn)", "truth, self.loss_fn) / self.cfg.rounds"),),
}


def test_a_criterion_given_to_an_unseen_function() -> None:
    assert codes(CRITERION) == {"CL101"}


@pytest.mark.parametrize("name", DIVIDED)
def test_not_known_to_be_a_mean(name: str) -> None:
    assert "CL101" not in codes(swap(CRITERION, *DIVIDED[name]))


# ---- CL101, CL104: an entry of a model's output behind a function; a counter of a flag

BEHIND = """\
import argparse

import paddle
from parts import Model


def train(args, step, model, optimizer, rows):
    def run(batch):
        if args.cast:
            with paddle.amp.auto_cast(dtype="bfloat16"):
                return model(batch)
        return model(batch)

    scores, loss = run(next(rows))
    loss.backward()
    if step % args.merge == 0:
        optimizer.step()
        optimizer.clear_grad()


parser = argparse.ArgumentParser()
parser.add_argument("--cast", action="store_true")
parser.add_argument("--start", type=int, default=0)
parser.add_argument("--steps", type=int, default=100)
parser.add_argument("--merge", type=int, default=1)
args = parser.parse_args()
model = Model()
optimizer = paddle.optimizer.Adam(1e-3, parameters=model.parameters())
step = args.start
while True:
    if step >= args.steps:
        break
    train(args, step, model, optimizer, rows)
    step += 1
"""
NOT_BEHIND: dict[str, tuple[str, Changes]] = {
    "another entry": ("CL101", (("scores, loss = run", "loss, scores = first"),)),
    "scores only": ("CL101", (("scores, loss = run", "scores, other = run"),)),
    "counted from 1": (
        "CL104",
        (('--start", type=int, default=0', '--start", type=int, default=1'),),
    ),
    "no default": ("CL104", (("type=int, default=0", "type=int"),)),
    "the next one": ("CL104", (("if step % ", "if (step + 1) % "),)),
    "counted elsewhere": ("CL104", (("step = args.start\n", "step = resume(args)\n"),)),
}


def test_a_loss_and_a_counter_from_elsewhere() -> None:
    assert codes(BEHIND) == {"CL101", "CL104"}


@pytest.mark.parametrize("name", NOT_BEHIND)
def test_other_losses_and_counters(name: str) -> None:
    code, changes = NOT_BEHIND[name]
    assert code not in codes(swap(BEHIND, *changes))


# ---- CL105: the end of the run is not the end of an epoch

RUN_ENDS = """\
import paddle

optimizer = paddle.optimizer.Adam(1e-3, parameters=model.parameters())
updates = 0
for epoch in range(args.epochs):
    for step, (x, y) in enumerate(loader):
        loss = paddle.nn.functional.cross_entropy(model(x), y) / args.merge
        loss.backward()
        if (step + 1) % args.merge == 0:
            optimizer.step()
            optimizer.clear_grad()
            updates += 1
            if updates >= args.updates:
                break
"""
EPOCH_ENDS: dict[str, Changes] = {
    "a counter of the epoch": (
        ("updates = 0\n", ""),
        ("    for step", "    updates = 0\n    for step"),
    ),
    "the batch": (("if updates >=", "if step >="),),
    "counted again": (
        ("                break", "                updates = 0\n                break"),
    ),
    "something else": (("updates >= args.updates", "done(updates)"),),
}


def test_the_end_of_the_run_leaves_gradients_of_epochs() -> None:
    assert codes(RUN_ENDS) == {"CL105"}


@pytest.mark.parametrize("name", EPOCH_ENDS)
def test_the_epoch_ends_with_a_window(name: str) -> None:
    assert "CL105" not in codes(swap(RUN_ENDS, *EPOCH_ENDS[name]))
