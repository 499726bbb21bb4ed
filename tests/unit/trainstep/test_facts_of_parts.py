"""What the reader of training loops says of loops over chunks, devices and settings."""

from __future__ import annotations

import pytest

from reading_helpers.loop_facts import HEAD, facts, words

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
