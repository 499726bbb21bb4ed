"""What a PyTorch program does between two updates: forward passes, losses, autocast, rows.

Functions are wrapped and modules hooked; nothing is computed otherwise.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any

import torch

from crosscast_parity.inside.between import Between

LOSSES = {
    "cross_entropy": "cross_entropy",
    "binary_cross_entropy_with_logits": "binary_cross_entropy",
    "mse_loss": "mse",
}
"""Functions of `torch.nn.functional`, and their kinds in a recipe."""
MANY_WEIGHTS = 4096
"""Of classes: longer lists are not told."""
CLIP_INSIDE = ("FusedLAMB", "FusedMixedPrecisionLamb")
"""Optimizers of apex."""
NORMS = ("LayerNorm", "RMSNorm")
WRAPPERS = ("module.", "_orig_mod.")
"""What wrappers put before the names of parameters."""


class Parts:
    """The modules that a program calls, its losses and what surrounds them."""

    def __init__(self, between: Between, busy: Callable[[], bool]) -> None:
        self._between, self._busy = between, busy
        self._depth = 0
        self._roots: list[Any] = []

    def install(self) -> None:
        """Wrap and hook."""
        functional, modules = torch.nn.functional, torch.nn.modules.module
        for name, kind in LOSSES.items():
            setattr(functional, name, self._loss(getattr(functional, name), kind))
        modules.register_module_forward_pre_hook(self._enter)
        modules.register_module_forward_hook(self._leave)
        self._watch_autocast()
        self._watch_seed()
        self._watch_loader()

    def begin(self) -> None:
        """Reset the depth of module calls: a call that raised was never left."""
        self._depth = 0

    def _enter(self, module: Any, inputs: Any) -> None:
        self._depth += 1
        if self._busy() or not torch.is_grad_enabled():
            return
        known = any(root is module for root in self._roots)
        if self._depth == 1 and not known and any(True for _ in module.parameters()):
            self._roots.append(module)
        tensors = [value for value in inputs if isinstance(value, torch.Tensor) and value.dim()]
        if tensors:
            self._between.rows(len(tensors[0]))

    def _leave(self, module: Any, inputs: Any, output: Any) -> None:
        self._depth = max(0, self._depth - 1)

    def _loss(self, original: Callable[..., Any], kind: str) -> Callable[..., Any]:
        signature = inspect.signature(original)

        @functools.wraps(original)
        def loss(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            if isinstance(result, torch.Tensor) and result.requires_grad and not self._busy():
                bound = signature.bind(*args, **kwargs)
                bound.apply_defaults()
                noted = self._between.loss(kind=kind, **told_of_loss(bound.arguments))
                result.register_hook(lambda gradient: note_factor(noted, gradient))
            return result

        return loss

    def _watch_autocast(self) -> None:
        kind: Any = getattr(torch, "autocast", None)
        if kind is None:
            return
        between, construct, entered = self._between, kind.__init__, kind.__enter__

        @functools.wraps(construct)
        def init(self: Any, *args: Any, **kwargs: Any) -> None:
            construct(self, *args, **kwargs)
            asked = args[2] if len(args) > 2 else kwargs.get("enabled", True)
            self.asked_for = bool(asked)

        @functools.wraps(entered)
        def enter(self: Any) -> Any:
            if getattr(self, "asked_for", False) and torch.is_grad_enabled():
                between.add("autocasts", plain_type(self.fast_dtype))
            return entered(self)

        kind.__init__, kind.__enter__ = init, enter

    def _watch_seed(self) -> None:
        original, between = torch.manual_seed, self._between

        @functools.wraps(original)
        def manual_seed(seed: Any) -> Any:
            between.tell(seed=int(seed))
            return original(seed)

        torch.manual_seed = torch.random.manual_seed = manual_seed

    def _watch_loader(self) -> None:
        from torch.utils import data

        between, original = self._between, data.DataLoader.__iter__

        @functools.wraps(original)
        def iterate(loader: Any) -> Any:
            sampler = type(getattr(loader, "sampler", None)).__name__
            orders = {"RandomSampler": True, "SequentialSampler": False}
            if sampler in orders and torch.is_grad_enabled():
                between.tell(shuffle=orders[sampler])
            return original(loader)

        data.DataLoader.__iter__ = iterate

    def parameters(self, groups: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return name, roles and group of everything that an optimizer updates."""
        named = self._names_and_roles()
        parameters: list[dict[str, Any]] = []
        for number, group in enumerate(groups):
            for tensor in group["params"]:
                name, roles = named.get(id(tensor), ("", []))
                name = name or f"tensor.{len(parameters)}"
                parameters.append({"name": name, "roles": roles, "group": number})
        taken: set[str] = set()
        for entry in parameters:
            while entry["name"] in taken:
                entry["name"] += "_"
            taken.add(entry["name"])
        return parameters

    def write(
        self,
        groups: list[dict[str, Any]],
        kinds: dict[str, list[Any]],
        *,
        lr: float,
        scale: float | None,
        skipped: bool,
        alone: bool,
    ) -> None:
        """Write the tensors of an attempt at an update.

        Args:
            groups: of the optimizer.
            kinds: tensors by kind, in the order of the groups.
            lr: of the first group.
            scale: of the loss; None without a scaler.
            skipped: whether no update was made.
            alone: whether no other optimizer has made one.
        """
        between, held = self._between, kinds["after"]
        self.begin()
        named = self.parameters(groups)
        between.tell(parameters=named, weights=sorted({plain_type(t.dtype) for t in held}))
        whole = all(tensor.dtype == torch.float32 for tensor in held)
        if not alone or not whole or not (kinds["applied"] or skipped):
            between.windows.end()
        if between.windows.wanted(sum(tensor.numel() for tensor in held)):
            names = [entry["name"] for entry in named]
            between.windows.write(
                {kind: arrays(names, tensors) for kind, tensors in kinds.items()},
                micro=between.seen(),
                lr=lr,
                scale=1.0 if scale is None else scale,
                skipped=skipped,
            )

    def _names_and_roles(self) -> dict[int, tuple[str, list[str]]]:
        """Return names and roles of parameters by their identity, of the largest modules first."""
        by_identity: dict[int, tuple[str, list[str]]] = {}
        roots = sorted(self._roots, key=lambda root: -sum(1 for _ in root.parameters()))
        for root in roots:
            for path, module in root.named_modules():
                for name, tensor in module.named_parameters(recurse=False):
                    whole = without_wrappers(f"{path}.{name}" if path else name)
                    by_identity.setdefault(id(tensor), (whole, roles_of(module, name)))
        return by_identity


