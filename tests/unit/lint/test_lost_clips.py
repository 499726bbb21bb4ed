"""Clips written by hand whose results are lost (CL304)."""

from __future__ import annotations

import pytest

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources

from .lint_results import code_lines, codes

CLIP = """
import paddle

def clip_gradients(parameters, limit):
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = paddle.norm(paddle.stack([paddle.norm(each) for each in gradients]))
    coef = paddle.clip(limit / (norm + 1e-6), max=1.0)
    {loop}
    return norm

loss.backward()
clip_gradients(model.parameters(), 1.0)
"""


@pytest.mark.parametrize(
    ("loop", "found"),
    [
        ("for g in gradients: g = g * coef", True),
        ("for g in gradients: g = g.detach().multiply(coef)", True),
        ("for g in gradients: g = paddle.multiply(g, coef)", True),
        ("for _, g in named_gradients: g = g * coef", True),
        ("for p in parameters: g = p.grad; g = g * coef", True),
        ("for p in parameters: g = p.grad; g = coef * g; p.grad = g", False),
        ("for p in parameters: g = p.grad; p.grad = g * coef", False),
        ("for p in parameters: p.grad.set_value(p.grad * coef)", False),
        ("for g in gradients: g.multiply_(coef)", False),
        ("for g in gradients: g = g.multiply_(coef)", False),
        ("for g in gradients: g *= coef", True),
        ("for g in gradients: g += coef", False),
        ("for g in gradients: g *= coef; out.append(g)", False),
        ("for g in gradients: paddle.assign(g * coef, output=g); g = g * coef", False),
        ("for g in gradients: g = g * coef; out.append(g)", False),
        ("for g in gradients: out.append(g); g = g * coef", False),
        ("for g in gradients: g = g + coef", False),
        ("for g in gradients: total = g * coef", False),
        ("gradients = [g * coef for g in gradients]", False),
    ],
)
def test_gradients_bound_to_a_name(loop: str, found: bool) -> None:
    assert ("CL304" in codes(CLIP.format(loop=loop))) is found


def test_a_name_that_is_read_later() -> None:
    text = CLIP.format(loop="for g in gradients: g = g * coef")
    assert "CL304" not in codes(text.replace("return norm", "return g"))
    assert "CL304" not in codes(text.replace("clip_gradients", "report"))


def test_a_clip_of_another_file_is_found_where_it_is_called() -> None:
    text = CLIP.format(loop="for g in gradients: g = g * coef")
    assert code_lines(text) == ["CL304:12"]
    helper, _, main = text.partition("loss.backward()")
    sources = [
        Source("train.py", f"from clips import clip_gradients\nloss.backward(){main}"),
        Source("clips.py", helper),
    ]
    found = [each for each in lint_sources(sources) if each.code == "CL304"]
    assert [(each.span.file, each.span.line) for each in found if each.span] == [("train.py", 3)]


def test_where_a_product_changes_the_gradient_itself() -> None:
    text = CLIP.format(loop="for g in gradients: g *= coef")
    assert "CL304" not in codes(text.replace("paddle", "torch"))
