"""What attention and recurrent layers would return with each choice."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from crosscast_parity.modules import formulas
from crosscast_parity.modules.steps import Step

Choices = Iterator[tuple[str, np.ndarray]]
MASKS = ("none", "causal", "strictly causal", "one token ahead")
NEAR = 1e-4
"""Relative difference up to which a scale explains what was recorded."""
HEADS = (1, 2, 3, 4, 6, 8, 12, 16)


def attentions(step: Step) -> Choices:
    """Yield attention with each scale and mask, from packed or separate projections."""
    if step.group != "":
        return
    for heads, (query, key, value) in _projections(step):
        size, width = query.shape[-1], query.shape[-1] * heads
        scales = {
            "1/sqrt(head)": size**-0.5,
            "1": 1.0,
            "1/sqrt(width)": width**-0.5,
            "1/head": 1 / size,
        }
        for mask in MASKS:
            best = _best_scale(step, query, key, value, mask)
            tried = scales if best is None else {**scales, f"{best:.4g}": best}
            for name, scale in tried.items():
                for y in _mixed(step, query, key, value, scale, mask):
                    yield f"scale {name}, mask {mask}", y


def _mixed(
    step: Step, query: np.ndarray, key: np.ndarray, value: np.ndarray, scale: float, mask: str
) -> Iterator[np.ndarray]:
    """Yield the attended values in the shape of the recorded ones, or the attention weights."""
    weighted = formulas.attention(query, key, value, scale=scale, mask=mask)
    if step.y.ndim == 4:  # heads apart
        if step.y.shape == weighted.shape:
            yield weighted
        eye = np.broadcast_to(np.eye(value.shape[2]), (*value.shape[:2], *[value.shape[2]] * 2))
        if step.y.shape == eye.shape:
            yield formulas.attention(query, key, eye, scale=scale, mask=mask)
    else:
        yield np.swapaxes(weighted, 1, 2).reshape(step.y.shape)


def _best_scale(
    step: Step, query: np.ndarray, key: np.ndarray, value: np.ndarray, mask: str
) -> float | None:
    """Return the scale whose result is next to what was recorded, by ever finer steps.

    None if none comes near: then heads or mask are others.
    """

    def far(scale: float) -> float:
        results = _mixed(step, query, key, value, scale, mask)
        return min((float(np.abs(y - step.y).max()) for y in results), default=float("inf"))

    size = query.shape[-1] ** -0.5
    best, width = size, 8.0
    for _ in range(9):
        tried = [best * width ** (n / 4) for n in range(-4, 5)]
        best, width = min(tried, key=far), width**0.3
    return best if far(best) <= NEAR * float(np.abs(step.y).max(initial=0)) else None


def _projections(step: Step) -> Iterator[tuple[int, list[np.ndarray]]]:
    """Yield numbers of heads with query, key and value as [rows, heads, tokens, size]."""
    x = step.x[0].astype(np.float64)
    if x.ndim != 3:
        return
    rows, tokens, width = x.shape
    three = [a.astype(np.float64) for a in step.x[2::-1]]
    if (
        step.y.shape == (rows, tokens, width)
        and len({a.shape for a in three}) == 1
        and len(three) == 3
    ):
        heads_of = [a for a in HEADS if width % a == 0]
        packed = three
    elif width % 3 == 0:
        packed = np.split(x, 3, -1)
        heads_of = [a for a in HEADS if width // 3 % a == 0]
    else:
        return
    if step.y.ndim == 4:
        heads_of = [step.y.shape[1]] if step.y.shape[1] in heads_of else []
    elif step.y.size != packed[0].size:
        return
    for heads in heads_of:
        yield heads, [a.reshape(rows, tokens, heads, -1).transpose(0, 2, 1, 3) for a in packed]


def lstms(step: Step) -> Choices:
    """Yield LSTMs with each order of gates, in all layers or in one of them."""
    if step.group not in ("lstm", "rnn") and "kernel_ih" not in step.tensors:
        return
    ih, hh = step.tensors.get("kernel_ih", ()), step.tensors.get("kernel_hh", ())
    if not ih or len(ih) != len(hh) or any(a.shape[0] != 4 * a.shape[1] for a in hh):
        return
    zero = tuple(np.zeros(len(a)) for a in ih)
    biases = [step.tensors.get(role, zero) for role in ("bias_ih", "bias_hh")]
    if any(len(arrays) != len(ih) for arrays in biases) or step.x[0].ndim != 3:
        return
    widths = [step.x[0].shape[-1], *(a.shape[1] for a in hh)]
    if any(a.shape[1] != width for a, width in zip(ih, widths, strict=False)):
        return  # both directions of one layer, say
    usual = (0, 1, 2, 3)
    orders = list(itertools.permutations(usual))
    chosen = [(order,) * len(ih) for order in orders]
    chosen += [
        tuple(order if n == k else usual for n in range(len(ih)))
        for k in range(len(ih))
        for order in orders[1:]
        if len(ih) > 1
    ]
    for gates in chosen:
        x = step.x[0].astype(np.float64)
        for k, order in enumerate(gates):
            x = formulas.lstm(x, ih[k], hh[k], biases[0][k] + biases[1][k], order)
        yield _gates_text(gates), x[:, -1] if step.y.ndim == 2 else x
    x = step.x[0].astype(np.float64)
    for k in range(len(ih)):
        x = formulas.lstm(x, ih[k], hh[k], biases[0][k], usual)
    yield "i, f, c, o, the first bias only", x[:, -1] if step.y.ndim == 2 else x


def _gates_text(gates: tuple[tuple[int, ...], ...]) -> str:
    def text(order: tuple[int, ...]) -> str:
        letters = [""] * 4
        for letter, block in zip("ifco", order, strict=True):
            letters[block] = letter
        return ", ".join(letters)

    if len(set(gates)) == 1:
        return text(gates[0])
    return "; ".join(f"layer {n}: {text(order)}" for n, order in enumerate(gates))
