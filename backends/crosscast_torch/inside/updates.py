"""Record the inputs and updates of PyTorch's optimizers, since version 1.8.

Every class of optimizers gets its `step` wrapped when the first of it is made, GradScaler its
`step`, `torch.nn.utils.clip_grad_*_` and `torch.autograd.backward` likewise. Nothing is computed
otherwise than without this, with one exception: a GradScaler for CUDA turns itself off where there
is no GPU; from PyTorch 2.3 on it is made one for the CPU (`forced` in the records), so that
scaling, unscaling and skipping happen. Powers of two as scales change no number in float32.
"""

from __future__ import annotations

import contextlib
import functools
import math
import os
from collections.abc import Callable
from typing import Any

import torch

from crosscast_parity.inside.updates import SEED, Records, stays_on_cpu
from crosscast_torch.inside.parts import Parts, clip_inside, plain_type, told_of_scaler, unwrapped
from crosscast_torch.inside.without_gpu import force, stay_on_cpu

ROUNDING = 2.0**-20
"""How far a perturbed run is moved, in root mean squares of each tensor: sixteen units in the last
place of float32."""
CHUNK = 1 << 20
SETTINGS = (
    *("lr", "weight_decay", "momentum", "nesterov", "dampening", "betas", "eps", "alpha"),
    *("amsgrad", "maximize", "centered", "bias_correction", "adam_w_mode"),
    *("decoupled_weight_decay", "correct_bias", "initial_lr"),
)
_patterns: dict[str, Any] = {}


def pattern(count: int, device: Any) -> Any:
    """Return the first numbers of the fixed vector, float64."""
    if str(device) not in _patterns:
        angles = torch.arange(1, CHUNK + 1, dtype=torch.float64, device=device)
        _patterns[str(device)] = torch.cos(angles * 1.618033988749895)
    return _patterns[str(device)][:count]


def summary(tensor: Any) -> list[float]:
    """Return number of elements, norm and projection, computed in float64."""
    with torch.no_grad():
        if tensor.layout != torch.strided:
            tensor = tensor.to_dense()
        squares = projection = 0.0
        for number, part in enumerate(tensor.detach().reshape(-1).split(CHUNK)):
            part = part.double()
            squares += float(torch.dot(part, part))
            weight = math.cos(number + 1.0)
            projection += weight * float(torch.dot(part, pattern(len(part), part.device)))
    return [tensor.numel(), math.sqrt(squares) if squares >= 0 else squares, projection]