def told_of_loss(arguments: Any) -> dict[str, Any]:
    """Return the settings of a loss, read from its arguments."""
    target = arguments["target"]
    classes = target.is_floating_point()
    ignored = arguments.get("ignore_index", -100)
    many = len(target) if classes or target.dim() == 0 else int((target != ignored).sum())
    weights = arguments.get("weight")
    if weights is not None and weights.numel() <= MANY_WEIGHTS:
        weights = [float(weight) for weight in weights.reshape(-1)]
    elif weights is not None:
        weights = [-1.0]
    return {
        "mean": arguments.get("reduction", "mean") == "mean",
        "labels": many,
        "elements": target.numel() / len(target) if classes and target.dim() else 1.0,
        "smoothing": float(arguments.get("label_smoothing", 0.0)),
        "weights": weights or [],
    }


def note_factor(noted: dict[str, Any], gradient: Any) -> None:
    """Note what a backward pass began with; nothing if it is not one number for all rows."""
    flat = gradient.detach().reshape(-1)
    if len(flat) and bool((flat == flat[0]).all()):
        noted["factor"] = float(flat[0])


def roles_of(module: Any, name: str) -> list[str]:
    """Return the roles of a parameter, by its module and its name there."""
    roles = ["bias"] if "bias" in name.split("_") else []
    if type(module).__name__.endswith(NORMS):
        roles.append("layer_norm")
    if isinstance(module, torch.nn.Embedding):
        roles.append("embedding")
    return roles


def without_wrappers(name: str) -> str:
    """Return the name of a parameter in the model itself."""
    while name.startswith(WRAPPERS):
        name = name.partition(".")[2]
    return name


def plain_type(kind: Any) -> str:
    """Return the name of a type."""
    return str(kind).replace("torch.", "")


def arrays(names: list[str], held: Any) -> dict[str, Any]:
    """Return tensors as arrays by name; without those that are not there."""
    pairs = ((name, tensor) for name, tensor in zip(names, held) if tensor is not None)  # noqa: B905
    dense = ((name, t.to_dense() if t.layout != torch.strided else t) for name, t in pairs)
    return {name: tensor.detach().float().cpu().numpy().copy() for name, tensor in dense}


def clip_inside(optimizer: Any) -> dict[str, Any] | None:
    """Return the clipping of all gradients together in an optimizer's step, if it clips."""
    if type(optimizer).__name__ not in CLIP_INSIDE:
        return None
    held = [tensor.grad for group in optimizer.param_groups for tensor in group["params"]]
    squares = [float(gradient.double().pow(2).sum()) for gradient in held if gradient is not None]
    limit = float(optimizer.defaults["max_grad_norm"])
    return {"kind": "global_norm", "limit": limit, "size": math.sqrt(sum(squares))}


def told_of_scaler(scaler: Any) -> dict[str, Any]:
    """Return the settings of a scaler."""
    return {
        "init_scale": float(scaler.get_scale()),
        "growth_factor": float(scaler.get_growth_factor()),
        "backoff_factor": float(scaler.get_backoff_factor()),
        "growth_interval": int(scaler.get_growth_interval()),
    }


def unwrapped(optimizer: Any) -> Any:
    """Return the optimizer inside a wrapper, or the optimizer itself."""
    held = getattr(optimizer, "optim", None)
    return held if isinstance(held, torch.optim.Optimizer) else optimizer
