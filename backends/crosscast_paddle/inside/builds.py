"""Watch the layers and optimizers that a program makes, see `crosscast_parity.inside.build`.

Static graphs are symbolic: their shapes are inferred where the program adds an operation. Layers of
dynamic graphs are called as far as the program's data goes.
"""

from __future__ import annotations

import functools
from typing import Any

import paddle

from crosscast_paddle.inside.without_gpu import stay_on_cpu
from crosscast_parity.inside.build import Build
from crosscast_parity.inside.watched_modules import watch_modules

PACKAGES = ("paddle",)
BLAMED = (
    *("paddle/nn", "paddle/optimizer", "paddle/static", "paddle/amp", "paddle/tensor"),
    *("paddle/base/framework.py", "paddle/base/layer_helper.py", "paddle/base/data_feeder.py"),
)
EXCUSED = ("paddle/io", "paddle/vision/datasets", "paddle/text/datasets", "paddle/distributed")
KEEPING = (
    *("parameters", "state_dict", "step", "minimize", "clear_grad", "train", "eval", "backward"),
    *("run", "scale", "update", "set_state_dict", "set_dict", "load_dict"),
)
MISSING = r"(?i)cuda|\bgpu|nvidia|float16|\bplace\b"


def base() -> Any:
    """Return the class of all layers."""
    return paddle.nn.Layer


def refuses(error: Exception) -> bool:
    """Whether an error counts wherever it comes from: the shapes of a static graph do not fit."""
    return not paddle.in_dynamic_mode() and "(InvalidArgument)" in str(error)


def install(build: Build, name: str) -> None:
    """Watch this process."""
    if not paddle.is_compiled_with_cuda():
        stay_on_cpu()
    watch_modules(build, paddle.nn.Layer, "_sub_layers")
    _watch_steps(build)


def _watch_steps(build: Build) -> None:
    for kind in _kinds(paddle.optimizer.Optimizer):
        for method in ("step", "minimize"):
            if method in vars(kind):
                setattr(kind, method, _counted(build, getattr(kind, method), method))


def _kinds(kind: type) -> list[type]:
    derived: list[type] = kind.__subclasses__()
    return [kind, *(each for inner in derived for each in _kinds(inner))]


def _counted(build: Build, original: Any, method: str) -> Any:
    @functools.wraps(original)
    def step(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(optimizer, *args, **kwargs)
        symbolic = method == "minimize" and not paddle.in_dynamic_mode()
        how = "the graph of a step" if symbolic else "a step"
        build.step(how, gradients=symbolic or _has_gradients(optimizer))
        return result

    return step


def _has_gradients(optimizer: Any) -> bool:
    given = optimizer._parameter_list or ()
    groups = [each["params"] if isinstance(each, dict) else [each] for each in given]
    return any(weight.grad is not None for group in groups for weight in group)
