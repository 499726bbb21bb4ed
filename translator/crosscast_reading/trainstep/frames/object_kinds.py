"""What an object of a training loop is: optimizer, loss scaler, schedule, model, library."""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from typing import Literal

from crosscast_reading.pysource.values.value import Choice, Instance
from crosscast_reading.trainstep.frames.frame import CallFrame, Reference

Kind = Literal[
    "optimizer",
    "scaler",
    "schedule",
    "accelerator",
    "fabric",
    "engine",
    "wrapper",
    "tape",
    "sampler",
    "average",
    "clipper",
    "other",
    "",
]
"""`engine`: DeepSpeed's; `wrapper`: an object that runs the whole step (MMEngine's OptimWrapper);
`average`: moving average of weights; `other`: certainly none of these; empty: unknown."""

_PATHS: tuple[tuple[str, Kind], ...] = (
    (r"(lr_scheduler|optimizer\.lr|timm\.scheduler|pytorch_warmup|\.schedules?)\b", "schedule"),
    (r"(GradScaler|AmpScaler|DynamicScale|DynamicLossScal|LossScaler|NativeScaler)", "scaler"),
    (r"^accelerate\.(?:[\w.]*\.)?Accelerator\b", "accelerator"),
    (r"\bFabric\.setup_optimizers$", "optimizer"),
    (r"\bFabric(\.setup.*)?$", "fabric"),
    (r"^deepspeed\.(initialize|.*Engine)", "engine"),
    (r"OptimWrapper|build_optim_wrapper", "wrapper"),
    (r"GradientTape|DistributedGradientTape", "tape"),
    (r"Sampler$", "sampler"),
    (r"swa_utils|ModelEma|ExponentialMovingAverage|EMAModel|\bEMA\b|Ema\b", "average"),
    (r"(^|\.)(profiler|wandb|gym|gymnasium)\.", "other"),
    (
        r"LRScheduler|LambdaLR|Scheduler|Schedule$|WarmUp\w*$|WithWarmup(Decay)?$"
        r"|get_\w*schedule|LR$",
        "schedule",
    ),
    (r"LossScaleOptimizer", "optimizer"),
    (
        r"^(torch|apex|paddle|tensorflow|keras|tf|bitsandbytes|deepspeed|optax)\.[\w.]*optim",
        "optimizer",
    ),
    (
        r"(Adam\w*|SGD\w*|LAMB|Lamb|LARS|RMSprop|RMSProp|Adagrad|Adadelta|Adafactor|Lion"
        r"|NovoGrad|Novograd|Momentum|Ranger\w*|Optimizer\w*|Optim|get_optimizer"
        r"|\w*create_optimizer\w*|\w*build_optimizer\w*|\w*make_optimizer\w*)$",
        "optimizer",
    ),
)
"""Of the qualified name of what made an object; the first that matches counts."""

_NAMES: tuple[tuple[str, Kind], ...] = (
    (
        r"^(env|envs|environment|sim|simulator|prof|profiler|pbar|bar|tqdm|pruner|timer|world)$"
        r"|meter|metric|logger|tracker|writer|history|stats?$",
        "other",
    ),
    (r"optim_?wrapper", "wrapper"),
    (r"clip(per)?$|clipper", "clipper"),
    (
        r"sched|lr_sche|^lr$|_lr$|lr_decay|warmup|lr_policy|lr_adjust|annealer|lr_updater|^lrs$"
        r"|^_learning_rate$",
        "schedule",
    ),
    (r"scaler|loss_?scale|dynamic_scale", "scaler"),
    (r"(^|_)ema($|_)|^ema|_ema\b|ema_|averager$", "average"),
    (
        r"optim|^opt$|^opts$|^opt_|_opt$|_opts$|^opt[dg]$|^[dg]_?opt|solver|^trainer_[dg]$",
        "optimizer",
    ),
    (r"accelerator", "accelerator"),
    (r"fabric", "fabric"),
    (r"engine", "engine"),
    (r"tape$", "tape"),
    (r"sampler", "sampler"),
)
"""Of the last identifier of a variable, in small or capital letters."""

