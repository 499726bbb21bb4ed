"""What the reader of training loops says about them."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

import pytest

from crosscast.facts.profile import Profile, profile_of
from crosscast.pysource.project import read_program
from crosscast.readers.python.accumulation import READER
from crosscast.source import Source

Facts = Callable[..., Profile]
HEAD = """
import argparse
import torch
from torch.cuda.amp import GradScaler, autocast
parser = argparse.ArgumentParser()
parser.add_argument("--accum", type=int, default=4)
parser.add_argument("--clip", type=float, default=1.0)
args = parser.parse_args()
opt = torch.optim.AdamW(model.parameters())
sched = torch.optim.lr_scheduler.StepLR(opt, 10)
scaler = GradScaler()
"""


def facts(text: str, head: str = HEAD) -> Profile:
    program, _ = read_program([Source("train.py", head + textwrap.dedent(text))])
    return profile_of(READER.read(program))


def words(profile: Profile) -> dict[str, object]:
    """Return the value of every field."""
    return {fact.field: fact.value for fact in reversed(profile.facts) if fact.known}


ACCUMULATED = """
for epoch in range(3):
    for i, x in enumerate(loader):
        with autocast():
            loss = model(x) / args.accum
        scaler.scale(loss).backward()
        if (i + 1) % args.accum == 0:
            scaler.unscale_(opt)
            torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
            scaler.step(opt)
            scaler.update()
            sched.step()
            opt.zero_grad()
