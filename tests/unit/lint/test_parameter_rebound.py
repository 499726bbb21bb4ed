"""Loops over parameters that change only their own variable (CL519)."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources
from reading_helpers.lint_results import codes

LOOP = """
import paddle
optimizer = paddle.optimizer.SGD(0.1, parameters=net.parameters())

def perturb(model, other, kept, share):
    for {loop}
    return {result}
"""
OVER = "p in model.parameters(): "
NAMED = "name, p in model.named_parameters(): "


@pytest.mark.parametrize(
    ("loop", "found"),
    [
        (f"{OVER}p = p * share", True),
        (f"{OVER}p += share * p.grad", True),
        (f"{OVER}p = p.add(share)", True),
        (f"{NAMED}p = kept[name]", True),
        ("i, p in enumerate(model.parameters()): p = kept[i]", True),
        ("p, q in zip(other.parameters(), model.parameters()): p = p * share + q", True),
        ("p in list(model.parameters()): p = p - share", True),
        (f"{OVER}share = p.norm(); p = p * share", True),
        (f"{OVER}p = p * share; kept = [p for p in kept]", True),
        (f"{OVER}p.set_value(p * share)", False),
        (f"{OVER}p.grad = p.grad * share", False),
        (f"{OVER}p = p * share; kept.append(p)", False),
        (f"{OVER}p = p.cuda()", False),
        (f"{OVER}p = p.data", False),
        (f"{OVER}p = None", False),
        (f"{OVER}p = paddle.assign(p * share, output=p)", False),
        (f"{OVER}q = p * share", False),
        (f"{NAMED}name = 'a.' + name", False),
        ("p in kept: p = p * share", False),
    ],
)
def test_values_that_are_lost(loop: str, found: bool) -> None:
    text = LOOP.format(loop=loop, result="share")
    assert ("CL519" in codes(text)) is found
    assert "CL519" not in codes(text.replace("return share", "return p"))
    assert "CL519" not in codes(text.replace("return share", "return locals()"))


def test_other_libraries_add_in_place() -> None:
    text = (
        LOOP.format(loop=f"{OVER}p += share", result="share")
        .replace("paddle.optimizer", "torch.optim")
        .replace("paddle", "torch")
    )
    assert "CL519" not in codes(text)
    assert "CL519" in codes(text.replace("p += share", "p = p + share"))


def test_another_loop_over_the_same_name() -> None:
    text = LOOP.format(loop=f"{OVER}p = p * share", result="[p.name for p in model.parameters()]")
    assert "CL519" in codes(text)
    assert "CL519" in codes(text.replace("return", f"for {OVER}print(p.name)\n    return"))


def test_a_function_is_named_where_it_is_called() -> None:
    text = LOOP.format(loop=f"{OVER}p = p * share", result="None")
    found = lint_sources([Source("train.py", f"{text}\nperturb(a, b, c, 0.1)\n")])
    lines = [(each.span and each.span.line, len(each.related)) for each in found]
    assert lines == [(9, 1)]
