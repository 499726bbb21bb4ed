"""How the numbers of training loops are written: flags, configurations, parameters."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lift.analysis import analyse

LOOP = """\
import torch
from elsewhere import model, loader, load, parse

{before}

def train(opt, bound: float = 1.0):
    for i, (x, y) in enumerate(loader):
        loss = torch.nn.functional.cross_entropy(model(x), y) / {steps}
        loss.backward()
        if (i + 1) % {steps} == 0:
            torch.nn.utils.clip_grad_norm_(model.parameters(), {limit})
            opt.step()
            opt.zero_grad()


try:
    train(torch.optim.SGD(model.parameters(), lr=0.1))
except RuntimeError:
    train(torch.optim.SGD(model.parameters(), lr=0.1))
"""


@pytest.mark.parametrize(
    ("before", "steps", "limit", "origins"),
    [
        ("args = parse()", "args.every", "args.clip", ("flag", "flag")),
        ("args = parse()", "args.every[0]", "2.0", ("flag", "literal")),
        ("config = load()", "config.TRAIN.EVERY", "config.TRAIN.CLIP", ("config", "config")),
        ("params = load()", "params['every']", "abs(params['clip'])", ("config", "config")),
        ("thing = load()", "thing.every", "thing.clip", ("derived", "derived")),
        ("EVERY = 4", "EVERY", "bound", ("constant", "function_argument")),
    ],
)
def test_the_origin_is_where_a_user_would_change_it(
    before: str, steps: str, limit: str, origins: tuple[str, str]
) -> None:
    text = LOOP.format(before=before, steps=steps, limit=limit)
    settled = analyse([Source("train.py", text)]).settled
    found = tuple(
        settled[name, ""].fact.origin for name in ("accumulation.steps", "clipping.value")
    )
    assert found == origins