"""


def test_a_loop_with_everything() -> None:
    profile = facts(ACCUMULATED)
    assert words(profile) == {
        "accumulation.present": "yes",
        "accumulation.steps": 4,
        "accumulation.loss_divided": "yes",
        "accumulation.tail": "leak",
        "zero_grad.where": "after_step",
        "clip.kind": "global_norm",
        "clip.value": 1.0,
        "clip.unscaled_first": "yes",
        "clip.per": "step",
        "scaler_update.status": "ok",
        "schedule.stepped_per": "step",
        "schedule.on_skip": "steps",
    }
    steps = profile.best("accumulation.steps")
    assert steps is not None
    assert (steps.expression, steps.origin) == ("args.accum", "flag")
    assert {place.file for fact in profile for place in fact.places} == {"train.py"}


def test_a_plain_loop_says_nothing_about_windows() -> None:
    found = words(
        facts("for x in loader:\n    opt.zero_grad()\n    model(x).backward()\n    opt.step()\n")
    )
    assert found == {"zero_grad.where": "before_forward"}


def test_nothing_is_said_without_training() -> None:
    assert not facts("for x in loader:\n    y = model(x)\n").facts


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("opt.zero_grad(); loss = model(x); loss.backward(); opt.step()", "before_forward"),
        ("loss = model(x); opt.zero_grad(); loss.backward(); opt.step()", "before_backward"),
        ("loss = model(x); loss.backward(); opt.step(); opt.zero_grad()", "after_step"),
    ],
)
def test_where_gradients_are_cleared(text: str, where: str) -> None:
    assert words(facts(f"for x in loader:\n    {text}\n"))["zero_grad.where"] == where


def test_clearing_at_the_start_of_a_window() -> None:
    text = """
    for step in range(10):
        opt.zero_grad()
        for micro in range(args.accum):
            (model(x) / args.accum).backward()
        opt.step()
    """
    found = words(facts(text))
    assert found["zero_grad.where"] == "window_start"
    assert found["accumulation.steps"] == 4


@pytest.mark.parametrize(
    ("old", "new", "tail"),
    [
        ("== 0:", "== 0 or i + 1 == len(loader):", "stepped"),
        ("    for i, x", "    opt.zero_grad()\n    for i, x", "dropped"),
        ("enumerate(loader)", "enumerate(islice(loader, 40))", "not_consumed"),
        (
            "        with autocast():",
            "        if i >= len(loader) // args.accum * args.accum:\n            break\n"
            "        with autocast():",
            "not_consumed",
        ),
        ("enumerate(loader)", "enumerate(cycle(loader))", "carried_over"),
    ],
)
def test_short_last_windows(old: str, new: str, tail: str) -> None:
    assert old in ACCUMULATED
    assert words(facts(ACCUMULATED.replace(old, new)))["accumulation.tail"] == tail


def test_a_counter_that_runs_on() -> None:
    text = ACCUMULATED.replace("for epoch in", "n = 0\nfor epoch in")
    text = text.replace("(i + 1) %", "n %").replace(
        "        with auto", "        n += 1\n        with auto"
    )
    assert words(facts(text))["accumulation.tail"] == "carried_over"


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        (" / args.accum\n", "\n", "no"),
        ("model(x) / args.accum", "model(x) / num_tokens", "token_normalised"),
        (
            " / args.accum\n",
            "\n        for p in model.parameters():\n            p.grad /= args.accum\n",
            "yes",
        ),
    ],
)
def test_divisions(old: str, new: str, word: str) -> None:
    text = ACCUMULATED.replace(old, new)
    assert words(facts(text))["accumulation.loss_divided"] == word


@pytest.mark.parametrize(
    ("old", "field", "word"),
    [
        ("            scaler.unscale_(opt)\n", "clip.unscaled_first", "no"),
        ("            scaler.update()\n", "scaler_update.status", "missing"),
    ],
)
def test_what_is_left_out(old: str, field: str, word: str) -> None:
    assert words(facts(ACCUMULATED.replace(old, "")))[field] == word


def test_updates_of_the_scale_for_every_micro_batch() -> None:
    text = ACCUMULATED.replace("            scaler.update()\n", "")
    text = text.replace("        if (i", "        scaler.update()\n        if (i")
    assert words(facts(text))["scaler_update.status"] == "per_micro"


def test_updates_of_the_scale_for_every_optimizer() -> None:
    text = """
    opt_d = torch.optim.Adam(a); opt_g = torch.optim.Adam(b)
    for x in loader:
        scaler.scale(d(x)).backward()
        scaler.step(opt_d)
        scaler.update()
        scaler.scale(g(x)).backward()
        scaler.step(opt_g)
        scaler.update()
    """
    assert words(facts(text))["scaler_update.status"] == "per_optimizer"


def test_a_schedule_once_an_epoch() -> None:
    text = ACCUMULATED.replace("            sched.step()\n", "") + "    sched.step()\n"
    found = words(facts(text))
    assert found["schedule.stepped_per"] == "epoch"
    assert "schedule.on_skip" not in found


def test_a_schedule_for_every_micro_batch() -> None:
    text = ACCUMULATED.replace("            sched.step()\n", "") + "        sched.step()\n"
    assert words(facts(text))["schedule.stepped_per"] == "micro"


def test_a_schedule_that_waits_for_updates() -> None:
    text = ACCUMULATED.replace(
        "            sched.step()\n",
        "            skipped = before > scaler.get_scale()\n"
        "            if not skipped:\n                sched.step()\n",
    )
    assert words(facts(text))["schedule.on_skip"] == "guarded"


def test_accelerate_does_it() -> None:
    text = """
    from accelerate import Accelerator
    accelerator = Accelerator(gradient_accumulation_steps=args.accum)
    for x in loader:
        with accelerator.accumulate(model):
            loss = model(x)
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            sched.step()
            opt.zero_grad()
    """
    found = words(facts(text))
    assert found["accumulation.steps"] == 4
    for field in ("loss_divided", "tail", "no_sync"):
        assert found[f"accumulation.{field}"] == "library"
    assert found["clip.unscaled_first"] == "library"
    assert found["scaler_update.status"] == "library"
    assert found["schedule.stepped_per"] == "library"


def test_accumulate_without_steps_is_no_accumulation() -> None:
    text = """
    from accelerate import Accelerator
    accelerator = Accelerator()
    for x in loader:
        with accelerator.accumulate(model):
            accelerator.backward(model(x))
            opt.step()
            opt.zero_grad()
    """
    assert "accumulation.present" not in words(facts(text))


@pytest.mark.parametrize(
    ("held", "word"),
    [
        ("ctx = nullcontext() if (i + 1) % args.accum == 0 else model.no_sync()", "yes"),
        ("ctx = nullcontext()", "no"),
    ],
)
def test_no_sync(held: str, word: str) -> None:
    text = f"""
from torch.nn.parallel import DistributedDataParallel
model = DistributedDataParallel(net)
for i, x in enumerate(loader):
    {held}
    with ctx:
        (model(x) / args.accum).backward()
    if (i + 1) % args.accum == 0:
        opt.step()
        opt.zero_grad()
"""
    assert words(facts(text))["accumulation.no_sync"] == word


def test_the_main_loop_speaks_first() -> None:
    text = "for _ in range(3):\n    opt.zero_grad()\n    model(x).backward()\n    opt.step()\n"
    found = facts(text + ACCUMULATED)
    assert words(found)["accumulation.present"] == "yes"
    assert words(found)["zero_grad.where"] == "after_step"
    assert len(found.all("zero_grad.where")) == 1


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
    assert words(facts(LIMITED.replace("{limit}", limit))).get("clip.kind") == kind


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
    limits = [fact.value for fact in found.facts if fact.field == "clip.value"]
    assert limits == ([] if limit is None else [limit])
