"""The user's models in JAX: `python -m crosscast_jax.inside.weights`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

# isort: split
from crosscast_jax.inside.dropout import switch_off
from crosscast_jax.inside.layers import CELLS, LINEN, PACKAGES, TABLE
from crosscast_parity.inside.module_calls import Calls
from crosscast_parity.inside.own_model import Tensor, serve
from crosscast_parity.inside.tensor_rows import own_classes, parts_of


class Jax:
    """What JAX does for `own_model`."""

    def __init__(self) -> None:
        self._seed = 0
        self._differentiates = False
        self._offsets: list[Any] | None = None
        self._returned: list[Any] = []
        self._level = _level()

    def seed(self, number: int) -> None:
        """Seed the generator that draws weights."""
        self._seed = number

    def build(self, factory: Callable[..., Any]) -> Any:
        """Call a factory, which is given random numbers."""
        return factory(nnx.Rngs(self._seed))

    def feeds(self, rows: Mapping[str, np.ndarray]) -> dict[str, Any]:
        """Return rows as arrays."""
        return {name: jnp.asarray(array) for name, array in rows.items()}

    def evaluate(self, model: Any) -> None:
        """Put a model into evaluation; while it is differentiated, it is there already."""
        if not self._differentiates:
            model.eval()

    def call(self, model: Any, feeds: dict[str, Any]) -> Any:
        """Return the outputs of the model."""
        self._level = _level()
        return model(**feeds)

    def train(self, model: Any, feeds: dict[str, Any], loss: Any) -> Any:
        """Return the result of the model, or of the loss function, in training without dropout."""
        model.train()
        switch_off(model)
        self._level = _level()
        return loss(model, feeds) if loss else model(**feeds)

    @contextmanager
    def watched(self, model: Any, calls: Calls) -> Iterator[None]:
        """Tell `calls` of every call of a module."""
        paths = {id(module): _text(path) for path, module in nnx.iter_modules(model)}
        kinds = {type(module) for _, module in nnx.iter_modules(model)}
        originals = {kind: kind.__call__ for kind in kinds if "__call__" in vars(kind)}

        def watching(original: Callable[..., Any]) -> Callable[..., Any]:
            @functools.wraps(original)
            def call(module: Any, *args: Any, **kwargs: Any) -> Any:
                # Within a scan, as of a recurrent layer, there are no numbers yet.
                if id(module) not in paths or not self._level.is_valid():
                    return original(module, *args, **kwargs)
                number = calls.enter(paths[id(module)], module)
                returned = self._offset(original(module, *args, **kwargs))
                calls.leave(number, module, (args, kwargs), returned)
                return returned

            return call

        for kind, original in originals.items():
            kind.__call__ = watching(original)
        try:
            yield
        finally:
            for kind, original in originals.items():
                kind.__call__ = original

    def tensors(self, model: Any) -> list[Tensor]:
        """Return variables, but for random numbers; a shared one has its first name."""
        modules = dict(nnx.iter_modules(model))
        return [
            self._tensor(path, variable, modules)
            for path, variable in nnx.to_flat_state(nnx.state(model))
            if not isinstance(variable, nnx.RngState)
        ]

    def _tensor(self, path: Any, variable: Any, modules: Mapping[Any, Any]) -> Tensor:
        within, depth = _path_of_module(path, modules), 1
        module = modules[within]
        # What nnx.state holds are copies; the variable itself is in the module.
        holder = _held(module, path[len(within) :])
        handle = holder if isinstance(holder, nnx.Variable) else variable
        around = modules.get(path[:-2])
        if len(path) > 1 and any(kind in CELLS for kind in own_classes(around, PACKAGES)):
            module, depth = around, 2
        value, classes = variable.get_value(), own_classes(module, PACKAGES)
        name = _text(path[-depth:])
        if LINEN in classes and _text(path[-2:]) in TABLE[LINEN]:
            name = _text(path[-2:])
        shape, trainable = list(value.shape), isinstance(variable, nnx.Param)
        return Tensor(
            handle=handle,
            name=_text(path),
            also=[],
            shape=shape,
            dtype=str(value.dtype),
            trainable=trainable,
            buffer=not trainable,
            layer=_text(path[:-depth]),
            kind=type(module).__name__,
            base=classes[0],
            parts=parts_of(TABLE, classes, name, shape, module, trainable),
        )

    def assign(self, tensor: Tensor, array: np.ndarray) -> None:
        """Overwrite a variable."""
        old = tensor.handle.get_value()
        tensor.handle.set_value(jnp.asarray(array, old.dtype).reshape(old.shape))

    def is_output(self, value: Any) -> bool:
        """Whether a value is an array of floating-point numbers."""
        return isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jnp.floating)

    def array(self, value: Any) -> np.ndarray:
        """Return an array as a float32 array, a copy."""
        if isinstance(value, nnx.Variable):
            value = value.get_value()
        while isinstance(value, jax.core.Tracer):  # of a derivative that is computed at once
            value = value.primal
        return np.array(value, np.float32)

    def version(self, value: Any) -> int:
        """Return 0: arrays do not change."""
        return 0

    def base(self, layer: Any) -> str:
        """Return the name of Flax's class that a module is."""
        return own_classes(layer, PACKAGES)[0]

    def gradients(
        self,
        model: Any,
        compute: Callable[[], list[Any]],
        projections: list[np.ndarray],
        tensors: list[Tensor],
        inner: list[Any],
    ) -> tuple[list[Any], dict[str, np.ndarray], list[Any]]:
        """Return outputs and gradients of their projections, and those of the values in `inner`.

        What modules return has a derivative only as something that is added to it, so the model is
        called first for the shapes of these zeros.
        """
        held = [tensor.handle.get_value() for tensor in tensors]
        with self._returning([]) as returned:
            compute()
            zeros = [jnp.zeros(value.shape, value.dtype) for value in returned]
        inner.clear()

        def total(weights: list[Any], offsets: list[Any]) -> Any:
            for tensor, weight in zip(tensors, weights):  # noqa: B905
                _put(tensor.handle, weight)
            with _at_this_level(model), self._returning(offsets) as returned:
                outputs = compute()
                seen.extend(returned)
            results.extend(self.array(output) for output in outputs)
            pairs = zip(outputs, projections)  # noqa: B905
            return sum((out.astype(jnp.float32) * by).sum() for out, by in pairs)

        seen: list[Any] = []
        results: list[Any] = []
        self._differentiates = True
        try:
            weights, offsets = jax.grad(total, (0, 1))(held, zeros)
        finally:
            self._differentiates = False
            for tensor, value in zip(tensors, held):  # noqa: B905
                _put(tensor.handle, value)
        places = {id(value): number for number, value in enumerate(seen)}
        within = [offsets[places[id(value)]] if id(value) in places else None for value in inner]
        named = zip(tensors, weights)  # noqa: B905
        return results, {t.name: self.array(gradient) for t, gradient in named}, within

    @contextmanager
    def _returning(self, offsets: list[Any]) -> Iterator[list[Any]]:
        """Add these numbers to what modules return, in the order of the calls; yield the sums."""
        self._offsets, self._returned = list(offsets), []
        try:
            yield self._returned
        finally:
            self._offsets, self._returned = None, []

    def _offset(self, returned: Any) -> Any:
        if self._offsets is None:
            return returned
        remaining = self._offsets

        def added(value: Any) -> Any:
            if not self.is_output(value):
                return value
            result = value + remaining.pop(0) if remaining else value
            self._returned.append(result)
            return result

        return jax.tree.map(added, returned)

    def takes(self, model: Any) -> str:
        """Return the arguments of `__call__`."""
        return str(inspect.signature(type(model).__call__)).replace("(self, ", "(")