_BY_PATH = tuple((re.compile(pattern), kind) for pattern, kind in _PATHS)
_BY_NAME = tuple((re.compile(pattern, re.I), kind) for pattern, kind in _NAMES)


def last_name(node: ast.expr) -> str:
    """Return the last identifier of an expression: `optimizer` of `self.optimizer`, `opts[0]`."""
    while True:
        if isinstance(node, ast.Attribute):
            return node.attr
        if isinstance(node, ast.Name):
            return node.id
        if isinstance(node, ast.Subscript):
            if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
                return node.slice.value
            node = node.value
        elif isinstance(node, ast.Call):
            node = node.func
        else:
            return ""


def called_name(call: ast.Call) -> str:
    """Return the last identifier of what a call calls; empty for `f(x)(y)`."""
    return "" if isinstance(call.func, ast.Call) else last_name(call.func)


@lru_cache(maxsize=4096)
def kind_by_name(name: str) -> Kind:
    """Return the kind of object that a variable of this name usually is."""
    for pattern, kind in _BY_NAME:
        if pattern.search(name):
            return kind
    return ""


@lru_cache(maxsize=4096)
def kind_of_maker(made_by: str) -> Kind:
    """Return the kind of object that a class or function of this qualified name makes."""
    shown = made_by.rpartition(":")[2]
    for pattern, kind in _BY_PATH:
        if pattern.search(shown):
            return kind
    return ""


def _makers_of(node: ast.expr, frame: CallFrame, depth: int = 0) -> frozenset[str]:
    """Return the qualified names of the callables that may have created an object."""
    if depth > 8:
        return frozenset()
    if isinstance(node, ast.Name):
        if node.id in frame.bound and node.id not in frame.latest:
            reference = frame.bound[node.id]
            return _makers_of(reference.node, reference.frame, depth + 1)
        if frame.outer is not None and node.id not in frame.scope.bindings:
            return _makers_of(node, frame.outer, depth + 1)
    value = frame.value(node)
    options = [option for _, option in value.options] if isinstance(value, Choice) else [value]
    return frozenset(option.made_by for option in options if isinstance(option, Instance))


def kind_of(node: ast.expr, frame: CallFrame) -> Kind:
    """Return the kind of an expression: by what created it, if that is sure, else by its name."""
    kinds = {kind for maker in _makers_of(node, frame) if (kind := kind_of_maker(maker))}
    if len(kinds) == 1:
        return kinds.pop()
    name = last_name(node)
    kind = kind_by_name(name)
    if kind or not isinstance(node, ast.Name):
        return kind
    reference = frame.bound.get(node.id)
    return kind_by_name(last_name(reference.node)) if isinstance(reference, Reference) else ""


@lru_cache(maxsize=4096)
def is_gradient(node: ast.expr) -> bool:
    """Whether an expression is the gradient of a parameter: `p.grad`, `p.grad.data`."""
    if isinstance(node, ast.Attribute) and node.attr == "data":
        node = node.value
    return isinstance(node, ast.Attribute) and node.attr == "grad"


def is_loss_name(name: str) -> bool:
    """Whether a variable of this name is a loss."""
    return bool(_LOSS.search(name))


_LOSS = re.compile(
    r"loss|^l$|^cost|_cost$|^err([A-Z_]|$)|_err$|^err|objective|criterion_out|nll|elbo", re.I
)


@lru_cache(maxsize=4096)
def is_model_name(name: str) -> bool:
    """Whether a variable of this name is a model."""
    return bool(_MODEL.search(name))


_MODEL = re.compile(
    r"model|^net|_?net$|net[A-Z]$|^net_|network|^(G|D|gen|disc|generator|discriminator)(_\w+)?$"
    r"|^encoder$|^decoder$|backbone$|transformer$|unet$|^bert$|^gpt$|^vae$|^task$|^ddp\w*$|^mpd$|^msd$"
    r"|module$"
)
