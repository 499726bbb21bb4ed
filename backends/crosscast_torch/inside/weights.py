"""The user's models in PyTorch: `python -m crosscast_torch.inside.weights`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import nn

# isort: split
from crosscast_parity.inside.module_calls import Calls
from crosscast_parity.inside.own_model import Tensor, serve
from crosscast_parity.inside.tensor_rows import own_classes, parts_of
from crosscast_torch.inside.dropout import switch_off
from crosscast_torch.inside.layers import COUNTERS, PACKAGES, TABLE


class Torch:
    """What PyTorch does for `own_model`."""

    def seed(self, number: int) -> None:
        """Seed the generator that draws weights."""
        torch.manual_seed(number)

    def build(self, factory: Callable[[], Any]) -> Any:
        """Return the model of a factory."""
        return factory()

    def feeds(self, rows: Mapping[str, np.ndarray]) -> dict[str, Any]:
        """Return rows as tensors."""
        return {name: torch.as_tensor(array) for name, array in rows.items()}

    def evaluate(self, model: Any) -> None:
        """Put a model into evaluation."""
        model.eval()

    def call(self, model: Any, feeds: dict[str, Any]) -> Any:
        """Return the outputs of the model."""
        return model(**feeds)

    def train(self, model: Any, feeds: dict[str, Any], loss: Any) -> Any:
        """Return the result of the model, or of the loss function, in training without dropout."""
        model.train()
        switch_off(model)
        with torch.no_grad():
            return loss(model, feeds) if loss else model(**feeds)

    @contextmanager
    def watched(self, model: Any, calls: Calls) -> Iterator[None]:
        """Tell `calls` of every call of a module."""
        begun: list[int] = []
        hooks, in_place = [], []

        def enter(path: str, module: Any) -> None:
            begun.append(calls.enter(path, module))

        def leave(module: Any, args: Any, kwargs: Any, output: Any) -> None:
            calls.leave(begun.pop(), module, (args, kwargs), output)

        for path, module in model.named_modules():
            hooks.append(module.register_forward_pre_hook(lambda m, _, path=path: enter(path, m)))
            hooks.append(module.register_forward_hook(leave, with_kwargs=True))
            if getattr(module, "inplace", False):  # it would overwrite what another one returned
                module.inplace = False
                in_place.append(module)
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()
            for module in in_place:
                module.inplace = True

    def tensors(self, model: Any) -> list[Tensor]:
        """Return parameters and buffers; a tied one has its first name and others."""
        by_identity: dict[int, Tensor] = {}
        saved = set(model.state_dict())
        for path, module in model.named_modules():
            own = (*module._parameters.items(), *module._buffers.items())
            for leaf, tensor in own:
                if tensor is None:
                    continue
                name = f"{path}.{leaf}" if path else leaf
                if name not in saved:
                    continue  # not in checkpoints: computed by the model itself
                if id(tensor) in by_identity:
                    by_identity[id(tensor)].also.append(name)
                else:
                    by_identity[id(tensor)] = self._tensor(name, leaf, tensor, path, module)
        # `named_modules` names a shared module once, a checkpoint with every name.
        for name, tensor in model.state_dict(keep_vars=True).items():
            known = by_identity.get(id(tensor))
            if known is not None and name not in (known.name, *known.also):
                known.also.append(name)
        return list(by_identity.values())

    def _tensor(self, name: str, leaf: str, tensor: Any, path: str, module: Any) -> Tensor:
        classes, shape = own_classes(module, PACKAGES), list(tensor.shape)
        return Tensor(
            handle=tensor,
            name=name,
            also=[],
            shape=shape,
            dtype=str(tensor.dtype).removeprefix("torch."),
            trainable=tensor.requires_grad,
            buffer=not isinstance(tensor, nn.Parameter),
            layer=path,
            kind=type(module).__name__,
            base=classes[0],
            parts=parts_of(TABLE, classes, leaf, shape, module, tensor.requires_grad),
            counts=leaf in COUNTERS,
        )

    def assign(self, tensor: Tensor, array: np.ndarray) -> None:
        """Overwrite a tensor."""
        with torch.no_grad():
            tensor.handle.copy_(torch.tensor(array))

    def is_output(self, value: Any) -> bool:
        """Whether a value is a tensor of floating-point numbers."""
        return isinstance(value, torch.Tensor) and value.is_floating_point()

    def array(self, value: Any) -> np.ndarray:
        """Return a tensor as a float32 array, a copy."""
        return np.array(value.detach().float().cpu())

    def version(self, value: Any) -> int:
        """Return how often a tensor was changed in place."""
        return int(value._version)

    def base(self, layer: Any) -> str:
        """Return the name of PyTorch's class that a module is."""
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
            tensor.handle.requires_grad_(True)
        outputs = compute()
        pairs = zip(outputs, projections)  # noqa: B905
        total = sum((out.float() * torch.tensor(by)).sum() for out, by in pairs)
        if not total.requires_grad:
            return outputs, {}, [None] * len(inner)
        handles = [tensor.handle for tensor in tensors]
        wanted = [n for n, value in enumerate(inner) if value.requires_grad]
        handles += [inner[n] for n in wanted]
        computed = torch.autograd.grad(total, handles, allow_unused=True)
        named = zip(tensors, computed)  # noqa: B905
        within = dict(zip(wanted, computed[len(tensors) :]))  # noqa: B905
        gradients = {t.name: self.array(g) for t, g in named if g is not None}
        return outputs, gradients, [within.get(n) for n in range(len(inner))]

    def takes(self, model: Any) -> str:
        """Return the arguments of `forward`."""
        return str(inspect.signature(type(model).forward)).replace("(self, ", "(")


if __name__ == "__main__":
    serve(Torch())
