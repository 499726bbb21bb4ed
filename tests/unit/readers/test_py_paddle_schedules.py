"""A learning rate that a formula of a Paddle program sets."""

from __future__ import annotations

import pytest

from reading_helpers.program_facts import values_of

BY_HAND = """
    import argparse, math
    import paddle

    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=float, default=4e-4)
    args = parser.parse_args()

    def rate_at(step, total, peak):
        return peak / 10 + 0.45 * peak * (1 + math.cos(math.pi * step / total))

    optimizer = paddle.optimizer.AdamW(args.rate, parameters=model.parameters())
    length = len(loader)
    for epoch in range(3):
        for step, batch in enumerate(loader):
            rate = rate_at(epoch * length + step, 3 * length, args.rate)
            optimizer.set_lr(rate)
            model(batch).backward()
            optimizer.step()
            optimizer.clear_grad()
"""


def test_a_rate_that_a_formula_sets() -> None:
    found = values_of(BY_HAND)
    assert found["schedule.name"] == "cosine"
    assert found["schedule.end_factor"] == pytest.approx(0.1)
    assert found["schedule.peak"] == pytest.approx(4e-4)
