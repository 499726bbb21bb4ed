"""What a Paddle program does between two updates: forward passes, losses, auto_cast, rows.

Functions are wrapped and calls of layers looked at; nothing is computed otherwise.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import paddle

from crosscast_parity.inside.between import Between

LOSSES = {
    "cross_entropy": "cross_entropy",
    "binary_cross_entropy_with_logits": "binary_cross_entropy",
    "mse_loss": "mse",
}
"""Functions of `paddle.nn.functional`, and their kinds in a recipe."""
NORMS = ("LayerNorm", "RMSNorm")
MANY_WEIGHTS = 4096
"""Of classes: longer lists are not told."""


def array(tensor: Any) -> Any:
    """Return a copy of the values in float32."""
    values = tensor if isinstance(tensor, np.ndarray) else tensor.numpy()
    if values.dtype == np.uint16:  # bfloat16, the upper half of a float32
        values = (values.astype(np.uint32) << 16).view(np.float32)
    return np.array(values, np.float32)


def number(value: Any) -> float:
    """Return a number, also of a tensor of one; 0 for nothing."""
    return 0.0 if value is None else float(value)


def parameters_of(optimizer: Any) -> list[Any]:
    """Return the parameters of an optimizer, in the order of its groups."""
    parameters: list[Any] = []
    for group in optimizer._param_groups or ():
        parameters += group["params"] if isinstance(group, dict) else [group]
    return [parameter for parameter in parameters if not parameter.stop_gradient]


def settings_of(optimizer: Any) -> tuple[list[dict[str, Any]], list[int]]:
    """Return the numbers of groups with the same decay and rate, and the group of every tensor."""
    shared = {"lr": float(optimizer.get_lr())}
    names = {"_momentum": "momentum", "_use_nesterov": "nesterov", "_epsilon": "eps"}
    for name, setting in names.items():
        value = getattr(optimizer, name, None)
        value = optimizer.epsilon_as_said if is_replaced(optimizer, name) else value
        if value is not None:
            shared[setting] = value if isinstance(value, bool) else number(value)
    betas = [getattr(optimizer, name, None) for name in ("_beta1", "_beta2")]
    settings: dict[str, Any] = dict(shared)
    if None not in betas:
        settings["betas"] = [number(beta) for beta in betas]
    if getattr(optimizer, "_amsgrad", False):
        settings["amsgrad"] = True
    keys: list[tuple[float, float]] = []
    of = []
    for group in optimizer._param_groups or ():
        own = group if isinstance(group, dict) else {"params": [group]}
        for parameter in own["params"]:
            if parameter.stop_gradient:
                continue
            key = (decay_of(optimizer, own, parameter), factor_of(own, parameter))
            if key not in keys:
                keys.append(key)
            of.append(keys.index(key))
    groups = [
        {
            **settings,
            "lr": settings["lr"] * factor,
            "weight_decay": decay,
            "tensors": of.count(place),
        }
        for place, (decay, factor) in enumerate(keys)
    ]
    return groups, of


def is_replaced(optimizer: Any, name: str) -> bool:
    """Whether an attribute is an epsilon that was made small (`alike`)."""
    return name == "_epsilon" and hasattr(optimizer, "epsilon_as_said")


def factor_of(group: Any, parameter: Any) -> float:
    """Return the factor of a parameter's learning rate."""
    own = (getattr(parameter, "optimize_attr", None) or {}).get("learning_rate", 1.0)
    return float(own) * (float(group["learning_rate"]) if "learning_rate" in group else 1.0)


def decay_of(optimizer: Any, group: Any, parameter: Any) -> float:
    """Return the weight decay of a parameter."""
    if type(optimizer).__name__ == "Lamb":
        spared = optimizer._exclude_from_weight_decay_fn
        spares = spared is not None and spared(parameter)
        return 0.0 if spares else float(optimizer._lamb_weight_decay)
    if type(optimizer).__name__ == "AdamW":
        chosen = optimizer._apply_decay_param_fun
        if chosen is not None and not chosen(parameter.name):
            return 0.0
        return number(group.get("weight_decay", optimizer._weight_decay))
    if getattr(optimizer, "_regularization_method", "") == "l2_decay":  # Momentum has its own
        shared = optimizer._regularization_coeff
    else:
        shared = optimizer.regularization
    decay = getattr(parameter, "regularizer", None) or group.get("weight_decay") or shared
    return number(getattr(decay, "_coeff", decay))


