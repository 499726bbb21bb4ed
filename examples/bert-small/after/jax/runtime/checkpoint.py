"""Read and write weights and checkpoints: safetensors files, checked strictly."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from .settings import Settings, Stop, regular
from .state import (
    TrainState,
    ema_arrays,
    model_arrays,
    optimizer_arrays,
    restore_ema,
    restore_model,
    restore_optimizer,
    restore_scaler,
    scaler_counters,
)

Arrays = dict[str, np.ndarray]
MOST = 2**31 - 1
MEAN_SQUARES = ("exp_avg_sq", "row_var", "col_var", "variance")


def save_arrays(path: Path, arrays: Arrays, **metadata: Any) -> None:
    """Write a safetensors file whole or not at all."""
    arrays = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    folder = path.with_suffix(".saving")  # of what a killed save leaves, too
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    partial = folder / path.name
    save_file(arrays, partial, {key: json.dumps(metadata[key]) for key in metadata})
    partial.chmod(folder.stat().st_mode & 0o666)  # save_file lets only the user read
    os.replace(partial, path)
    folder.rmdir()


def save_checkpoint(
    path: Path, state: TrainState, settings: Settings, n_rows: int, stuck: int
) -> None:
    """Write weights, moments, averages and every counter; enough to resume exactly."""
    arrays = {f"model/{name}": array for name, array in model_arrays(state).items()}
    moments = optimizer_arrays(state)
    arrays |= {f"optimizer/{name}": array for name, array in moments.items()}
    if settings.averages:
        arrays |= {f"ema/{name}": array for name, array in ema_arrays(state).items()}
    counters: dict[str, Any] = {"windows": state.windows, "updates": state.updates}
    counters |= {"rows": n_rows, "moments": len(moments)}
    if settings.scale is not None:
        constant = {"scale": settings.scale[0], "good": 0, "bad": 0}
        counters |= {"stuck": stuck} | (scaler_counters(state) or constant)
    save_arrays(path, arrays, recipe=settings.recipe, counters=counters)


def load_checkpoint(
    path: Path, state: TrainState, settings: Settings, n_rows: int, most: int = MOST
) -> dict[str, Any]:
    """Continue from a checkpoint of the same recipe and rows; return its counters.

    `most`: windows of this run, all in all.
    """
    arrays, metadata = read_arrays(path)
    if metadata.get("recipe") != json.dumps(settings.recipe):
        raise Stop("failed", 2, f"{path} was written by another recipe")
    counters = read_counters(path, metadata.get("counters", ""), settings, n_rows)
    check_counters(path, counters, state, settings, most)
    weights = model_arrays(state)
    wanted = {f"model/{name}": array for name, array in weights.items()}
    if settings.averages:
        wanted |= {f"ema/{name}": array for name, array in ema_arrays(state).items()}
    for name in with_moments(path, arrays, counters, settings) & set(weights):
        for slot, shape in slot_shapes(settings.slots, weights[name].shape).items():
            wanted[f"optimizer/{slot}/{name}"] = np.zeros(shape, weights[name].dtype)
    check_arrays(path, arrays, wanted)
    unknown = sorted(arrays.keys() - wanted.keys())
    if unknown:
        raise Stop("failed", 2, f"{path}: {', '.join(unknown[:5])} fits no weight")
    moments = part_of(arrays, "optimizer/")
    # Only their number shows that some are lost: an untrained weight has none.
    saved = counters.get("moments", len(moments))
    if type(saved) is not int or saved != len(moments):
        raise Stop("failed", 2, f"{path} lacks moments: it has {len(moments)}")
    for key, array in arrays.items():
        slot = key.removeprefix("optimizer/").partition("/")[0]
        if slot in MEAN_SQUARES and (array < 0).any():
            raise Stop("failed", 2, f"{path}: {key}, a mean of squares, is negative")
    state.windows, state.updates = counters["windows"], counters["updates"]
    restore_model(state, {name: arrays[f"model/{name}"] for name in weights})
    restore_optimizer(state, moments, settings)
    if settings.averages:
        restore_ema(state, part_of(arrays, "ema/"))
    if settings.scale is not None:
        restore_scaler(state, counters)
    return counters


def part_of(arrays: Arrays, prefix: str) -> Arrays:
    """Return the arrays whose names begin with the prefix, by the rest of the name."""
    named = ((k, v) for k, v in arrays.items() if k.startswith(prefix))
    return {name.removeprefix(prefix): array for name, array in named}


def with_moments(
    path: Path, arrays: Arrays, counters: dict[str, Any], settings: Settings
) -> set[str]:
    """Return the names of the weights that must have moments."""
    if not settings.slots:
        return set()
    moments = [key for key in arrays if key.startswith("optimizer/")]
    held = {key.split("/", 2)[-1] for key in moments}
    if settings.limits is not None:  # every weight of the model is trained
        # Before the first update there may be none.
        started = held or counters["updates"]
        return set(part_of(arrays, "model/")) if started else set()
    if counters["updates"] and not held:
        raise Stop("failed", 2, f"{path} lacks moments: it has none")
    return held


def slot_shapes(
    slots: tuple[str, ...], shape: tuple[int, ...]
) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the moments of a weight, by slot."""
    if "row_var" not in slots:
        return dict.fromkeys(slots, shape)
    if len(shape) < 2:
        return {"variance": shape}
    return {"row_var": (*shape[:-1], 1), "col_var": (*shape[:-2], 1, shape[-1])}


