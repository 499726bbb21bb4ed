"""Backward passes of other losses beside a scaled one."""

from __future__ import annotations

import pytest

from unit.migrate.apex_loops import HEAD, LOOP, START, code
from unit.migrate.migrating import changed, migrate, refused

_FLAG = 'if args.fp16:\n    model, optimizer = amp.initialize(model, optimizer, opt_level="O1")\n'
_BRANCHES = """\
for inputs, targets in loader:
    loss = criterion(model(inputs), targets)
    if args.fp16:
        with amp.scale_loss(loss, optimizer) as scaled_loss:
            scaled_loss.backward()
    else:
        loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""
_STEP = "    optimizer.step()\n"
_OTHER = "    attacked = criterion(model(inputs + noise), targets)\n    attacked.backward()\n"


@pytest.mark.parametrize(("start", "loop"), [(START, LOOP), (_FLAG, _BRANCHES)])
def test_its_gradients_would_be_added_to_scaled_ones(start: str, loop: str) -> None:
    text = loop.replace(_STEP, _OTHER + _STEP, 1)
    assert "attacked.backward() adds gradients that are not" in refused("CM102", code(start, text))


def test_under_a_condition_of_its_own_too() -> None:
    other = "    if args.attack:\n        criterion(model(inputs + 1), targets).backward()\n"
    assert "not scaled" in refused("CM102", code(loop=LOOP.replace(_STEP, other + _STEP)))


def test_a_loss_before_the_scaled_one_does_so_too() -> None:
    text = LOOP.replace("    loss =", _OTHER + "    loss =", 1)
    assert "not scaled" in refused("CM102", code(loop=text))


def test_the_branch_without_apex_may_have_it() -> None:
    text = _BRANCHES.replace("        loss.backward()\n", f"        loss.backward()\n    {_OTHER}")
    text = text.replace("\n    attacked.backward()", "\n        attacked.backward()")
    assert "scaler.scale(loss).backward()" in changed("CM102", code(_FLAG, text))


def test_another_optimizer_may_train_on_it() -> None:
    other = "    critic(inputs).mean().backward()\n    critic_optimizer.step()\n"
    found = migrate("CM102", code(loop=LOOP.replace(_STEP, _STEP + other)))
    assert not any("not scaled" in refusal.message for refusal in found.refusals)


def test_another_function_may_have_it() -> None:
    other = "\n\ndef attack(loss):\n    loss.backward()\n"
    assert "scaler.scale(loss)" in changed("CM102", code(loop=LOOP + other))


def test_amp_in_a_variable_is_named() -> None:
    start = "def start(model):\n    model.net, model.optimizer = amp.initialize("
    end = 'model.net, model.optimizer, opt_level="O1")\n    model.amp = amp\n'
    text = "import step\n" + HEAD + start + end
    step = """\
class Model:
    def step(self, loss):
        with self.amp.scale_loss(loss, self.optimizer) as scaled_loss:
            scaled_loss.backward()
        self.optimizer.step()
"""
    assert "self.amp.scale_loss in step.py calls" in refused("CM102", text, step=step)