def _path_of_module(path: Any, modules: Mapping[Any, Any]) -> Any:
    """Return the path of the innermost module around a variable.

    A variable may lie in dictionaries and lists of a module: those of Linen's layers do.
    """
    return next(
        path[:length] for length in range(len(path) - 1, -1, -1) if path[:length] in modules
    )


def _held(module: Any, path: Any) -> Any:
    """Return the value at a path of a module; None if there is none."""
    value = vars(module).get(path[0])
    for key in path[1:]:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _level() -> Any:
    """Return the trace that computes at present, as Flax keeps it in what it makes."""
    return nnx.Variable(0)._trace_state


@contextmanager
def _at_this_level(model: Any) -> Iterator[None]:
    """Let a model be changed and lifted while something is differentiated; what it counts is lost.

    Variables of Flax belong to the trace in which they were made, and a recurrent layer takes those
    of its cell apart.
    """
    values = [(v, v._raw_value) for _, v in nnx.iter_graph(model) if isinstance(v, nnx.Variable)]
    outer = model._pytree__state._trace_state
    _move(model, _level())
    try:
        yield
    finally:
        for variable, value in values:
            _put(variable, value)
        _move(model, outer)


def _move(model: Any, level: Any) -> None:
    """Let all of a model belong to a trace, with what a scan has put into it."""
    for _, node in nnx.iter_graph(model):
        if isinstance(node, nnx.Variable):
            object.__setattr__(node, "_trace_state", level)
        elif isinstance(node, nnx.Pytree):
            object.__setattr__(node._pytree__state, "_trace_state", level)


def _put(variable: Any, value: Any) -> None:
    """Set a variable while something is differentiated, which Flax refuses for those around it."""
    object.__setattr__(variable, "_raw_value", value)


def _text(path: Any) -> str:
    return ".".join(map(str, path))


if __name__ == "__main__":
    serve(Jax())
