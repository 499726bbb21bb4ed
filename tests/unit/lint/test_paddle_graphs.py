"""Static graphs of Paddle: the order of schedule and run, their lengths, and scales of losses."""

from __future__ import annotations

import pytest

from .lint_results import codes, swap

MODEL = """
import paddle

class Model:
    def build(self):
        self.optimizer.minimize(self.loss())

    def _execute(self, program, inputs):
        return self.exe.run(program, inputs)

    def train_step(self, inputs):
        self.scheduler.step()
        return self._execute(self.program, inputs)
"""
AFTER = """        out = self._execute(self.program, inputs)
        self.scheduler.step()
        return out
"""


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (("self.exe.run", "self.exe.run"), True),
        (("self._execute(self.program", "self.exe.run(self.program"), True),
        (("self._execute(self.program", "self._execute(self.test_program"), False),
        (("self._execute(self.program", "self.show(self.program"), False),
        (("self.scheduler.step()", "self.profiler.step()"), False),
        (("        self.scheduler.step()\n        return", "        return"), False),
    ],
)
def test_a_schedule_before_the_run(change: tuple[str, str], found: bool) -> None:
    assert ("CL501" in codes(swap(MODEL, change))) is found


def test_a_schedule_after_the_run() -> None:
    assert "CL501" not in codes(MODEL[: MODEL.index("        self.scheduler")] + AFTER)


WORKERS = """
import paddle.fluid as fluid
from optimization import optimization
from setup import args, exe, fleet, loss, program

optimization(loss=loss, num_train_steps=args.num_train_steps)
fluid.optimizer.Adam(1e-4).minimize(loss)
steps = 0
while steps < args.num_train_steps:
    try:
        steps += fleet.worker_num()
        exe.run(program)
    except fluid.core.EOFException:
        break
"""


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (("fleet.worker_num()", "fleet.worker_num()"), True),
        (("fleet.worker_num()", "1"), False),
        (("=args.num_train_steps)", "=args.num_train_steps // fleet.worker_num())"), False),
        (("(loss=loss, num_train", "(loss=loss, num_saved"), False),
    ],
)
def test_a_loop_that_counts_workers(change: tuple[str, str], found: bool) -> None:
    assert ("CL503" in codes(swap(WORKERS, change))) is found


SCALED = """
import paddle.fluid as fluid
from flags import args, print_arguments
from optimization import optimization

def create():
    loss = model()
    if args.use_fp16 and args.loss_scaling > 1.0:
        loss *= args.loss_scaling
    return loss

print_arguments(args)
optimization(loss=create(), learning_rate=args.learning_rate)
"""


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (("loss *=", "loss *="), True),
        (("loss *= args", "loss = loss * args"), True),
        (("loss *=", "loss = fluid.layers.mean(loss) *"), True),
        (("print_arguments(args)", "print(args.loss_scaling)"), True),
        (("print_arguments(args)", "rows = reader.train(args)"), True),
        (("print_arguments(args)", "engine.train(args)"), False),
        (("loss *=", "loss = rate *"), True),
        (("loss *=", "loss = fluid.layers.mean(rate) *"), False),
        (("return loss", "other_loss = loss * args.loss_scaling; return other_loss"), True),
        (("args.learning_rate)", "args.learning_rate, loss_scaling=args.loss_scaling)"), False),
        (("loss=create()", "args, loss=create()"), False),
        (("loss=create()", "**vars(args), loss=create()"), False),
        (("loss *= args.loss_scaling", "loss *= args.loss_weight"), False),
    ],
)
def test_a_scale_that_stays_in_the_gradients(change: tuple[str, str], found: bool) -> None:
    assert ("CL810" in codes(swap(SCALED, change))) is found