class Watch:
    """Records what happens between two steps, and what a step does."""

    def __init__(
        self, records: Records, perturb: bool, poison: int | None, *, forces: bool
    ) -> None:
        self._records, self._perturb, self._poison = records, perturb, poison
        self._forces = forces
        self._optimizers: list[Any] = []
        self._made: list[Any] = []
        self._stepping: list[Any] = []
        self._backward = False
        self._backwards = 0
        self._clips: list[dict[str, Any]] = []
        self._types: set[str] = set()
        self._scale: float | None = None
        self._rules: dict[str, Any] = {}
        self._total: list[Any] = []
        between = records.between
        self._parts = Parts(between, lambda: self._backward) if between is not None else None
        if self._parts is not None:
            self._parts.install()
        records.final = self._final

    def _final(self) -> list[Any]:
        return [summary(tensor) for optimizer in self._optimizers for tensor in tensors(optimizer)]

    def output(self, module: Any, inputs: Any, output: Any) -> None:
        """Note the type that a module computed in."""
        if isinstance(output, torch.Tensor) and output.is_floating_point():
            self._types.add(plain_type(output.dtype))

    def backward(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Count calls by the script, not calls by recomputation."""

        @functools.wraps(original)
        def backward(roots: Any, *args: Any, **kwargs: Any) -> Any:
            if self._backward or not self._records.here():
                return original(roots, *args, **kwargs)
            if self._backwards == 0 and self._poison == self._records.attempts:
                roots = roots * math.inf if isinstance(roots, torch.Tensor) else roots
            self._backwards += 1
            self._backward = True
            try:
                return original(roots, *args, **kwargs)
            finally:
                self._backward = False
                self._delivered()

        return backward

    def _delivered(self) -> None:
        """Keep what a backward pass delivered, before the script does anything to it."""
        between = self._records.between
        if between is None:
            return
        between.backward()
        held = [tensor for optimizer in self._made for tensor in tensors(optimizer)]
        if between.windows.wanted(sum(tensor.numel() for tensor in held)):
            self._total = [(t, None if t.grad is None else t.grad.detach().clone()) for t in held]

    def clip(self, original: Callable[..., Any], kind: str) -> Callable[..., Any]:
        """Note by what gradients are clipped and whether it changes them."""

        @functools.wraps(original)
        def clip(parameters: Any, limit: Any, *args: Any, **kwargs: Any) -> Any:
            parameters = [parameters] if isinstance(parameters, torch.Tensor) else list(parameters)
            largest = 0.0
            if kind == "value":
                maxima = [p.grad.detach().abs().max() for p in parameters if p.grad is not None]
                largest = max(map(float, maxima), default=0.0)
            total = original(parameters, limit, *args, **kwargs)
            size = largest if kind == "value" else float(total)
            self._clips.append({"kind": kind, "limit": float(limit), "size": size})
            return total

        return clip

    def made(self, optimizer: Any) -> None:
        """Wrap the step of its class; move what it updates if the run is a perturbed one."""
        wrap_step(type(optimizer), self)
        if self._records.between is not None:
            self._made.append(optimizer)
        if self._perturb:
            for tensor in tensors(optimizer):
                move(tensor.data)

    def step(self, original: Callable[..., Any], optimizer: Any, args: Any, kwargs: Any) -> Any:
        """Make a step and record it."""
        if any(stepping is optimizer for stepping in self._stepping) or not self._records.here():
            return original(optimizer, *args, **kwargs)
        self._stepping.append(optimizer)
        try:
            held = tensors(optimizer)
            before = [tensor.detach().clone() for tensor in held]
            if self._perturb:
                for tensor in held:
                    if tensor.grad is not None:
                        move(tensor.grad)
            closure = bool(args and args[0] is not None) or kwargs.get("closure") is not None
            gradients = [] if closure else handed(optimizer)
            settings = [settings_of(group) for group in optimizer.param_groups]
            # Kernels that unscale and skip by themselves; both are gone after the step.
            skipped = holds(getattr(optimizer, "found_inf", None))
            amp = getattr(optimizer, "amp_passes", None)  # of a stand-in for apex
            if amp is not None:
                self._scale, skipped = amp.scale, bool(amp.overflow)
                self._rules = amp.scaler.settings
                if self._records.between is not None:
                    self._records.between.tell(scaler=amp.scaler.settings, mode=amp.scaler.mode)
            applied = [] if closure or self._parts is None else gradients_of(optimizer)
            if not (closure or skipped):
                self._clips += filter(None, [clip_inside(optimizer)])
            result = original(optimizer, *args, **kwargs)
            changes = [summary(tensor - before[n]) for n, tensor in enumerate(held)]
            gradients = gradients or handed(optimizer)
        finally:
            self._stepping.remove(optimizer)
        self._write(optimizer, settings, before, applied, skipped=skipped)
        self._attempted(optimizer, settings, gradients, changes, skipped=skipped)
        if amp is not None:
            self._scale = None
        return result

    def _write(
        self, optimizer: Any, settings: Any, before: Any, applied: Any, *, skipped: bool
    ) -> None:
        """Write whole tensors, if they are asked for and are of the only optimizer."""
        total, self._total = {id(tensor): gradient for tensor, gradient in self._total}, []
        if self._parts is not None:
            held = tensors(optimizer)
            self._parts.write(
                optimizer.param_groups,
                {
                    "before": before,
                    "after": held,
                    "total": [total.get(id(tensor)) for tensor in held],
                    "applied": applied,
                },
                lr=settings[0]["lr"],
                scale=self._scale,
                skipped=skipped,
                alone=not any(known is not optimizer for known in self._optimizers),
            )

    def scaler_step(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Note the scale of an attempt, and the attempts that do not reach the optimizer."""

        @functools.wraps(original)
        def step(scaler: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            if not scaler.is_enabled() or not self._records.here():
                return original(scaler, optimizer, *args, **kwargs)
            self._scale, attempts = float(scaler.get_scale()), self._records.attempts
            self._rules = told_of_scaler(scaler)
            if self._records.between is not None:
                self._records.between.tell(scaler=self._rules)
            try:
                result = original(scaler, optimizer, *args, **kwargs)
                if self._records.attempts == attempts:
                    inner = unwrapped(optimizer)
                    settings = [settings_of(group) for group in inner.param_groups]
                    self._write(inner, settings, tensors(inner), [], skipped=True)
                    self._attempted(inner, settings, [], [], skipped=True)
            finally:
                self._scale = None
            return result

        return step

    def _attempted(
        self,
        optimizer: Any,
        settings: list[dict[str, Any]],
        gradients: list[Any],
        changes: list[Any],
        *,
        skipped: bool,
    ) -> None:
        if not self._optimizers:
            self._record_framework()
        if not any(known is optimizer for known in self._optimizers):
            self._optimizers.append(optimizer)
        number = next(n for n, known in enumerate(self._optimizers) if known is optimizer)
        clips, self._clips = self._clips, []
        types, self._types = sorted(self._types), set()
        backwards, self._backwards = self._backwards, 0
        between = self._records.between
        self._records.attempt(
            {
                **({} if between is None else {"micro": between.taken()}),
                "optimizer": number,
                "class": type(optimizer).__name__,
                "skipped": skipped,
                "backwards": backwards,
                "scale": self._scale,
                "rules": {} if self._scale is None else self._rules,
                "settings": settings,
                "clips": clips,
                "gradients": [] if skipped else gradients,
                "changes": [] if skipped else changes,
                "types": types,
            }
        )

    def _record_framework(self) -> None:
        """Record what this runs with; not before the script has chosen its devices."""
        gpu = torch.cuda.is_available()
        self._records.write(
            {
                "kind": "framework",
                "name": "torch",
                "version": str(torch.__version__),
                "device": "gpu" if gpu else "cpu",
                "forced": self._forces and not gpu,
            }
        )


def tensors(optimizer: Any) -> list[Any]:
    """Return the parameters of an optimizer, in the order of its groups."""
    return [tensor for group in optimizer.param_groups for tensor in group["params"]]


def settings_of(group: Any) -> dict[str, Any]:
    """Return the numbers of a group of parameters, and how many tensors it has."""
    settings: dict[str, Any] = {"tensors": len(group["params"])}
    for name in SETTINGS:
        if name in group:
            value = group[name]
            if isinstance(value, (tuple, list)):
                settings[name] = [float(number) for number in value]
            elif isinstance(value, bool) or value is None:
                settings[name] = value
            else:
                settings[name] = float(value)
    return settings


def gradients_of(optimizer: Any) -> list[Any]:
    """Return copies of the gradients, unscaled and clipped if the kernel has yet to do it."""
    scale, clip = getattr(optimizer, "grad_scale", None), clip_inside(optimizer)
    factor = min(1.0, clip["limit"] / clip["size"]) if clip and clip["size"] else 1.0
    gradients: list[Any] = []
    for tensor in tensors(optimizer):
        gradient = tensor.grad
        if gradient is not None:
            gradient = gradient.detach().clone() if scale is None else gradient / scale
            gradient = gradient if factor == 1.0 else gradient * factor
        gradients.append(gradient)
    return gradients


def handed(optimizer: Any) -> list[Any]:
    """Return the summaries of the gradients."""
    return [None if gradient is None else summary(gradient) for gradient in gradients_of(optimizer)]


def holds(flag: Any) -> bool:
    """Whether a tensor or number is there and not 0."""
    return flag is not None and bool(float(flag))


def move(tensor: Any) -> None:
    """Change a tensor by what rounding changes."""
    if tensor.dtype not in (torch.float32, torch.float64) or tensor.layout != torch.strided:
        return
    with torch.no_grad():
        flat = tensor.reshape(-1)
        size = float(flat.double().pow(2).mean().sqrt()) if len(flat) else 0.0
        if not math.isfinite(size):
            return
        moved = [
            part + (ROUNDING * size * pattern(len(part), part.device)).to(part.dtype)
            for part in flat.split(CHUNK)
        ]
        if moved:
            tensor.copy_(torch.cat(moved).reshape(tensor.shape))


def wrap_step(kind: type, watch: Watch) -> None:
    """Have all steps of a class of optimizers recorded."""
    original = kind.step  # type: ignore[attr-defined]
    if getattr(original, "recorded", False):
        return

    @functools.wraps(original)
    def step(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        return watch.step(original, optimizer, args, kwargs)

    step.recorded = True  # type: ignore[attr-defined]
    kind.step = step  # type: ignore[attr-defined]


def wrap_made(kind: Any, watch: Watch) -> None:
    """Have all optimizers looked at when they are made."""
    original = kind.__init__

    @functools.wraps(original)
    def made(optimizer: Any, *args: Any, **kwargs: Any) -> None:
        original(optimizer, *args, **kwargs)
        watch.made(optimizer)

    kind.__init__ = made


def install(records: Records, name: str, *, perturb: bool, poison: int | None) -> None:
    """Watch this process; `name` is that of the module that was imported."""
    torch.manual_seed(SEED)
    if stays_on_cpu():
        stay_on_cpu()
    scaler: Any = getattr(torch.amp, "GradScaler", None)  # PyTorch 2.3
    watch = Watch(records, perturb, poison, forces=scaler is not None)
    if scaler is None:
        scaler = torch.cuda.amp.GradScaler
    else:
        force(scaler)
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.deterministic = True
    if os.environ.get("CUDA_VISIBLE_DEVICES") != "":
        # Before PyTorch 1.11 it would refuse some operations.
        with contextlib.suppress(AttributeError, TypeError):
            torch.use_deterministic_algorithms(True, warn_only=True)
    scaler.step = watch.scaler_step(scaler.step)
    wrap_made(torch.optim.Optimizer, watch)
    torch.autograd.backward = watch.backward(torch.autograd.backward)
    for kind, function in (("global_norm", "clip_grad_norm_"), ("value", "clip_grad_value_")):
        wrapped = watch.clip(getattr(torch.nn.utils, function), kind)
        setattr(torch.nn.utils, function, wrapped)
        setattr(torch.nn.utils.clip_grad, function, wrapped)
    torch.nn.modules.module.register_module_forward_hook(watch.output)
