"""What the reader of training loops says of loops over chunks, devices and settings."""

from __future__ import annotations

import pytest

from told_facts import HEAD, facts, words

CHUNKS = """
for x, y in loader:
    opt.zero_grad()
    if args.accum > 1:
        for i in range(args.accum):
            loss = model(x[i], y[i]).mean() / args.accum
            loss.backward()
    else:
        loss = model(x, y).mean()
        loss.backward()
    opt.step()
"""


def test_a_pass_beside_the_loop_over_chunks_is_not_of_a_window() -> None:
    found = words(facts(CHUNKS, HEAD.replace("default=4", "default=1")))
    assert found["accumulation.loss_divided"] == "yes"


def test_chunks_that_are_not_divided() -> None:
    found = words(
        facts(CHUNKS.replace(" / args.accum\n", "\n"), HEAD.replace("default=4", "default=1"))
    )
    assert found["accumulation.loss_divided"] == "no"


BASE = """
class Base:
    def __init__(self, args):
        self.every = args.accum
        self.done = 0
    def compute(self, batch, model):
        raise NotImplementedError
    def train(self, loader, model, optimizer):
        for batch in loader:
            loss = self.compute(batch, model)
            loss.backward()
            self.done += 1
            if self.done % self.every == 0:
                optimizer.step()
                optimizer.zero_grad()
class Part(Base):
    def compute(self, batch, model):
        loss = model(batch)
        return {result}
"""


@pytest.mark.parametrize(("result", "word"), [("loss / self.every", "yes"), ("loss", "no")])
def test_the_loss_that_a_subclass_computes(result: str, word: str) -> None:
    found = words(facts(BASE.replace("{result}", result)))
    assert found["accumulation.loss_divided"] == word


HELD = """
state = {"number": 0}
fabric = lightning.Fabric()
for batch in loader:
    summing = (state["number"] + 1) % 8 != 0
    with fabric.no_backward_sync(model, enabled=summing):
        loss = model(batch)
        fabric.backward(loss / 8)
    if not summing:
        opt.step()
        opt.zero_grad()
    state["number"] += 1
"""


def test_an_entry_that_counts_is_no_flag() -> None:
    assert words(facts("import lightning\n" + HELD))["accumulation.no_sync"] == "yes"


@pytest.mark.parametrize(
    ("rate", "word"), [("rate", None), ("rate * 0.9 ** step", "step")], ids=["kept", "falls"]
)
def test_a_rate_that_no_round_changes_is_no_schedule(rate: str, word: str | None) -> None:
    text = f"""
    rate = args.clip
    if args.accum > 9:
        rate = args.accum
    for step, batch in enumerate(loader):
        for group in opt.param_groups:
            group["lr"] = {rate}
        opt.zero_grad()
        model(batch).backward()
        opt.step()
    """
    head = HEAD.replace("sched = torch.optim.lr_scheduler.StepLR(opt, 10)\n", "")
    assert words(facts(text, head)).get("schedule.stepped_per") == word


ROUNDS = """
for x, y in loader:
    opt.zero_grad()
    model(x, y).backward()
    for i in range(args.accum):
        disturb(model, i)
        if i {test}:
            model.zero_grad()
        loss = model(x, y)
        loss.backward()
    opt.step()
"""


@pytest.mark.parametrize(
    ("test", "present"), [("!= args.accum - 1", False), ("== 0", True)], ids=["attack", "window"]
)
def test_rounds_that_clear_gradients_but_for_the_last(test: str, present: bool) -> None:
    found = words(facts(ROUNDS.replace("{test}", test)))
    assert (found.get("accumulation.present") == "yes") is present


LIMITED = """
from dataclasses import dataclass
LIMIT = None
@dataclass
class Settings:
    limit: float = None
class Trainer:
    def __init__(self, settings: Settings):
        self.settings = settings
    def round(self, x):
        loss = model(x)
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), {limit})
        opt.step()
"""


@pytest.mark.parametrize(
    ("limit", "kind"), [("self.settings.limit", "global_norm"), ("LIMIT", None), ("None", None)]
)
def test_a_limit_that_is_none_by_default(limit: str, kind: str | None) -> None:
    assert words(facts(LIMITED.replace("{limit}", limit))).get("clipping.kind") == kind


TOWERS = """
import tensorflow as tf
opt = tf.train.AdamOptimizer(1e-3)
parts = []
for i in range(4):
    with {where}:
        loss = network(inputs[i])
        parts.append(opt.compute_gradients(loss))
train = opt.apply_gradients(combined(parts))
"""


@pytest.mark.parametrize(
    ("where", "summed"),
    [
        ("tf.device('/gpu:%d' % i)", False),
        ("tf.device(devices[i])", False),
        ("tf.device('/gpu:0')", True),
        ("tf.name_scope('part%d' % i)", True),
    ],
)
def test_a_loop_over_devices_is_no_window(where: str, summed: bool) -> None:
    found = words(facts(TOWERS.format(where=where), head=""))
    assert (found.get("accumulation.present") == "yes") is summed


@pytest.mark.parametrize(
    ("call", "limit"),
    [
        ("clip_grads_by_norm(grads, 2.0)", 2.0),
        ("adaptive_clip_grad(model.trainable_variables, grads, clip_factor=0.01)", None),
        ("my_clip_gradients(variables, grads)", None),
    ],
)
def test_limits_of_functions_of_other_files(call: str, limit: float | None) -> None:
    found = facts(
        f"""
        import tensorflow as tf
        from clipping import *
        opt = tf.keras.optimizers.Adam(1e-3)
        for x in data:
            with tf.GradientTape() as tape:
                loss = model(x)
            grads = tape.gradient(loss, model.trainable_variables)
            grads = {call}
            opt.apply_gradients(zip(grads, model.trainable_variables))
        """,
        head="",
    )
    limits = [fact.value for fact in found.facts if fact.field == "clipping.value"]
    assert limits == ([] if limit is None else [limit])
