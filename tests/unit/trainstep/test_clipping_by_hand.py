"""Gradients that programs clip by formulas of their own."""

from __future__ import annotations

import pytest

from reading_helpers.loop_facts import facts, words

LOOP = """
def train():
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward()
        {clip}
        opt.step()
        opt.zero_grad()
train()
"""
PER_TENSOR = """
def clip_gradients(model, clip):
    norms = []
    for name, p in model.named_parameters():
        if p.grad is not None:
            norm = p.grad.data.norm(2)
            norms.append(norm.item())
            factor = clip / (norm + 1e-6)
            if factor < 1:
                p.grad.data.mul_(factor)
    return norms
"""
WHOLE = """
def limit(parameters, largest):
    total = 0.0
    for p in parameters:
        total += p.grad.data.norm(2).item() ** 2
    total = total ** (1.0 / 2)
    factor = largest / (total + 1e-6)
    if factor < 1:
        for p in parameters:
            p.grad.data.mul_(factor)
"""


def clips(function: str, call: str) -> dict[str, object]:
    found = words(facts(function + LOOP.replace("{clip}", call)))
    return {k: v for k, v in found.items() if k in ("clipping.kind", "clipping.value")}


def test_the_norm_of_each_tensor() -> None:
    found = clips(PER_TENSOR, "clip_gradients(model, 3.0)")
    assert found == {"clipping.kind": "per_param_norm", "clipping.value": 3.0}


def test_the_norm_of_all_tensors() -> None:
    found = clips(WHOLE, "limit(model.parameters(), args.clip)")
    assert found == {"clipping.kind": "global_norm", "clipping.value": 1.0}


@pytest.mark.parametrize(
    "change",
    [
        ("p.grad.data.mul_(factor)", "p.grad *= factor"),
        ("p.grad.data.mul_(factor)", "p.grad = p.grad * factor"),
        ("p.grad.data.mul_(factor)", "p.grad.data = factor * p.grad.data"),
        ("factor = largest / (total + 1e-6)", "factor = min(1.0, largest / (total + 1e-6))"),
        ("total = total ** (1.0 / 2)", "total = total ** 0.5"),
        ("total = total ** (1.0 / 2)", "total = math.sqrt(total)"),
    ],
)
def test_other_ways_to_write_it(change: tuple[str, str]) -> None:
    assert clips(WHOLE.replace(*change), "limit(model.parameters(), 2.0)") == {
        "clipping.kind": "global_norm",
        "clipping.value": 2.0,
    }


@pytest.mark.parametrize(
    "body",
    [
        "for p in model.parameters():\n            p.grad.mul_(1 / world)",
        "for p in model.parameters():\n            p.grad *= 1.0 / args.accum",
        "for p in model.parameters():\n            p.grad = p.grad * mask[p]",
        "for p in model.parameters():\n            p.data.mul_(1.0 / p.norm())",
    ],
)
def test_gradients_that_are_scaled_and_not_clipped(body: str) -> None:
    assert clips("", body) == {}


def test_a_norm_that_is_only_divided_by_is_no_kind_of_clipping() -> None:
    body = "for p in model.parameters():\n            p.grad.mul_(1.0 / p.grad.norm())"
    assert "clipping.kind" not in clips("", body)


def test_the_name_of_a_function_does_not_decide() -> None:
    function = PER_TENSOR.replace("clip_gradients", "clip_grad_norm_")
    assert clips(function, "clip_grad_norm_(model, 3.0)")["clipping.kind"] == "per_param_norm"