class Parts:
    """The layers that a program calls, its losses and what surrounds them."""

    def __init__(self, between: Between, busy: Callable[[], bool]) -> None:
        self._between, self._busy = between, busy
        self._depth = 0
        self._roots: list[Any] = []
        self._types: set[str] = set()

    def install(self) -> None:
        """Wrap what Paddle offers."""
        functional = paddle.nn.functional
        for name, kind in LOSSES.items():
            setattr(functional, name, self._loss(getattr(functional, name), kind))
        layer = paddle.nn.Layer
        layer.__call__ = self._watch_calls(layer.__call__)
        for name in ("auto_cast", "amp_guard"):
            if hasattr(paddle.amp, name):
                setattr(paddle.amp, name, self._cast(getattr(paddle.amp, name)))
        self._watch_seed()
        self._watch_loader()

    def taken_types(self) -> list[str]:
        """Return the types that layers computed in, and forget them."""
        types, self._types = self._types, set()
        return sorted(types)

    def _watch_calls(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def call(layer: Any, *args: Any, **kwargs: Any) -> Any:
            counts = not self._busy() and layer.training and paddle.is_grad_enabled()
            if counts and self._depth == 0:
                known = any(root is layer for root in self._roots)
                if not known and layer.parameters():
                    self._roots.append(layer)
            if counts:
                arguments = [*args, *kwargs.values()]
                tensors = [v for v in arguments if isinstance(v, paddle.Tensor) and v.ndim]
                if tensors:
                    self._between.rows(int(tensors[0].shape[0]))
            self._depth += 1
            try:
                output = original(layer, *args, **kwargs)
            finally:
                self._depth -= 1
            if isinstance(output, paddle.Tensor) and output.is_floating_point():
                self._types.add(plain_type(output.dtype))
            return output

        return call

    def _loss(self, original: Callable[..., Any], kind: str) -> Callable[..., Any]:
        signature = inspect.signature(original)

        @functools.wraps(original)
        def loss(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            if isinstance(result, paddle.Tensor) and not result.stop_gradient and not self._busy():
                bound = signature.bind(*args, **kwargs)
                bound.apply_defaults()
                noted = self._between.loss(kind=kind, **told_of_loss(bound.arguments))
                result.register_hook(lambda gradient: note_factor(noted, gradient))
            return result

        return loss

    def _cast(self, original: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(original)

        @functools.wraps(original)
        def cast(*args: Any, **kwargs: Any) -> Any:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            if bound.arguments["enable"] and bound.arguments["level"] != "O0":
                self._between.add("autocasts", plain_type(bound.arguments["dtype"]))
            return original(*args, **kwargs)

        return cast

    def _watch_seed(self) -> None:
        original, between = paddle.seed, self._between

        @functools.wraps(original)
        def seed(value: Any) -> Any:
            between.tell(seed=int(value))
            return original(value)

        paddle.seed = seed

    def _watch_loader(self) -> None:
        between, original = self._between, paddle.io.DataLoader.__iter__

        @functools.wraps(original)
        def iterate(loader: Any) -> Any:
            sampler = getattr(getattr(loader, "batch_sampler", None), "sampler", None)
            orders = {"RandomSampler": True, "SequenceSampler": False}
            if type(sampler).__name__ in orders and paddle.is_grad_enabled():
                between.tell(shuffle=orders[type(sampler).__name__])
            return original(loader)

        paddle.io.DataLoader.__iter__ = iterate

    def write(
        self,
        held: list[Any],
        kinds: dict[str, list[Any]],
        of: list[int],
        *,
        lr: float,
        scale: float | None,
        skipped: bool,
        alone: bool,
    ) -> None:
        """Write the tensors of an attempt at an update.

        Args:
            held: what is updated.
            kinds: arrays by kind, in the same order.
            of: the group of every tensor.
            lr: of the first group.
            scale: of the loss; None without a scaler.
            skipped: whether no update was made.
            alone: whether no other optimizer has made one.
        """
        self._depth = 0
        named = self._parameters(held, of)
        types = sorted({plain_type(parameter.dtype) for parameter in held})
        self._between.tell(parameters=named, weights=types)
        windows = self._between.windows
        if not alone or types != ["float32"]:
            windows.end()
        if windows.wanted(sum(math.prod(parameter.shape) for parameter in held)):
            names = [entry["name"] for entry in named]
            windows.write(
                {
                    kind: {n: a for n, a in zip(names, arrays_of_kind) if a is not None}  # noqa: B905
                    for kind, arrays_of_kind in kinds.items()
                },
                micro=self._between.seen(),
                lr=lr,
                scale=1.0 if scale is None else scale,
                skipped=skipped,
            )

    def _parameters(self, held: list[Any], of: list[int]) -> list[dict[str, Any]]:
        named: dict[int, tuple[str, list[str]]] = {}
        for root in sorted(self._roots, key=lambda layer: -len(layer.parameters())):
            for path, layer in root.named_sublayers(include_self=True):
                for name, parameter in layer.named_parameters(include_sublayers=False):
                    whole = f"{path}.{name}" if path else name
                    named.setdefault(id(parameter), (whole, roles_of(layer, name)))
        parameters: list[dict[str, Any]] = []
        taken: set[str] = set()
        for parameter, group in zip(held, of):  # noqa: B905
            name, roles = named.get(id(parameter), (parameter.name, []))
            while name in taken:
                name += "_"
            taken.add(name)
            parameters.append({"name": name, "roles": roles, "group": group})
        return parameters


def told_of_loss(arguments: Any) -> dict[str, Any]:
    """Return the settings of a loss, read from its arguments."""
    target, weights = arguments["label"], arguments.get("weight")
    soft = bool(arguments.get("soft_label", False)) or target.is_floating_point()
    ignored = arguments.get("ignore_index", -100)
    rows = int(target.shape[0]) if target.ndim else 1
    elements = int(np.prod(target.shape)) / rows if soft and target.ndim and rows else 1.0
    if weights is not None:
        many = int(np.prod(weights.shape)) > MANY_WEIGHTS
        weights = [-1.0] if many else [float(weight) for weight in weights.numpy().reshape(-1)]
    return {
        "mean": arguments.get("reduction", "mean") == "mean",
        "labels": rows if soft else _counted_labels(target, ignored),
        "elements": elements,
        "smoothing": float(arguments.get("label_smoothing", 0.0)),
        "weights": weights or [],
    }


def _counted_labels(target: Any, ignored: int) -> int:
    """Return the number of labels that a mean divides by.

    From Paddle 3 on, it includes those that a negative `ignore_index` ignores.
    """
    if ignored < 0 and not paddle.__version__.startswith("2."):
        return int(np.prod(target.shape))
    return int((target.numpy() != ignored).sum())


def note_factor(noted: dict[str, Any], gradient: Any) -> None:
    """Note what a backward pass began with; nothing if it is not one number for all rows."""
    flat = array(gradient).reshape(-1)
    if len(flat) and bool((flat == flat[0]).all()):
        noted["factor"] = float(flat[0])


def roles_of(layer: Any, name: str) -> list[str]:
    """Return the roles of a parameter, by its layer and its name there."""
    roles = ["bias"] if "bias" in name.split("_") else []
    if type(layer).__name__.endswith(NORMS):
        roles.append("layer_norm")
    if isinstance(layer, paddle.nn.Embedding):
        roles.append("embedding")
    return roles


def plain_type(kind: Any) -> str:
    """Return the name of a type."""
    return str(kind).replace("paddle.", "")
