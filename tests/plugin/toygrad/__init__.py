"""A framework of one file: arrays of NumPy that know how to differentiate themselves."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

__version__ = "1.0"

Array = np.ndarray
Hook = Callable[[Array], Array | None]
full_like = np.full_like
_recording = True
_erf = np.vectorize(math.erf, otypes=[np.float64])


@contextmanager
def no_grad() -> Iterator[None]:
    """Note nothing for a backward."""
    global _recording
    before, _recording = _recording, False
    try:
        yield
    finally:
        _recording = before


class Tensor:
    """An array, and how it came about."""

    def __init__(
        self,
        data: Any,
        parents: Sequence[Tensor] = (),
        backward: Callable[[Array], Sequence[Array | None]] | None = None,
    ) -> None:
        self.data: Array = np.asarray(data, np.float32)
        known = _recording and any(parent.requires_grad for parent in parents)
        self.requires_grad: bool = known
        self.grad: Array | None = None
        self.hooks: list[Hook] = []
        self._parents = tuple(parents) if known else ()
        self._backward = backward if known else None

    def register_hook(self, hook: Hook) -> Handle:
        """Call a function with the gradient of every backward; what it returns replaces it."""
        self.hooks.append(hook)
        return Handle(self, hook)

    def item(self) -> float:
        """Return the one number."""
        return float(self.data)

    def backward(self) -> None:
        """Add the derivatives of this number to `grad` of the parameters."""
        gradients = {id(self): np.ones_like(self.data)}
        for tensor in reversed(_ordered(self)):
            gradient = gradients.pop(id(tensor))
            for hook in tensor.hooks:
                changed = hook(gradient)
                gradient = gradient if changed is None else changed
            if tensor._backward is None:
                tensor.grad = gradient if tensor.grad is None else tensor.grad + gradient
                continue
            for parent, own in zip(tensor._parents, tensor._backward(gradient), strict=True):
                if own is not None and parent.requires_grad:
                    whole = _fitting(np.asarray(own, np.float32), parent.data.shape)
                    known = gradients.get(id(parent))
                    gradients[id(parent)] = whole if known is None else known + whole

    def __add__(self, other: Any) -> Tensor:
        other = tensor_of(other)
        return Tensor(self.data + other.data, (self, other), lambda g: (g, g))

    def __mul__(self, other: Any) -> Tensor:
        a, b = self, tensor_of(other)
        return Tensor(a.data * b.data, (a, b), lambda g: (g * b.data, g * a.data))

    def __truediv__(self, number: float) -> Tensor:
        divisor = np.float32(number)
        return Tensor(self.data / divisor, (self,), lambda g: (g / divisor,))

    def __getitem__(self, index: Any) -> Tensor:
        def backward(gradient: Array) -> Sequence[Array]:
            whole = np.zeros_like(self.data)
            np.add.at(whole, index, gradient)
            return (whole,)

        return Tensor(self.data[index], (self,), backward)

    def sum(self) -> Tensor:
        """Return the sum of all numbers."""
        return Tensor(self.data.sum(), (self,), lambda g: (np.full_like(self.data, g),))

    def reshape(self, *shape: int) -> Tensor:
        """Return the same numbers in another shape."""
        return Tensor(self.data.reshape(shape), (self,), lambda g: (g.reshape(self.data.shape),))

    def transpose(self, first: int, other: int) -> Tensor:
        """Return the array with two axes exchanged."""
        return Tensor(
            self.data.swapaxes(first, other), (self,), lambda g: (g.swapaxes(first, other),)
        )


class Handle:
    """Takes a hook back."""

    def __init__(self, tensor: Tensor, hook: Hook) -> None:
        self._tensor, self._hook = tensor, hook

    def remove(self) -> None:
        """Take it back, once."""
        if self._hook in self._tensor.hooks:
            self._tensor.hooks.remove(self._hook)


class Parameter(Tensor):
    """A weight."""

    def __init__(self, data: Any) -> None:
        super().__init__(data)
        self.requires_grad = True


def tensor_of(value: Any) -> Tensor:
    """Return a number or an array as a tensor."""
    return value if isinstance(value, Tensor) else Tensor(value)


def _ordered(last: Tensor) -> list[Tensor]:
    """Return what a tensor came from, each behind all that it came from itself."""
    found: list[Tensor] = []
    seen: set[int] = set()
    work: list[tuple[Tensor, bool]] = [(last, False)]
    while work:
        tensor, done = work.pop()
        if done:
            found.append(tensor)
        elif id(tensor) not in seen:
            seen.add(id(tensor))
            work.append((tensor, True))
            work += [(parent, False) for parent in tensor._parents if parent.requires_grad]
    return found


def _fitting(gradient: Array, shape: tuple[int, ...]) -> Array:
    """Sum a gradient over the axes along which its tensor was repeated."""
    gradient = gradient.sum(tuple(range(gradient.ndim - len(shape))))
    repeated = tuple(n for n, size in enumerate(shape) if size == 1 and gradient.shape[n] != 1)
    return gradient.sum(repeated, keepdims=True) if repeated else gradient


def matmul(a: Tensor, b: Tensor) -> Tensor:
    """Return the product of the last two axes."""
    x, y = a.data, b.data
    return Tensor(x @ y, (a, b), lambda g: (g @ y.swapaxes(-1, -2), x.swapaxes(-1, -2) @ g))


def tanh(x: Tensor) -> Tensor:
    """Return the hyperbolic tangent."""
    y = np.tanh(x.data)
    return Tensor(y, (x,), lambda g: (g * (1 - y * y),))


def gelu(x: Tensor) -> Tensor:
    """Return x * P(X < x) for a normal X."""
    below = (0.5 * (1 + _erf(x.data / math.sqrt(2)))).astype(np.float32)
    slope = below + x.data * np.exp(-0.5 * x.data**2) / np.float32(math.sqrt(2 * math.pi))
    return Tensor(x.data * below, (x,), lambda g: (g * slope,))


def softmax(x: Tensor) -> Tensor:
    """Return shares along the last axis."""
    powers = np.exp(x.data - x.data.max(-1, keepdims=True))
    y = powers / powers.sum(-1, keepdims=True)
    return Tensor(y, (x,), lambda g: (y * (g - (g * y).sum(-1, keepdims=True)),))


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
    """Return the last axis with mean 0 and variance 1, times weight, plus bias."""
    centred = x.data - x.data.mean(-1, keepdims=True)
    inverse = 1 / np.sqrt((centred * centred).mean(-1, keepdims=True) + np.float32(eps))
    y = centred * inverse

    def backward(g: Array) -> Sequence[Array]:
        own = g * weight.data
        mean, along = own.mean(-1, keepdims=True), (own * y).mean(-1, keepdims=True)
        return inverse * (own - mean - y * along), g * y, g

    return Tensor(y * weight.data + bias.data, (x, weight, bias), backward)


def cross_entropy(logits: Tensor, labels: Array, reduction: str) -> Tensor:
    """Return the summed or mean loss of rows."""
    shifted = logits.data - logits.data.max(-1, keepdims=True)
    logs = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    rows = np.arange(len(labels))
    by = np.float32(len(labels) if reduction == "mean" else 1)

    def backward(g: Array) -> Sequence[Array]:
        slope = np.exp(logs)
        slope[rows, labels] -= 1
        return (g * slope / by,)

    return Tensor(-logs[rows, labels].sum() / by, (logits,), backward)


class Module:
    """Weights and modules, by the names of attributes."""

    def parameters(self, prefix: str = "") -> dict[str, Parameter]:
        """Return the weights below by their paths."""
        found: dict[str, Parameter] = {}
        for name, value in vars(self).items():
            parts = dict(enumerate(value)) if isinstance(value, list) else {"": value}
            for number, part in parts.items():
                path = f"{prefix}{name}" + (f".{number}" if isinstance(value, list) else "")
                if isinstance(part, Parameter):
                    found[path] = part
                elif isinstance(part, Module):
                    found |= part.parameters(f"{path}.")
        return found


class Linear(Module):
    """A dense layer; its kernel is (out, in)."""

    def __init__(self, inputs: int, outputs: int) -> None:
        self.weight = Parameter(np.zeros((outputs, inputs)))
        self.bias = Parameter(np.zeros(outputs))

    def __call__(self, x: Tensor) -> Tensor:
        return matmul(x, self.weight.transpose(0, 1)) + self.bias


class Embedding(Module):
    """A table of rows."""

    def __init__(self, rows: int, size: int) -> None:
        self.weight = Parameter(np.zeros((rows, size)))

    def __call__(self, index: Array) -> Tensor:
        return self.weight[index]


class LayerNorm(Module):
    """Normalization of the last axis."""

    def __init__(self, size: int, eps: float) -> None:
        self.weight, self.bias = Parameter(np.ones(size)), Parameter(np.zeros(size))
        self.eps = eps

    def __call__(self, x: Tensor) -> Tensor:
        return layer_norm(x, self.weight, self.bias, self.eps)


class AdamW:
    """Adam with decoupled decay; groups are pairs of weights and their decay."""

    def __init__(
        self,
        groups: Sequence[tuple[Sequence[Parameter], float]],
        betas: tuple[float, float],
        eps: float,
    ) -> None:
        self.groups, self.betas, self.eps = groups, betas, eps
        self.rate, self.steps = 0.0, 0
        self.state: dict[Parameter, dict[str, Array]] = {}

    def step(self) -> None:
        """Move the weights by their gradients."""
        self.steps += 1
        first, second = self.betas
        mean_share, square_share = 1 - first**self.steps, 1 - second**self.steps
        for weights, decay in self.groups:
            for weight in weights:
                if weight.grad is None:
                    continue
                slots = self.state.setdefault(
                    weight, {name: np.zeros_like(weight.data) for name in ("exp_avg", "exp_avg_sq")}
                )
                mean = slots["exp_avg"] = first * slots["exp_avg"] + (1 - first) * weight.grad
                square = second * slots["exp_avg_sq"] + (1 - second) * weight.grad**2
                slots["exp_avg_sq"] = square
                root = np.sqrt(square) / math.sqrt(square_share) + self.eps
                kept = weight.data * (1 - self.rate * decay)
                weight.data = kept - self.rate / mean_share * mean / root


def clip_grad_norm(weights: Sequence[Parameter], most: float, eps: float) -> float:
    """Scale all gradients so that their norm is `most` at most; return what it was."""
    found = [w.grad for w in weights if w.grad is not None]
    norm = math.sqrt(sum(float(np.square(array, dtype=np.float64).sum()) for array in found))
    factor = np.float32(most / (norm + eps) if norm + eps > most else 1.0)
    for weight in weights:
        if weight.grad is not None:
            weight.grad = weight.grad * factor
    return norm
