"""Models of the user's in PyTorch: `python -m crosscast_torch.inside.weights`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import nn

# isort: split
from crosscast_parity.inside.own_model import Tensor, serve
from crosscast_parity.inside.tensor_rows import parts_of
from crosscast_torch.inside.layers import COUNTERS, PACKAGES, TABLE


class Torch:
    """What PyTorch does for `own_model`."""

    def feeds(self, rows: Mapping[str, np.ndarray]) -> dict[str, Any]:
        """Return rows as tensors."""
        return {name: torch.as_tensor(array) for name, array in rows.items()}

    def call(self, model: Any, feeds: dict[str, Any]) -> Any:
        """Return what the model returns."""
        return model.eval()(**feeds)

    def ordered(self, model: Any, compute: Callable[[], Any]) -> tuple[Any, list[str]]:
        """Return what a function returns, and the paths of the layers that it calls, in order."""
        order: list[str] = []
        model.eval()
        hooks = [
            module.register_forward_pre_hook(lambda *_, path=path: order.append(path))
            for path, module in model.named_modules()
        ]
        try:
            return compute(), order
        finally:
            for hook in hooks:
                hook.remove()

    def tensors(self, model: Any) -> list[Tensor]:
        """Return parameters and buffers; a tied one has its first name and others."""
        found: dict[int, Tensor] = {}
        saved = set(model.state_dict())
        for path, module in model.named_modules():
            own = (*module._parameters.items(), *module._buffers.items())
            for leaf, tensor in own:
                if tensor is None:
                    continue
                name = f"{path}.{leaf}" if path else leaf
                if name not in saved:
                    continue  # not in checkpoints: computed by the model itself
                if id(tensor) in found:
                    found[id(tensor)].also.append(name)
                else:
                    found[id(tensor)] = self._tensor(name, leaf, tensor, path, module)
        # `named_modules` names a shared module once, a checkpoint with every name.
        for name, tensor in model.state_dict(keep_vars=True).items():
            known = found.get(id(tensor))
            if known is not None and name not in (known.name, *known.also):
                known.also.append(name)
        return list(found.values())

    def _tensor(self, name: str, leaf: str, tensor: Any, path: str, module: Any) -> Tensor:
        own = [kind for kind in type(module).__mro__ if kind.__module__.startswith(PACKAGES)]
        classes, shape = [kind.__name__ for kind in own], list(tensor.shape)
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
        """Return a tensor as a float32 array."""
        return np.asarray(value.detach().float().cpu())

    def gradients(
        self,
        model: Any,
        compute: Callable[[], list[Any]],
        projections: list[np.ndarray],
        tensors: list[Tensor],
    ) -> tuple[list[Any], dict[str, np.ndarray]]:
        """Return outputs and gradients of their projections, also of frozen weights."""
        for tensor in tensors:
            tensor.handle.requires_grad_(True)
        model.eval()
        outputs = compute()
        pairs = zip(outputs, projections)  # noqa: B905
        total = sum((out.float() * torch.tensor(by)).sum() for out, by in pairs)
        handles = [tensor.handle for tensor in tensors]
        found = torch.autograd.grad(total, handles, allow_unused=True)
        named = zip(tensors, found)  # noqa: B905
        return outputs, {t.name: self.array(g) for t, g in named if g is not None}

    def takes(self, model: Any) -> str:
        """Return the arguments of `forward`."""
        return str(inspect.signature(type(model).forward)).replace("(self, ", "(")


if __name__ == "__main__":
    serve(Torch())
