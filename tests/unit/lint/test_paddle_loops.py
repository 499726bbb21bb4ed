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


# ---- CL113: only the schedule waits for the window

WAITS = """\
import paddle

rate = paddle.optimizer.lr.PolynomialDecay(1e-3, decay_steps=1000)
optimizer = paddle.optimizer.AdamW(rate, parameters=model.parameters())
scaler = paddle.amp.GradScaler()
for step, (x, y) in enumerate(loader):
    with paddle.amp.auto_cast(args.amp):
        loss = paddle.nn.functional.cross_entropy(model(x), y)
    if args.amp:
        scaler.scale(loss).backward()
        scaler.minimize(optimizer, loss)
    else:
        loss.backward()
        optimizer.step()
    optimizer.clear_grad()
    if (step + 1) % args.accumulate_steps != 0:
        continue
    rate.step()
"""
ALL_WAIT: dict[str, Changes] = {
    "another number": (("args.accumulate_steps", "args.log_steps"),),
    "the clearing waits": (
        ("    optimizer.clear_grad()\n", ""),
        ("    rate.step()\n", "    rate.step()\n    optimizer.clear_grad()\n"),
    ),
    "only the log waits": (
        ("    rate.step()\n", "    print(loss)\n"),
        ("    optimizer.clear_grad()\n", "    optimizer.clear_grad()\n    rate.step()\n"),
    ),
    "a library accumulates": (
        (
            "scaler = ",
            "optimizer = GradientMergeOptimizer(optimizer, args.accumulate_steps)\nscaler = ",
        ),
    ),
    "outside of windows": (("!= 0:\n        continue", "== 0:\n        continue"),),
}


def test_only_the_schedule_waits_for_the_window() -> None:
    assert codes(WAITS) == {"CL113"}
    nested = swap(WAITS, ("!= 0:\n        continue\n    rate", "== 0:\n        rate"))
    assert codes(nested) == {"CL113"}


@pytest.mark.parametrize("name", ALL_WAIT)
def test_everything_waits_or_nothing(name: str) -> None:
    assert "CL113" not in codes(swap(WAITS, *ALL_WAIT[name]))


# ---- CL206: a scaled loss that is only shown

SHOWN = """\
import paddle
from paddle.amp import GradScaler, auto_cast

optimizer = paddle.optimizer.Adam(1e-3, parameters=model.parameters())
scaler = GradScaler()
for x, y in loader:
    with auto_cast():
        loss = paddle.nn.functional.mse_loss(model(x), y)
    scaled = scaler.scale(loss)
    print("loss:", scaled)
    loss.backward()
    optimizer.minimize(loss)
    optimizer.clear_grad()
"""
USED: dict[str, Changes] = {
    "differentiated": (("    loss.backward()", "    scaled.backward()"),),
    "kept": (('print("loss:", scaled)', "losses.append(scaled)"),),
    "bfloat16": (("auto_cast()", 'auto_cast(dtype="bfloat16")'),),
    "passed on": (("    optimizer.minimize(loss)", "    scaler.minimize(optimizer, scaled)"),),
    "an attribute": (("scaled = scaler", "self.scaled = scaler"),),
}


def test_a_scaled_loss_that_is_only_shown() -> None:
    assert codes(SHOWN) == {"CL206"}
    dropped = swap(SHOWN, ("scaled = scaler", "scaler"), ('    print("loss:", scaled)\n', ""))
    assert codes(dropped) == {"CL206"}


@pytest.mark.parametrize("name", USED)
def test_a_scaled_loss_that_is_used(name: str) -> None:
    assert "CL206" not in codes(swap(SHOWN, *USED[name]))


# ---- CL503: lengths in updates, and multiplied by the window

