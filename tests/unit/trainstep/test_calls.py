"""Functions, methods and objects of the program are followed."""

from __future__ import annotations

from collections.abc import Callable

from crosscast_reading.trainstep.events import TrainingStep

Loop = Callable[..., TrainingStep]
Find = Callable[..., tuple[TrainingStep, ...]]
Kinds = Callable[..., list[str]]


def value_of(value: object) -> object:
    """Return what is known of a value."""
    return getattr(value, "value", None)


WRAPPER = """
import torch
class LossScaling:
    def __init__(self):
        self._scaler = torch.cuda.amp.GradScaler()
    def __call__(self, loss, optimizer, clip_grad=None, parameters=None, update_grad=True):
        self._scaler.scale(loss).backward()
        if update_grad:
            if clip_grad is not None:
                self._scaler.unscale_(optimizer)
                torch.nn.utils.clip_grad_norm_(parameters, clip_grad)
            self._scaler.step(optimizer)
            self._scaler.update()
"""
LOOP = """
import torch
{head}
def train_one_epoch(model, loader, optimizer, loss_scaler, n):
    optimizer.zero_grad()
    for i, x in enumerate(loader):
        with torch.cuda.amp.autocast():
            loss = model(x)
        loss = loss / n
        loss_scaler(loss, optimizer, clip_grad=1.0, parameters=model.parameters(),
                    update_grad=(i + 1) % n == 0)
        if (i + 1) % n == 0:
            optimizer.zero_grad()
def main(args):
    scaling = {maker}
    for epoch in range(args.epochs):
        train_one_epoch(model, loader, optimizer, scaling, args.accum)
"""


def test_an_object_that_does_the_whole_step(loop: Loop, kinds: Kinds) -> None:
    text = LOOP.format(head="from part1 import LossScaling", maker="LossScaling()")
    step = loop(text, WRAPPER, head="")
    wanted = "zero_grad forward divide_loss backward unscale clip step update_scale zero_grad"
    assert kinds(step) == wanted.split()
    (update,) = step.of("step")
    assert update.window is not None
    assert update.window.aligned is True
    assert update.scaler == "scaling._scaler"
    assert update.subject == "optimizer"
    assert value_of(step.of("clip")[0].detail["max"]) == 1.0
    (first, _) = step.of("zero_grad")
    assert step.around("zero_grad") == (first,)


def test_the_same_object_of_a_library(loop: Loop, kinds: Kinds) -> None:
    text = LOOP.format(head="from timm.utils import NativeScaler", maker="NativeScaler()")
    step = loop(text, head="")
    wanted = "zero_grad forward divide_loss backward unscale clip step update_scale zero_grad"
    assert kinds(step) == wanted.split()
    (update,) = step.of("step")
    assert update.window is not None
    assert update.window.aligned is True
    assert update.library == "timm"


def test_what_the_branch_of_a_literal_argument_rules_out(loop: Loop, kinds: Kinds) -> None:
    step = loop("""
        def update(loss, clip=None):
            loss.backward()
            if clip is not None:
                torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
            opt.step()
        for x in loader:
            opt.zero_grad()
            update(model(x))
        """)
    assert kinds(step) == ["zero_grad", "forward", "backward", "step"]


def test_names_are_those_of_the_caller(loop: Loop) -> None:
    step = loop("""
        def apply(optimizer, amp):
            amp.step(optimizer)
            amp.update()
        for x in loader:
            scaler.scale(model(x)).backward()
            apply(opt, scaler)
        """)
    (update,) = step.of("step")
    assert (update.subject, update.scaler) == ("opt", "scaler")
    assert step.of("update_scale")[0].subject == "scaler"


def test_methods_of_one_object(loop: Loop, kinds: Kinds) -> None:
    step = loop("""
        class Trainer:
            def __init__(self, model, optimizer):
                self.model, self.optimizer = model, optimizer
                self.scaler = torch.amp.GradScaler("cuda")
            def fit(self):
                for epoch in range(3):
                    for x in loader:
                        self.train_step(x)
                    self.scheduler.step()
            def train_step(self, x):
                self.optimizer.zero_grad()
                with torch.autocast("cuda"):
                    loss = self.model(x)
                self.scaler.scale(loss).backward()
                self.update()
            def update(self):
                self.scaler.step(self.optimizer)
                self.scaler.update()
        Trainer(model, opt).fit()
        """)
    wanted = "zero_grad forward backward step update_scale schedule"
    assert kinds(step) == wanted.split()
    assert step.of("step")[0].scaler == "self.scaler"
    assert step.parts[-1].endswith("Trainer.update")


def test_partials(loop: Loop) -> None:
    step = loop("""
        from functools import partial
        def differentiate(fast, loss):
            if fast:
                scaler.scale(loss).backward()
            else:
                loss.backward()
        run = partial(differentiate, True)
        for x in loader:
            run(model(x))
            scaler.step(opt)
            scaler.update()
            opt.zero_grad()
        """)
    assert [e.scaler for e in step.of("backward")] == ["scaler"]


def test_recursion_ends(loop: Loop) -> None:
    step = loop("""
        def train(depth):
            for x in loader:
                model(x).backward()
                opt.step()
            train(depth - 1)
        train(3)
        """)
    assert len(step.of("backward")) == 1


def test_a_function_nobody_calls(loop: Loop) -> None:
    step = loop("""
        def train_step(batch):
            opt.zero_grad()
            loss = model(batch)
            loss.backward()
            opt.step()
            return loss
        """)
    assert step.loop is None
    assert step.function == "train_step"


def test_a_loop_that_two_calls_lead_to(steps: Find) -> None:
    found = steps("""
        def train(loader):
            for x in loader:
                opt.zero_grad()
                model(x).backward()
                opt.step()
        train(first)
        train(second)
        """)
    assert len(found) == 1


def test_two_loops(steps: Find) -> None:
    found = steps("""
        def warm_up():
            for x in loader:
                opt.zero_grad()
                model(x).backward()
                opt.step()
        def train():
            for x in loader:
                opt.zero_grad()
                with autocast():
                    loss = model(x)
                scaler.scale(loss).backward()
                scaler.step(opt)
                scaler.update()
        warm_up()
        train()
        """)
    assert [len(training_step.of("update_scale")) for training_step in found] == [0, 1]


def test_conditions_around_all_of_it(loop: Loop) -> None:
    step = loop("""
        if args.fp16:
            for x in loader:
                opt.zero_grad()
                model(x).backward()
                opt.step()
        """)
    assert [g.text for g in step.under] == ["args.fp16"]
    assert step.under[0].flags == ("args.fp16",)
    assert step.under[0].value is False
    assert all(not e.guards for e in step.events)
