"""What the reader of training loops says about them."""

from __future__ import annotations

import pytest

from reading_helpers.loop_facts import facts, words


def test_a_plain_loop_says_nothing_about_windows() -> None:
    found = words(
        facts("for x in loader:\n    opt.zero_grad()\n    model(x).backward()\n    opt.step()\n")
    )
    assert found == {"zero_grad.where": "before_forward"}


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("opt.zero_grad(); loss = model(x); loss.backward(); opt.step()", "before_forward"),
        ("loss = model(x); opt.zero_grad(); loss.backward(); opt.step()", "before_backward"),
        (
            "out, loss = run(x); opt.zero_grad(); loss.sum().backward(); opt.step()",
            "before_backward",
        ),
        ("parts = run(x); opt.zero_grad(); parts['a'].backward(); opt.step()", "before_backward"),
        (
            "loss = 0; opt.zero_grad(); loss += run(x); loss.backward(); opt.step()",
            "before_forward",
        ),
        ("opt.zero_grad(); out, loss = run(x); loss.backward(); opt.step()", "before_forward"),
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


ONE_PASS = """
import torch
{head}
    for i, (x, y) in enumerate(loader):
        loss = criterion(model(x), y) / 4
        loss.backward()
        if (i + 1) % 4 == 0:
            optimizer.step()
            optimizer.zero_grad()
"""


@pytest.mark.parametrize(
    ("head", "tail"),
    [
        ("if True:", "dropped"),
        ("if True:\n    optimizer.zero_grad()", "dropped"),
        ("def train(model, loader):\n    optimizer.zero_grad()", "dropped"),
        ("def train(model, loader):\n    if first:\n        optimizer.zero_grad()", None),
        ("def train(model, loader):", None),
        ("def train_one_epoch(model, loader):", "leak"),
        ("for _ in range(3):", "leak"),
    ],
)
def test_the_last_window_of_one_pass(head: str, tail: str | None) -> None:
    found = words(facts(ONE_PASS.format(head=head)))
    assert found.get("accumulation.tail") == tail


@pytest.mark.parametrize(("indent", "unscaled"), [("    ", "no"), ("", "amp_master_params")])
def test_clipping_where_apex_has_not_yet_unscaled(indent: str, unscaled: str) -> None:
    text = (
        "from apex import amp\n"
        "model, opt = amp.initialize(model, opt)\n"
        "for x in loader:\n"
        "    opt.zero_grad()\n"
        "    with amp.scale_loss(model(x), opt) as scaled:\n"
        "        scaled.backward()\n"
        f"    {indent}torch.nn.utils.clip_grad_norm_(amp.master_params(opt), 1.0)\n"
        "    opt.step()\n"
    )
    assert words(facts(text))["clipping.unscaled_first"] == unscaled


@pytest.mark.parametrize("call", ["getattr({}, 'accum', 1)", "int(getattr({}, 'accum', 1))"])
def test_a_setting_that_may_not_be_there(call: str) -> None:
    text = (
        "n = {}\n"
        "for i, x in enumerate(loader):\n"
        "    (model(x) / n).backward()\n"
        "    if (i + 1) % n == 0:\n"
        "        opt.step()\n"
        "        opt.zero_grad()\n"
    )
    for owner, origin in (("config.training", "config"), ("table.training", "derived")):
        steps = facts(text.format(call.format(owner))).best("accumulation.steps")
        assert steps is not None
        assert steps.origin == origin


@pytest.mark.parametrize(
    ("factor", "divided"),
    [
        *(("* rows / size", "yes"), ("* other / size", None), ("", "no")),
        *(("* rows / len(x)", "yes"), ("* rows / 7", None), ("* rows / rows", None)),
        ("* rows / temperature", None),
    ],
)
def test_slices_of_a_batch_by_their_share(factor: str, divided: str | None) -> None:
    text = (
        "for x in loader:\n"
        "    opt.zero_grad()\n"
        "    for j in range(0, len(x), rows):\n"
        f"        loss = model(x[j:j + rows]).mean() {factor}\n"
        "        loss.backward()\n"
        "    opt.step()\n"
    )
    assert words(facts(text)).get("accumulation.loss_divided") == divided


@pytest.mark.parametrize(
    ("over", "steps"),
    [("0, 64, 16", 4), ("0, args.rows, 16", 3), ("0, len(x), 16", None), ("0, 4", 4)],
)
def test_the_number_of_slices(over: str, steps: int | None) -> None:
    text = (
        "import argparse\n"
        "parser = argparse.ArgumentParser()\n"
        "parser.add_argument('--rows', type=int, default=40)\n"
        "args = parser.parse_args()\n"
        "for x in loader:\n"
        "    opt.zero_grad()\n"
        f"    for j in range({over}):\n"
        "        loss = model(x[j:j + 16]).mean()\n"
        "        loss.backward()\n"
        "    opt.step()\n"
    )
    found = facts(text)
    assert words(found).get("accumulation.steps") == steps
    flags = {fact.expression for fact in found if fact.field == "accumulation.steps" and fact.known}
    assert flags == ({"args.rows"} if "args" in over else set() if steps is None else {""})


@pytest.mark.parametrize(("size", "divided"), [("32", "yes"), ("64", None)])
def test_slices_of_a_batch_of_known_size_by_their_share(size: str, divided: str | None) -> None:
    text = (
        f"rows, whole, size = 8, 32, {size}\n"
        "for x in loader:\n"
        "    opt.zero_grad()\n"
        "    for j in range(0, whole, rows):\n"
        "        loss = model(x[j:j + rows]).mean() * rows / size\n"
        "        loss.backward()\n"
        "    opt.step()\n"
    )
    assert words(facts(text)).get("accumulation.loss_divided") == divided
