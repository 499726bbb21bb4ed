"""Half precision where a processor has no half kernels: which operation rounds what.

Tensors keep their half types; an operation on them is computed in float32 between two casts,

    cast(operation(cast(x, float32), ...), half)

so it sums in float32 and rounds its result once. Backward, the same casts round the gradients:
beyond the range of the type they become inf, below it 0. Without a half input nothing changes.

Standard library only: the file travels with `runner.py` into the interpreter of any framework.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Protocol

HALF = ("float16", "bfloat16")

# The classes are those of `precision.ops` in a recipe. What is in none of them moves data (reshape,
# transpose, indexing, cast) or does not occur in the shipped models, and is left to the framework.
CONVOLUTIONS = {f"conv{kind}{n}d" for kind in ("", "_transpose") for n in (1, 2, 3)}
PRODUCTS = {"linear", "matmul", "mm", "bmm", "addmm", "baddbmm", "einsum", "tensordot"}
RECURRENT = {"lstm", "gru", "rnn_tanh", "rnn_relu"}
MATMUL = frozenset(PRODUCTS | CONVOLUTIONS | RECURRENT | {"scaled_dot_product_attention"})
"""What autocast runs in half: its float32 inputs are rounded to half first."""
ARITHMETIC = {"add", "sub", "subtract", "mul", "multiply", "div", "divide", "true_divide"}
FUNCTIONS = {"pow", "square", "exp", "log", "sqrt", "rsqrt", "dropout", "bias_add"}
ACTIVATIONS = {"gelu", "relu", "silu", "sigmoid", "tanh"}
POINTWISE = frozenset(ARITHMETIC | FUNCTIONS | ACTIVATIONS)
"""Half only if all its inputs are; one float32 input makes the result float32."""
AVERAGES = {"sum", "mean", "logsumexp", "norm"}
NORMALIZATIONS = {"layer_norm", "batch_norm", "group_norm", "instance_norm", "rms_norm"}
REDUCTIONS = frozenset(AVERAGES | NORMALIZATIONS | {"softmax", "log_softmax"})
POOLS = frozenset(f"{kind}_pool{n}d" for kind in ("avg", "max", "adaptive_avg") for n in (1, 2, 3))
EMBEDDINGS = frozenset({"embedding"})
LOSSES = frozenset({"cross_entropy", "cross_entropy_with_softmax", "nll_loss", "mse_loss"})
BY_FIRST_INPUT = REDUCTIONS | EMBEDDINGS | LOSSES | POOLS | {"pool2d", "pool3d"}
"""Half if its first float input is; the weights of a LayerNorm may stay float32."""

_without_autocast = False


@contextlib.contextmanager
def without_autocast(on: bool) -> Iterator[None]:
    """Run what a script's autocast, or its Keras policy, has in half precision in float32.

    The script's own casts to half stay.
    """
    global _without_autocast
    _without_autocast = on
    try:
        yield
    finally:
        _without_autocast = False


def autocasts() -> bool:
    """Whether the script's autocast has an effect."""
    return not _without_autocast


class Tensors(Protocol):
    """What the policy must be able to ask a framework."""

    def kind(self, value: Any) -> str | None:
        """Return `float32`, `float16` or `bfloat16`; None for anything else."""

    def cast(self, value: Any, kind: str) -> Any:
        """Return the tensor in another type; backward, its gradient is cast back."""

    def casts_to(self, name: str) -> str | None:
        """Return the type to which the script's autocast casts what an operation gets, if any."""

    def compute(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Call a function while the framework's own autocast, if there is any, is off."""


def call(
    tensors: Tensors,
    name: str,
    function: Callable[..., Any],
    args: Iterable[Any],
    kwargs: Mapping[str, Any],
) -> Any:
    """Call an operation of a framework as the policy says.

    Args:
        tensors: the framework.
        name: what the operation is called in the classes above.
        function: computes it in float32.
        args: its arguments; tensors may stand in a list or tuple.
        kwargs: its arguments by name.
    """
    args = tuple(args)
    kinds = [kind for kind in map(tensors.kind, flat((args, kwargs))) if kind]
    cast = tensors.casts_to(name) if kinds else None
    if cast in HALF and not autocasts():
        cast = "float32"
    target = cast or _rounded_to(name, kinds)
    if target is None or kwargs.get("dtype") is not None:
        return function(*args, **kwargs)

    named = (kwargs.get("input"), kwargs.get("x"))
    first = next((value for value in (*args, *named) if tensors.kind(value)), None)

    def lower(value: Any) -> Any:
        kind = tensors.kind(value)
        if kind is None:
            return value
        weight = name in NORMALIZATIONS and value is not first  # which autocast leaves alone
        if cast and kind != target and not weight:
            value = tensors.cast(value, target)
        return tensors.cast(value, "float32")

    result = tensors.compute(function, _mapped(lower, args), _mapped(lower, kwargs))
    if target == "float32":
        return result

    def rounded(value: Any) -> Any:
        return tensors.cast(value, target) if tensors.kind(value) == "float32" else value

    return _mapped(rounded, result)


def _rounded_to(name: str, kinds: list[str]) -> str | None:
    """The type of the result without a cast; None if the operation is not one of ours here."""
    halves = [kind for kind in kinds if kind in HALF]
    if not halves or name not in MATMUL | POINTWISE | BY_FIRST_INPUT:
        return None
    if name in BY_FIRST_INPUT:
        return kinds[0]
    return halves[0] if len(set(kinds)) == 1 else "float32"


def flat(value: Any) -> Iterator[Any]:
    """Yield the leaves of nested lists, tuples and dictionaries."""
    if isinstance(value, list | tuple):
        for part in value:
            yield from flat(part)
    elif isinstance(value, dict):
        yield from flat(list(value.values()))
    else:
        yield value


def _mapped(change: Callable[[Any], Any], value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)([_mapped(change, part) for part in value])
    if isinstance(value, dict):
        return {key: _mapped(change, part) for key, part in value.items()}
    return change(value)


def install(inside: str) -> Callable[[Any], None]:
    """Emulate half precision in this process from now on.

    Args:
        inside: the package with what a backend loads in the process of its framework.

    Returns:
        A function to call with the script's module once it is loaded.
    """
    adapt: Callable[[Any], None] = importlib.import_module(f"{inside}.emulate").install()
    return adapt
