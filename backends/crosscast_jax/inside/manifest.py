"""The operations of a JAX script, seen while its loss is traced.

Public functions of `jax.numpy`, `jax.nn`, `flax.nnx` and optax, the operators and methods of
tracers, and layers of Flax that compute something of one piece.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax import nnx

from crosscast_jax.inside.lookups import Tables
from crosscast_jax.inside.prepare import number
from crosscast_jax.inside.twin import recorded
from crosscast_parity.inside.manifest import CLASSES, Patches, Recorder, Tap, canonical

KINDS = ("float32", "float16", "bfloat16")
PRODUCTS = {"matmul": "matmul", "dot": "matmul", "einsum": "einsum", "tensordot": "tensordot"}
NUMPY = (
    *("add", "subtract", "multiply", "divide", "true_divide", "power", "square", "exp", "log"),
    *("sqrt", "tanh", "sum", "mean"),
)
ACTIVATIONS = ("gelu", "relu", "silu", "sigmoid", "tanh", "softmax", "log_softmax", "logsumexp")
LOSSES = {
    "softmax_cross_entropy_with_integer_labels": "cross_entropy",
    "softmax_cross_entropy": "cross_entropy",
}
LAYERS = {
    "Linear": "linear",
    "Einsum": "einsum",
    "LayerNorm": "layer_norm",
    "RMSNorm": "rms_norm",
    "BatchNorm": "batch_norm",
    "GroupNorm": "group_norm",
    "InstanceNorm": "instance_norm",
    "Embed": "embedding",
    "Dropout": "dropout",
}
METHODS: dict[str, Any] = {"sum": jnp.sum, "mean": jnp.mean, "dot": jnp.dot}
MOVING = (
    *("reshape", "transpose", "swapaxes", "moveaxis", "squeeze", "expand_dims", "concatenate"),
    *("stack", "split", "where", "take", "take_along_axis", "broadcast_to", "tile", "repeat"),
    *("pad", "flip", "roll", "ravel"),
)
MOVING_METHODS = ("reshape", "transpose", "squeeze", "swapaxes", "ravel", "__getitem__")
SYNONYMS = {"power": "pow"}


def kind(value: Any) -> str | None:
    """Return the float type of an array or of a variable of Flax."""
    if isinstance(value, nnx.Variable):
        value = value.get_value()
    name = str(value.dtype) if isinstance(value, jax.Array) else ""
    return name if name in KINDS else None


class JaxTap:
    """Wraps functions, operators and layers."""

    def __init__(self) -> None:
        self._patches = Patches()
        self._is_first = True
        self._tables = Tables()

    def start(self, recorder: Recorder, model: Any) -> None:
        """Wrap them."""
        if self._patches.made:
            return
        if isinstance(model, nnx.Module):
            recorder.places = {
                id(module): ".".join(map(str, path)) for path, module in nnx.iter_modules(model)
            }
            self._tables.start(model)
        recorder.lineage.learned = learned
        for owner, names in _functions():
            for name, known in names.items():
                wrapped = self._product if known in CLASSES["matmul"] else self._wrapped
                self._patches.replace(owner, name, wrapped(recorder, known, getattr(owner, name)))
        for name in MOVING:
            self._patches.replace(jnp, name, self._moving(recorder, name, getattr(jnp, name)))
        for name, known in LAYERS.items():
            self._wrap_layer(recorder, known, getattr(nnx, name))
        self._patches.replace(jnp, "astype", self._cast(recorder, jnp.astype))
        self._start_methods(recorder)

    def _start_methods(self, recorder: Recorder) -> None:
        """Wrap what tracers have: operators of the class, and methods that they look up."""
        tracer: Any = jax.core.Tracer
        for name in dir(tracer):
            known = canonical(name) if name.startswith("__") else None
            known = "matmul" if name in ("__matmul__", "__rmatmul__") else known
            if known:
                wrapped = self._wrapped(recorder, known, getattr(tracer, name))
                self._patches.replace(tracer, name, wrapped)
        self._patches.replace(tracer, "astype", self._cast(recorder, _looked_up("astype")))
        for name, function in METHODS.items():
            self._patches.replace(tracer, name, self._wrapped(recorder, canonical(name), function))
        for name in MOVING_METHODS:
            original = getattr(tracer, name, None) or _looked_up(name)
            self._patches.replace(tracer, name, self._moving(recorder, name, original))

    def stop(self) -> None:
        """Put them back."""
        self._patches.undo()
        self._tables.forget()
        self._is_first = False
        recorded.forget()

    def _wrapped(
        self, recorder: Recorder, name: Any, function: Callable[..., Any]
    ) -> Callable[..., Any]:
        def operation(*args: Any, **kwargs: Any) -> Any:
            self._count()
            return recorder.call(kind, name, function, args, kwargs)

        return operation

    def _product(
        self, recorder: Recorder, name: str, function: Callable[..., Any]
    ) -> Callable[..., Any]:
        """Record a product, which is one of half numbers whatever it is summed and returned in."""

        def product(*args: Any, **kwargs: Any) -> Any:
            self._count()
            results: list[Any] = []
            types = {known for known in map(kind, args) if known}
            summed = kwargs.get("preferred_element_type") is not None and len(types) == 1

            def computed(*args: Any, **kwargs: Any) -> Any:
                results.append(function(*args, **kwargs))
                return results[-1]

            def kind_of(value: Any) -> str | None:
                is_result = any(value is result for result in results)
                return next(iter(types)) if is_result and summed else kind(value)

            return recorder.call(kind_of, name, computed, args, kwargs)

        return product

    def _cast(self, recorder: Recorder, function: Callable[..., Any]) -> Callable[..., Any]:
        recorded_cast = self._wrapped(recorder, "cast", function)

        def cast(value: Any, *args: Any, **kwargs: Any) -> Any:
            result = recorded_cast(value, *args, **kwargs)
            self._tables.cast(value, result)
            return result

        return cast

    def _moving(
        self, recorder: Recorder, name: str, function: Callable[..., Any]
    ) -> Callable[..., Any]:
        """Follow numbers to another place, or record a lookup that is written as such a move."""
        lookup = self._wrapped(recorder, "embedding", function)
        may_look_up = name in ("take", "__getitem__")

        def move(*args: Any, **kwargs: Any) -> Any:
            if may_look_up and self._tables.look_up(name, args, kwargs):
                return lookup(*args, **kwargs)
            result = recorder.move(kind, function, args, kwargs)
            if may_look_up:
                self._tables.whole(args, result)
            return result

        return move

    def _wrap_layer(self, recorder: Recorder, name: str, layer: Any) -> None:
        """Wrap a layer of Flax, and what a program derives from it."""
        own = [derived for derived in _derived(layer) if "__call__" in vars(derived)]
        wrapped = self._layer(recorder.call, name, layer.__call__)
        self._patches.replace(layer, "__call__", wrapped)
        for derived in own:
            composed = self._layer(recorder.compose, name, derived.__call__)
            self._patches.replace(derived, "__call__", composed)

    def _layer(
        self, record: Callable[..., Any], name: str, original: Callable[..., Any]
    ) -> Callable[..., Any]:
        def call(layer: Any, *args: Any, **kwargs: Any) -> Any:
            self._count()
            weights = jax.tree.leaves(nnx.state(layer, nnx.Param))
            return record(kind, name, original, (layer, *args), kwargs, weights)

        return call

    def _count(self) -> None:
        if self._is_first:
            recorded.next()


def _functions() -> Iterator[tuple[Any, dict[str, str]]]:
    named = {name: canonical(SYNONYMS.get(name, name)) for name in NUMPY}
    yield jnp, PRODUCTS | {name: known for name, known in named.items() if known}
    for owner in (jax.nn, nnx):
        held = {name: name for name in ACTIVATIONS if hasattr(owner, name)}
        yield owner, held
    yield optax, LOSSES
    yield optax.losses, LOSSES


def _method(value: Any, name: str) -> Callable[..., Any]:
    """Return a method as tracers look it up: by their abstract value."""
    method: Any = getattr(value.aval, name)
    return lambda *args, **kw: method.fun(value, *args, **kw)


def _looked_up(name: str) -> Callable[..., Any]:
    return lambda value, *args, **kw: _method(value, name)(*args, **kw)


def learned(value: Any) -> bool | None:
    """Whether a value is computed from weights: those alone are differentiated.

    Functions that are computed again are traced by themselves, and tell nothing.
    """
    if type(value).__name__ in ("JVPTracer", "LinearizeTracer"):
        return True
    given = getattr(value, "_trace", None) is getattr(number(), "_trace", None)
    return False if given else None


def _derived(layer: Any) -> Iterator[Any]:
    """Yield the classes that a program derives from a layer."""
    for derived in layer.__subclasses__():
        yield from (derived, *_derived(derived))


def make_tap() -> Tap | None:
    """Return the tap."""
    return JaxTap()