def read_counters(
    path: Path, text: str, settings: Settings, n_rows: int
) -> dict[str, Any]:
    """Read the counters of a checkpoint, with values that a run can have saved."""
    try:
        counters = json.loads(text)
        windows = counters.get("windows")
    except (AttributeError, RecursionError, ValueError):
        raise Stop("failed", 2, f"{path} is damaged: it has no counters") from None
    limits: dict[str, tuple[Any, Any]] = {"windows": (0, MOST)}
    if settings.scale is None:
        limits["updates"] = (windows, windows)  # no window is skipped
    else:
        least, most = settings.scale
        limits |= dict.fromkeys(("updates", "stuck", "good", "bad"), (0, windows))
        limits["scale"] = (least, min(most, float(np.finfo(np.float32).max)))
    limits["rows"] = (1, MOST)
    counters.setdefault("rows", n_rows)
    for name, (least, most) in limits.items():
        value = counters.get(name)
        whole = type(value) is int or name == "scale" and type(value) is float
        if not whole or not least <= value <= most:
            right = f"{name} must be a number from {least} to {most}"
            raise Stop("failed", 2, f"{path} is damaged: {right}")
    # With another number of rows the window number means another place in the data.
    if counters["rows"] != n_rows:
        there = f"{counters['rows']} training rows, not {n_rows}"
        raise Stop("failed", 2, f"{path} was written with {there}")
    if "scale" in limits:
        counters["scale"] = float(counters["scale"])
    return counters


def check_counters(
    path: Path,
    counters: dict[str, Any],
    state: TrainState,
    settings: Settings,
    most: int,
) -> None:
    """Refuse counters that no run of these settings has together."""
    windows, updates = counters["windows"], counters["updates"]
    if windows > most:
        there = f"{windows} windows, and this run ends after {most}"
        raise Stop("failed", 2, f"{path} was written after {there}: see --windows")
    if settings.scale is None:
        return
    machine, skipped = getattr(state, "loss_scale", None), windows - updates
    limits = {"good": updates, "bad": skipped, "stuck": skipped}
    # Where the command line sets them, that of the run before may have differed.
    if not hasattr(machine, "growth_interval"):
        interval, overflows = settings.counts
        limits["good"] = min(updates, interval - 1)  # the scale grows at this number
        limits["bad"] = min(skipped, overflows - 1)  # and falls at this one
        limits["stuck"] = 0 if counters["good"] else skipped
    for name, limit in limits.items():
        if counters[name] > limit:
            after = f"after {updates} updates in {windows} windows"
            right = f"{name} must be a number from 0 to {limit} {after}"
            raise Stop("failed", 2, f"{path} is damaged: {right}")


def read_arrays(path: Path) -> tuple[Arrays, dict[str, str]]:
    """Read a safetensors file: its arrays by name, and its metadata."""
    try:
        with safe_open(regular(path), framework="np") as file:
            arrays = {name: file.get_tensor(name) for name in sorted(file.keys())}
            return arrays, file.metadata() or {}
    except (AttributeError, OSError, TypeError, ValueError, SafetensorError) as error:
        raise Stop("failed", 2, f"cannot read {path}: {error}") from None


def load_weights(path: Path, state: TrainState, settings: Settings) -> None:
    """Load weights by their canonical names; a new classifier may be missing."""
    arrays, _ = read_arrays(path)
    if settings.limits is not None:
        # Early BERT files name the parameters of LayerNorm gamma and beta.
        for suffix, new in {".gamma": ".weight", ".beta": ".bias"}.items():
            for name in [name for name in arrays if name.endswith(suffix)]:
                arrays[name.removesuffix(suffix) + new] = arrays.pop(name)
    wanted = model_arrays(state)
    fresh = [n for n in wanted if n.startswith("classifier.") and n not in arrays]
    arrays |= {name: wanted[name] for name in fresh}
    for name in wanted.keys() & arrays.keys():
        array, dtype = arrays[name], wanted[name].dtype
        kinds = {array.dtype.kind, dtype.kind}
        floats = kinds <= {"f", "V"}  # V is bfloat16, where NumPy knows it
        if floats or kinds <= {"i", "u"}:
            with np.errstate(over="ignore"):
                cast = array.astype(dtype)
            # Integers must stay what they are.
            if floats or np.array_equal(cast, array):
                arrays[name] = cast
    check_arrays(path, arrays, wanted)
    if fresh:
        print(f"new weights for {', '.join(fresh)}")
    restore_model(state, {name: arrays[name] for name in wanted})


def check_arrays(path: Path, arrays: Arrays, wanted: Arrays) -> None:
    """Refuse arrays of another name, shape or type, or that are not finite."""
    missing = [name for name in wanted if name not in arrays]
    if missing:
        raise Stop("failed", 2, f"{path} lacks {', '.join(missing[:5])}")
    for name, like in wanted.items():
        array = arrays[name]
        if (array.dtype, array.shape) != (like.dtype, like.shape):
            there = f"{array.dtype} {array.shape}, not {like.dtype} {like.shape}"
            raise Stop("failed", 2, f"{path}: {name} is {there}")
        if (np.isfinite(like) & ~np.isfinite(array)).any():  # a mask may hold -inf
            raise Stop("failed", 2, f"{path}: {name} is not finite")
