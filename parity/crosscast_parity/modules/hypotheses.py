"""Known differences as data: what a step would return with each choice.

A row says which steps it explains and yields the results of all its choices. The choice whose
result is what was recorded names what a framework does; two frameworks that do different things
have a known difference.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from crosscast_parity.modules import formulas
from crosscast_parity.modules.kinds import WORDS
from crosscast_parity.modules.steps import Step

Choices = Iterator[tuple[str, np.ndarray]]
EPSILONS = (1e-5, 1e-3, 1e-6, 1e-12, 1e-8, 1e-7, 1e-4, 1e-2, 0.0)
SLOPES = (0.01, 0.2, 0.3, 0.1)
MASKS = ("none", "causal", "strictly causal", "one token ahead")
HEADS = (1, 2, 3, 4, 6, 8, 12, 16)


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A kind of difference. `choices` yields nothing for a step that it does not know; it is asked
    about steps that got something."""

    kind: str
    choices: Callable[[Step], Choices]


def paddings(step: Step) -> Choices:
    """Yield a convolution with each padding that gives the shape.

    Zeros around the input are padding, too: a layer before the convolution may have added them.
    """
    kernels = step.tensors.get("kernel", ())
    if step.group != "convolution" or len(kernels) != 1:
        return
    if kernels[0].ndim != 4 or step.x[0].ndim != 4:
        return
    (x, given), kernel, stride = _stripped(step.x[0]), kernels[0], step.setting("stride", 1)
    if step.setting("dilation", 1) != (1, 1) or x.shape[1] % kernel.shape[1]:
        return
    bias = step.tensors.get("bias", (np.zeros(kernel.shape[0]),))[0].reshape(1, -1, 1, 1)
    if bias.size != kernel.shape[0]:  # of a transposed convolution, whose kernel is [in, out, …]
        return
    groups = x.shape[1] // kernel.shape[1]
    named = _pads(x.shape[2:], kernel.shape[2:], stride)
    named["as the layer before has padded"] = given
    for name, pads in _fitting(named, x.shape[2:], kernel.shape[2:]):
        yield name, formulas.convolution(x, kernel, stride, pads, groups) + bias


def _stripped(x: np.ndarray) -> tuple[np.ndarray, formulas.Pads]:
    """Return images without the zeros around them, and how many there were."""
    pads = []
    for axis in (2, 3):
        full = np.flatnonzero(np.abs(x).max(tuple(n for n in range(4) if n != axis)))
        if not len(full):
            return x, [(0, 0), (0, 0)]
        pads.append((int(full[0]), int(x.shape[axis] - 1 - full[-1])))
    (top, bottom), (left, right) = pads
    return x[:, :, top : x.shape[2] - bottom, left : x.shape[3] - right], pads