LENGTH = """\
import paddle
from paddlenlp.transformers import LinearDecayWithWarmup

merge = 4
total = len(loader) // merge * args.epochs
rate = LinearDecayWithWarmup(args.lr, total, 100)
optimizer = paddle.optimizer.AdamW(rate, parameters=model.parameters())
for step, (x, y) in enumerate(loader):
    loss = paddle.nn.functional.cross_entropy(model(x), y) / merge
    loss.backward()
    if (step + 1) % merge == 0:
        optimizer.step()
        optimizer.clear_grad()
    rate.step()
"""
UPDATES = (
    ("    rate.step()\n", ""),
    ("        optimizer.step()\n", "        optimizer.step()\n        rate.step()\n"),
)
RIGHT_LENGTH: dict[str, Changes] = {
    "with the optimizer": UPDATES,
    "in micro-batches": (("len(loader) // merge *", "len(loader) *"),),
    "divided by something else": (("// merge *", "// 2 *"),),
    "sometimes": (("    rate.step()", "    if step > 10:\n        rate.step()"),),
    "of an epoch number": (("    rate.step()", "    rate.step(step)"),),
    "another schedule": (("    rate.step()", "    other.step()"),),
}


def test_lengths_and_windows_of_paddle() -> None:
    assert codes(LENGTH) == {"CL503"}
    counted = swap(LENGTH, *UPDATES, ("// merge * args.epochs", "* args.epochs"))
    assert codes(counted) == {"CL503"}
    multiplied = swap(
        LENGTH,
        *UPDATES,
        ("total = len(loader) // merge * args.epochs", "total = args.updates * accum"),
    )
    assert codes(multiplied) == {"CL503"}


@pytest.mark.parametrize("name", RIGHT_LENGTH)
def test_lengths_that_fit(name: str) -> None:
    assert "CL503" not in codes(swap(LENGTH, *RIGHT_LENGTH[name]))


def test_a_length_in_updates_of_pytorch() -> None:
    text = swap(
        LENGTH,
        ("from paddlenlp.transformers import LinearDecayWithWarmup\n", "import torch\n"),
        ("import paddle\n", ""),
        (
            "LinearDecayWithWarmup(args.lr, total, 100)",
            "torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=total)",
        ),
        ("paddle.optimizer.AdamW(rate, parameters=model.parameters())", "None"),
        ("paddle.nn", "torch.nn"),
        ("clear_grad", "zero_grad"),
        ("    rate.step()", "    schedule.step()"),
        ("\nrate = ", "\nschedule = "),
    )
    assert codes(text) == {"CL502", "CL503"}


# ---- CL912: a switch that is only stored

STORED = """\
import paddle


class Trainer:
    def __init__(self, args, model):
        self.mixed = args.fp16
        self.kind = paddle.float16 if args.fp16 else paddle.float32
        self.scaler = paddle.amp.GradScaler()
        self.model = model
        self.optimizer = paddle.optimizer.Adam(1e-3, parameters=model.parameters())

    def train(self, loader):
        for x, y in loader:
            loss = paddle.nn.functional.cross_entropy(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            self.optimizer.clear_grad()
"""
LOSS = "            loss = paddle"
READ: dict[str, Changes] = {
    "read": ((LOSS, "            if self.mixed:\n                x = half(x)\n" + LOSS),),
    "by its name": ((LOSS, '            mixed = getattr(self, "mixed")\n' + LOSS),),
    "the other is read": ((LOSS, "            x = run(x, self.kind)\n" + LOSS),),
    "handed on": (
        ("        self.model = model\n", "        self.model = model\n        hook(self)\n"),
    ),
    "no scaler": (("        self.scaler = paddle.amp.GradScaler()\n", ""),),
    "a scaler that is used": (("loss.backward()", "self.scaler.scale(loss).backward()"),),
    "something is cast": ((LOSS, '            x = x.astype("float16")\n' + LOSS),),
    "decides about more": (
        ("        self.mixed = args.fp16\n", "        if args.fp16:\n            x = 1\n"),
    ),
    "something else": (("args.fp16", "args.fast"),),
}


def test_a_switch_that_is_only_stored() -> None:
    assert codes(STORED) == {"CL912"}


@pytest.mark.parametrize("name", READ)
def test_a_switch_that_is_read(name: str) -> None:
    assert "CL912" not in codes(swap(STORED, *READ[name]))


OWN = """\
import paddle

scaler = paddle.amp.GradScaler(init_loss_scaling=1024)
optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters())
for x, y in rows:
    with paddle.amp.auto_cast():
        loss = head(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    {}
    optimizer.clear_grad()
"""


def test_a_layer_that_updates_its_own_weights_applies_no_gradients_twice() -> None:
    assert "CL111" not in codes(OWN.format("head.step(optimizer)"))
    assert "CL111" in codes(OWN.format("scaler.step(optimizer)"))
