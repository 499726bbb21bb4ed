"""Divisions of losses that live in containers: entries, attributes, parts of tuples."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources
from crosscast_reading.sources.subject_builder import subject_of

LOOP = """\
import torch

model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
accum = 4
for step, (inputs, targets) in enumerate(loader):
{body}
    if (step + 1) % accum == 0:
        optimizer.step()
        optimizer.zero_grad()
"""
DIVIDED = [
    ('loss = model(inputs)\nloss["loss"] = loss["loss"] / accum\nloss["loss"].backward()\n'),
    ('out = model(inputs)\nout["loss"] /= accum\nout["loss"].backward()\n'),
    (
        "out = model(inputs)\n"
        'out["loss"] = out["loss"] / accum\n'
        'loss = out["loss"]\n'
        "loss.backward()\n"
    ),
    ("out = model(inputs)\nout.loss = out.loss / accum\nout.loss.backward()\n"),
    ("out = model(inputs)\nout.loss /= accum\nout.loss.backward()\n"),
    ("out = model(inputs)\nout.loss = out.loss / accum\nloss = out.loss\nloss.backward()\n"),
    ("out = list(model(inputs))\nout[0] = out[0] / accum\nout[0].backward()\n"),
    ("losses = model(inputs)\nlosses[0] /= accum\nloss = losses[0]\nloss.backward()\n"),
    (
        'losses = {"ce": a(inputs), "kl": b(inputs)}\n'
        "losses = {k: v / accum for k, v in losses.items()}\n"
        "sum(losses.values()).backward()\n"
    ),
    (
        "losses = model(inputs)\n"
        "for k in losses:\n"
        "    losses[k] = losses[k] / accum\n"
        "sum(losses.values()).backward()\n"
    ),
    (
        "losses = model(inputs)\n"
        'losses["a_loss"] /= accum\n'
        'losses["b_loss"] /= accum\n'
        'total = losses["a_loss"] + losses["b_loss"]\n'
        "total.backward()\n"
    ),
    ("loss, aux = model(inputs)\nloss, aux = loss / accum, aux / accum\n(loss + aux).backward()\n"),
    ('out = model(inputs)\nout["loss"].div_(accum)\nout["loss"].backward()\n'),
    ("out = model(inputs)\nout.loss.div_(accum)\nout.loss.backward()\n"),
    ("self.loss = model(inputs)\nself.loss = self.loss / accum\nself.loss.backward()\n"),
    ('out = {"loss": crit(model(inputs), targets) / accum}\nout["loss"].backward()\n'),
    ('out = {}\nout["loss"] = crit(model(inputs), targets) / accum\nout["loss"].backward()\n'),
    ('out = model(inputs)\nout["loss"] *= 1 / accum\nout["loss"].backward()\n'),
]
NOT_DIVIDED = [
    ('out = model(inputs)\nout["log_loss"] = out["loss"] / accum\nout["loss"].backward()\n'),
    ("out = model(inputs)\nout.logged = out.loss / accum\nout.loss.backward()\n"),
    ('out = model(inputs)\nother["loss"] = other["loss"] / accum\nout["loss"].backward()\n'),
    (
        "out = model(inputs)\n"
        'out["loss"] = out["loss"] / accum\n'
        "out = model(inputs)\n"
        'out["loss"].backward()\n'
    ),
    (
        "out = model(inputs)\n"
        'loss = out["loss"]\n'
        'out["loss"] = out["loss"] / accum\n'
        "loss.backward()\n"
    ),
    ("out = list(model(inputs))\nout[1] = out[1] / accum\nout[0].backward()\n"),
    ('out = model(inputs)\nout["loss"].backward()\nout["loss"] = out["loss"] / accum\n'),
    (
        "out = model(inputs)\n"
        'out["loss"] = out["loss"] / accum\n'
        'out["loss"] = crit(model(inputs))\n'
        'out["loss"].backward()\n'
    ),
]


def divided(body: str) -> object:
    indented = "".join(f"    {line}\n" for line in body.splitlines())
    source = Source("train.py", LOOP.format(body=indented.rstrip()))
    subject, failures = subject_of([source])
    assert failures == []
    assert "CL102" not in {result.code for result in lint_sources([source])}
    (fact,) = (fact for fact in subject.profile if fact.field == "accumulation.loss_divided")
    return fact.value


@pytest.mark.parametrize("body", DIVIDED)
def test_a_loss_that_is_divided_where_it_is_kept(body: str) -> None:
    assert divided(body) == "yes"


@pytest.mark.parametrize("body", NOT_DIVIDED)
def test_another_value_is_divided(body: str) -> None:
    assert divided(body) == "no"


def test_an_entry_that_a_function_differentiates() -> None:
    function = "def back(out):\n    out['loss'].backward()\n\n\n"
    text = LOOP.format(body="    out = model(inputs)\n    out['loss'] /= accum\n    back(out)")
    subject, _ = subject_of([Source("train.py", function + text)])
    (fact,) = (fact for fact in subject.profile if fact.field == "accumulation.loss_divided")
    assert fact.value == "yes"


def test_parts_of_a_tuple_that_are_divided_twice() -> None:
    body = (
        "    loss, aux = model(inputs)\n    loss, aux = loss / accum, aux / accum\n"
        "    loss, aux = loss / accum, aux\n    (loss + aux).backward()"
    )
    results = lint_sources([Source("train.py", LOOP.format(body=body))])
    assert [result.code for result in results] == ["CL102"]
