"""The user's models in Paddle: `python -m crosscast_paddle.inside.weights`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import paddle

# isort: split
from crosscast_paddle.inside.dropout import switch_off
from crosscast_paddle.inside.layers import PACKAGES, TABLE
from crosscast_parity.inside.module_calls import Calls
from crosscast_parity.inside.own_model import Tensor, serve
from crosscast_parity.inside.tensor_rows import own_classes, parts_of


class Paddle:
    """What Paddle does for `own_model`."""

    def seed(self, number: int) -> None:
        """Seed the generator that draws weights."""
        paddle.seed(number)

    def build(self, factory: Callable[[], Any]) -> Any:
        """Return the model of a factory."""
        return factory()

    def feeds(self, rows: Mapping[str, np.ndarray]) -> dict[str, Any]:
        """Return rows as tensors."""
        return {name: paddle.to_tensor(array) for name, array in rows.items()}

    def evaluate(self, model: Any) -> None:
        """Put a model into evaluation.

        Recurrent layers keep nothing for the backward pass there: they train without dropout.
        """
        model.eval()
        for layer in model.sublayers(include_self=True):
            if isinstance(layer, paddle.nn.layer.rnn.RNNBase):
                layer.training, layer.dropout = True, 0.0

    def call(self, model: Any, feeds: dict[str, Any]) -> Any:
        """Return the outputs of the model."""
        return model(**feeds)

    def train(self, model: Any, feeds: dict[str, Any], loss: Any) -> Any:
        """Return the result of the model, or of the loss function, in training without dropout."""
        model.train()
        switch_off(model)
        with paddle.no_grad():
            return loss(model, feeds) if loss else model(**feeds)

    @contextmanager
    def watched(self, model: Any, calls: Calls) -> Iterator[None]:
        """Tell `calls` of every call of a layer."""
        paths = {id(layer): path for path, layer in model.named_sublayers(include_self=True)}
        original = paddle.nn.Layer.__call__

        @functools.wraps(original)
        def call(layer: Any, *args: Any, **kwargs: Any) -> Any:
            if id(layer) not in paths:
                return original(layer, *args, **kwargs)
            number = calls.enter(paths[id(layer)], layer)
            returned = original(layer, *args, **kwargs)
            calls.leave(number, layer, (args, kwargs), returned)
            return returned

        paddle.nn.Layer.__call__ = call
        try:
            yield
        finally:
            paddle.nn.Layer.__call__ = original

    def tensors(self, model: Any) -> list[Tensor]:
        """Return parameters and buffers; a tied one has its first name and others."""
        by_identity: dict[int, Tensor] = {}
        saved = set(model.state_dict())
        for path, layer in model.named_sublayers(include_self=True):
            own = (*layer._parameters.items(), *layer._buffers.items())
            for leaf, tensor in own:
                name = f"{path}.{leaf}" if path else leaf
                if tensor is None or name not in saved:
                    continue
                if id(tensor) in by_identity:
                    by_identity[id(tensor)].also.append(name)
                else:
                    by_identity[id(tensor)] = self._tensor(name, leaf, tensor, path, layer)
        # `named_sublayers` names a shared layer once, a checkpoint with every name.
        for name, tensor in model.state_dict().items():
            known = by_identity.get(id(tensor))
            if known is not None and name not in (known.name, *known.also):
                known.also.append(name)
        return list(by_identity.values())

    def _tensor(self, name: str, leaf: str, tensor: Any, path: str, layer: Any) -> Tensor:
        classes, shape = own_classes(layer, PACKAGES), list(tensor.shape)
        trainable = not tensor.stop_gradient
        return Tensor(
            handle=tensor,
            name=name,
            also=[],
            shape=shape,
            dtype=str(tensor.dtype).rpartition(".")[2].lower(),
            trainable=trainable,
            buffer=leaf in layer._buffers,
            layer=path,
            kind=type(layer).__name__,
            base=classes[0],
            parts=parts_of(TABLE, classes, leaf, shape, layer, trainable),
        )

    def assign(self, tensor: Tensor, array: np.ndarray) -> None:
        """Overwrite a tensor."""
        tensor.handle.set_value(array)

    def is_output(self, value: Any) -> bool:
        """Whether a value is a tensor of floating-point numbers."""
        return isinstance(value, paddle.Tensor) and value.is_floating_point()

    def array(self, value: Any) -> np.ndarray:
        """Return a tensor as a float32 array, a copy."""
        return np.array(value.detach().astype("float32").numpy())

    def version(self, value: Any) -> int:
        """Return how often a tensor was changed in place."""
        return int(value.inplace_version)

    def base(self, layer: Any) -> str:
        """Return the name of Paddle's class that a layer is."""
        return own_classes(layer, PACKAGES)[0]

    def gradients(
        self,
        model: Any,
        compute: Callable[[], list[Any]],
        projections: list[np.ndarray],
        tensors: list[Tensor],
        inner: list[Any],
    ) -> tuple[list[Any], dict[str, np.ndarray], list[Any]]:
        """Return outputs and gradients of their projections, also of frozen weights, and those of
        the values in `inner`."""
        for tensor in tensors:
            tensor.handle.stop_gradient = False
        outputs = compute()
        pairs = zip(outputs, projections)  # noqa: B905
        total = sum((out.astype("float32") * paddle.to_tensor(by)).sum() for out, by in pairs)
        if total.stop_gradient:
            return outputs, {}, [None] * len(inner)
        handles = [tensor.handle for tensor in tensors]
        # `paddle.grad` takes no tensor twice, and layers may return what they got.
        wanted = {id(value): value for value in inner if not value.stop_gradient}
        computed = paddle.grad(total, [*handles, *wanted.values()], allow_unused=True)
        named = zip(tensors, computed)  # noqa: B905
        within = dict(zip(wanted, computed[len(tensors) :]))  # noqa: B905
        gradients = {t.name: self.array(g) for t, g in named if g is not None}
        return outputs, gradients, [within.get(id(value)) for value in inner]

    def takes(self, model: Any) -> str:
        """Return the arguments of `forward`."""
        return str(inspect.signature(type(model).forward)).replace("(self, ", "(")


if __name__ == "__main__":
    serve(Paddle())