def _pads(
    shape: tuple[int, ...], size: tuple[int, ...], stride: tuple[int, int]
) -> dict[str, formulas.Pads]:
    same = list(formulas.same_pads(shape, size, stride))
    return {
        "all sides": [(k // 2, k // 2) for k in size],
        "more at the end (`same`)": same,
        "more at the beginning": [(b, a) for a, b in same],
        "none": [(0, 0) for _ in size],
    }


def _fitting(
    named: Mapping[str, formulas.Pads], shape: tuple[int, ...], size: tuple[int, ...]
) -> Iterator[tuple[str, formulas.Pads]]:
    """Yield paddings with which the window fits at least once."""
    for name, pads in named.items():
        if all(n + sum(pad) >= k for n, pad, k in zip(shape, pads, size, strict=True)):
            yield name, pads


def pools(step: Step) -> Choices:
    """Yield pooling of each kind with each padding."""
    if step.group not in ("average pool", "max pool") or step.x[0].ndim != 4:
        return
    x, size = step.x[0], step.setting("kernel_size", 2)
    stride = step.setting("stride", size[0])
    given = {"": [(p, p) for p in step.setting("padding", 0)]}
    pads = _fitting({**given, **_pads(x.shape[2:], size, stride)}, x.shape[2:], size)
    if step.group == "max pool":
        for name, chosen in pads:
            yield (
                f"maxima, padding {name}".strip(),
                formulas.pooled(x, size, stride, chosen, kind="max"),
            )
        return
    for name, chosen in pads:
        where = f", {name}" if name else ""
        for kind, words in (("all", "counts padding"), ("real", "does not count padding")):
            yield f"{words}{where}", formulas.pooled(x, size, stride, chosen, kind=kind)


def resizes(step: Step) -> Choices:
    """Yield images resized by each rule."""
    if step.group != "resize" or (step.x[0].ndim, step.y.ndim) != (4, 4):
        return
    sizes = step.y.shape[2:]
    yield "bilinear, half-pixel centers", formulas.resized(step.x[0], sizes, "half pixel")
    yield "bilinear, aligned corners", formulas.resized(step.x[0], sizes, "corners")
    yield "bilinear, asymmetric", formulas.resized(step.x[0], sizes, "asymmetric")
    yield "nearest", formulas.resized(step.x[0], sizes, "nearest")


def batch_norms(step: Step) -> Choices:
    """Yield batch normalization by running statistics with each epsilon, and by the batch's."""
    found = [step.tensors.get(role, ()) for role in ("mean", "variance")]
    if any(len(arrays) != 1 for arrays in found) or "kernel" in step.tensors:
        return
    x = step.x[0].astype(np.float64)
    shape = [1, -1, *[1] * (x.ndim - 2)]
    if x.ndim < 2 or x.shape[1] != found[0][0].size:
        return
    mean, variance = (arrays[0].astype(np.float64).reshape(shape) for arrays in found)
    scale, shift = _affine(step, x.shape[1])
    if {scale.size, shift.size} != {x.shape[1]}:
        return
    for eps in EPSILONS:
        y = formulas.normalized(x, mean, variance, eps)
        yield f"{eps:g}", y * scale.reshape(shape) + shift.reshape(shape)
    axes = (0, *range(2, x.ndim))
    y = formulas.normalized(x, x.mean(axes, keepdims=True), x.var(axes, keepdims=True), 1e-5)
    yield "statistics of the batch", y * scale.reshape(shape) + shift.reshape(shape)


def layer_norms(step: Step) -> Choices:
    """Yield layer normalization with each epsilon, and with other variances."""
    if step.group == "" or set(step.tensors) - {"scale", "bias"} or "scale" not in step.tensors:
        return
    x = step.x[0].astype(np.float64)
    if len(step.tensors["scale"]) != 1 or x.shape[-1] != step.tensors["scale"][0].size:
        return
    scale, shift = _affine(step, x.shape[-1])
    if shift.size != x.shape[-1]:
        return
    mean = x.mean(-1, keepdims=True)
    for eps in EPSILONS:
        variance = x.var(-1, keepdims=True)
        yield f"{eps:g}", formulas.normalized(x, mean, variance, eps) * scale + shift
    for eps in EPSILONS:
        unbiased = x.var(-1, keepdims=True, ddof=1)
        y = formulas.normalized(x, mean, unbiased, eps)
        yield f"{eps:g}, unbiased variance", y * scale + shift
        y = (x - mean) / (x.std(-1, keepdims=True, ddof=1) + eps)
        yield f"{eps:g} beside the deviation", y * scale + shift


def _affine(step: Step, size: int) -> tuple[np.ndarray, np.ndarray]:
    scale = step.tensors.get("scale", (np.ones(size),))[0]
    shift = step.tensors.get("bias", (np.zeros(size),))[0]
    return scale.astype(np.float64), shift.astype(np.float64)


def activations(step: Step) -> Choices:
    """Yield what each activation makes of the last result."""
    x = _before_activation(step)
    if x is None or x.shape != step.y.shape:
        return
    yield "GELU by erf", formulas.gelu_erf(x)
    yield "GELU by tanh", formulas.gelu_tanh(x)
    yield "GELU by sigmoid", x * formulas.sigmoid(1.702 * x)
    yield "ReLU", np.maximum(x, 0)
    yield "SiLU", x * formulas.sigmoid(x)
    yield "tanh", np.tanh(x)
    yield "sigmoid", formulas.sigmoid(x)
    yield "ELU", np.where(x > 0, x, np.expm1(np.minimum(x, 0)))
    yield "ReLU6", np.clip(x, 0, 6)
    yield "none", x
    for slope in SLOPES:
        yield f"leaky ReLU of {slope:g}", np.where(x > 0, x, slope * x)


def _before_activation(step: Step) -> np.ndarray | None:
    """Return what an activation gets: the last result, or what a dense layer with one computes."""
    x = step.x[0].astype(np.float64)
    kernels, biases = step.tensors.get("kernel", ()), step.tensors.get("bias", ())
    if step.group not in ("", "activation", "dense") and step.group in WORDS:
        return None
    if not step.tensors:
        return x
    if set(step.tensors) - {"kernel", "bias"} or len(kernels) != 1 or len(biases) > 1:
        return None
    (kernel,) = kernels
    if kernel.ndim != 2 or x.shape[-1] != kernel.shape[1]:
        return None
    found: np.ndarray = x @ kernel.T.astype(np.float64) + (biases[0] if biases else 0.0)
    return found


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
        for (name, scale), mask in itertools.product(scales.items(), MASKS):
            text = f"scale {name}, mask {mask}"
            weighted = formulas.attention(query, key, value, scale=scale, mask=mask)
            if step.y.ndim == 4:  # heads apart
                if step.y.shape == weighted.shape:
                    yield text, weighted
                eye = np.broadcast_to(
                    np.eye(value.shape[2]), (*value.shape[:2], *[value.shape[2]] * 2)
                )
                if step.y.shape == eye.shape:
                    yield text, formulas.attention(query, key, eye, scale=scale, mask=mask)
            else:
                yield text, np.swapaxes(weighted, 1, 2).reshape(step.y.shape)


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
    if any(len(found) != len(ih) for found in biases) or step.x[0].ndim != 3:
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


def scaled(step: Step) -> Choices:
    """Yield the last result times a factor."""
    if step.group != "" or step.x[0].shape != step.y.shape or not step.y.ndim:
        return
    width = step.x[0].shape[-1]
    for name, factor in (
        ("1", 1.0),
        ("sqrt(width)", math.sqrt(width)),
        ("1/sqrt(width)", width**-0.5),
    ):
        yield f"times {name}", step.x[0].astype(np.float64) * factor


TABLE = (
    Hypothesis("padding of a convolution", paddings),
    Hypothesis("pooling that counts padding", pools),
    Hypothesis("resizing", resizes),
    Hypothesis("epsilon of BatchNorm", batch_norms),
    Hypothesis("epsilon of LayerNorm", layer_norms),
    Hypothesis("activation", activations),
    Hypothesis("attention", attentions),
    Hypothesis("order of gates", lstms),
    Hypothesis("a factor", scaled),
)
