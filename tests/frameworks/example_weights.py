"""The weights of the example problems by hand: from PyTorch's names and layouts to others."""

from __future__ import annotations

import re

import numpy as np

Arrays = dict[str, np.ndarray]

_KERAS_NORM = {
    "weight": "gamma",
    "bias": "beta",
    "running_mean": "moving_mean",
    "running_var": "moving_variance",
}
_PADDLE_NORM = {"running_mean": "_mean", "running_var": "_variance"}
_LSTM = {"weight_ih": "kernel", "weight_hh": "recurrent_kernel", "bias_ih": "bias"}


def converted(example: str, framework: str, arrays: Arrays) -> Arrays:
    """Return weights or gradients as a framework has them; PyTorch's counters are left out."""
    found: Arrays = {}
    for name, array in arrays.items():
        theirs = _name(example, framework, name)
        if theirs is not None:
            found[theirs] = np.array(_layout(framework, name, array), order="C")
    return found


def canonical(example: str, framework: str, like: Arrays, arrays: Arrays) -> Arrays:
    """Return what a framework has by PyTorch's names and in its layouts.

    Args:
        example: name of the example.
        framework: where the arrays come from.
        like: arrays by all of PyTorch's names.
        arrays: weights or gradients; not every weight needs one.
    """
    found: Arrays = {}
    for name, array in like.items():
        theirs = _name(example, framework, name)
        if theirs in arrays:
            found[name] = _layout(framework, name, arrays[theirs], back=True)
            assert found[name].shape == array.shape, name
    return found


def _name(example: str, framework: str, name: str) -> str | None:
    """Return a framework's name of a weight, or None if it does not have it."""
    if framework == "torch":
        return name
    if name.endswith("num_batches_tracked"):
        return None
    chosen = {"gpt": _gpt, "lstm-forecast": _lstm, "resnet-cifar": _resnet}
    return chosen[example](framework, name)


def _gpt(framework: str, name: str) -> str:
    if framework == "paddle":
        return name
    path = re.sub(r"^blocks\.(\d+)", r"block_\1", name).split(".")
    kinds = {"weight": "kernel", "bias": "bias"}
    if path[-2].startswith("norm"):
        kinds = _KERAS_NORM
    elif path[-2] in ("tokens", "positions"):
        kinds = {"weight": "embeddings"}
    return "/".join(["gpt", *path[:-1], kinds[path[-1]]])


def _lstm(framework: str, name: str) -> str | None:
    found = re.fullmatch(r"lstm\.(\w+)_l(\d)", name)
    if framework == "paddle":
        return f"lstm_{found[2]}.cell.{found[1]}" if found else name
    if found is None:
        return name.replace("head.weight", "head.kernel").replace(".", "/")
    return f"lstm_{found[2]}/lstm_cell/{_LSTM[found[1]]}" if found[1] in _LSTM else None


def _resnet(framework: str, name: str) -> str:
    path, _, kind = name.rpartition(".")
    is_norm = "norm" in path or path.endswith("shortcut.1")
    if framework == "paddle":
        if path == "head":
            return name
        path = re.sub(r"conv(\d?)$", r"conv\1.0", path)
        path = re.sub(r"norm(\d?)$", r"conv\1.1", path)
        return f"{path}.{_PADDLE_NORM.get(kind, kind)}"
    path = re.sub(r"^stages\.(\d+)\.(\d+)\.", r"stage\1_block\2_", path)
    path = path.replace("shortcut.0", "shortcut_conv").replace("shortcut.1", "shortcut_norm")
    return f"{path}/{_KERAS_NORM[kind] if is_norm else kind.replace('weight', 'kernel')}"


def _layout(framework: str, name: str, array: np.ndarray, back: bool = False) -> np.ndarray:
    """Turn a weight around where a framework has it so."""
    if framework == "torch" or array.ndim == 1 or "tokens" in name or "positions" in name:
        return array
    if array.ndim == 4:
        if framework == "paddle":
            return array
        return array.transpose((3, 2, 0, 1) if back else (2, 3, 1, 0))
    return array if framework == "paddle" and name.startswith("lstm") else array.T
