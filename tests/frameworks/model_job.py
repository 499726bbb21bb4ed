"""What the three model runners share: one framework's results for an emitted model.py.

A runner is started as `run_model_<framework>.py FOLDER`. FOLDER holds plain/model.py and
dropout/model.py (the emitted files), bert.safetensors, stress.safetensors and batch.npz. It writes
FOLDER/<framework>.npz, with everything in canonical layout, and FOLDER/<framework>.json, which
says in which types each operation ran: `{dtype: {operation: [types of its results]}}`.
"""

from __future__ import annotations

import importlib.util
import json
from collections import defaultdict
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

import numpy as np
from safetensors.numpy import load_file

Arrays = dict[str, np.ndarray]
HALVES = ("float16", "bfloat16")
STYLES = ("bert", "stress")


class Adapter(Protocol):
    """What differs between frameworks. `dtype` is float32, float16 or bfloat16."""

    name: str
    halves: tuple[str, ...]
    """The half types that can be computed on this machine."""
    typed: tuple[str, ...]
    """The half types whose operations can be listed."""

    def seed(self, number: int) -> None: ...

    def build(self, module: ModuleType, dtype: str) -> Any: ...

    def read(self, parameter: Any) -> np.ndarray: ...

    def write(self, parameter: Any, array: np.ndarray) -> None: ...

    def logits(self, model: Any, batch: Arrays, *, training: bool) -> np.ndarray: ...

    def gradients(
        self, model: Any, parameters: dict[str, Any], batch: Arrays, dtype: str
    ) -> tuple[np.ndarray, float, Arrays]:
        """Return logits, mean cross-entropy and gradients of a run without dropout."""

    def types(self, model: Any, batch: Arrays, dtype: str) -> dict[str, set[str]]:
        """Return the types of the results of each kind of operation in a forward pass."""


def import_model(folder: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"model_{folder.name}", folder / "model.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(adapter: Adapter, folder: Path) -> None:
    plain, dropout = import_model(folder / "plain"), import_model(folder / "dropout")
    with np.load(folder / "batch.npz", allow_pickle=False) as file:
        batch = dict(file)
    results: Arrays = {}
    types: dict[str, dict[str, list[str]]] = defaultdict(dict)

    @cache
    def built(dtype: str) -> Any:
        return adapter.build(plain, dtype)

    adapter.seed(1)
    model = built("float32")
    fresh = parameters_of(model)
    results |= {f"fresh/{n}": exchange(model, n, adapter.read(p)) for n, p in fresh.items()}

    for style in STYLES:
        weights = load_file(folder / f"{style}.safetensors")
        for dtype in ("float32", *(adapter.halves if style == "stress" else ())):
            results |= compute(adapter, built(dtype), weights, batch, dtype, f"{style}/{dtype}")

    padding = batch | {"attention_mask": np.zeros_like(batch["attention_mask"])}
    results["padding/logits"] = adapter.logits(built("float32"), padding, training=False)

    model = adapter.build(dropout, "float32")
    load_weights(adapter, model, weights)
    results |= {
        f"dropout/{name}": adapter.logits(model, batch, training=training)
        for name, training in (("eval", False), ("train 1", True), ("train 2", True))
    }
    for dtype in ("float32", *adapter.typed):  # last: what records types stays in the model
        found = adapter.types(built(dtype), batch, dtype)
        types[dtype] = {operation: sorted(names) for operation, names in found.items()}
    np.savez(folder / f"{adapter.name}.npz", **results)  # type: ignore[arg-type]
    (folder / f"{adapter.name}.json").write_text(json.dumps(types))


def compute(
    adapter: Adapter, model: Any, weights: Arrays, batch: Arrays, dtype: str, case: str
) -> Arrays:
    parameters = load_weights(adapter, model, weights)
    logits, loss, gradients = adapter.gradients(model, parameters, batch, dtype)
    named = {f"{case}/grad/{n}": exchange(model, n, g) for n, g in gradients.items()}
    return {f"{case}/logits": logits, f"{case}/loss": np.array(loss), **named}


def parameters_of(model: Any) -> dict[str, Any]:
    """Return the trainable parameters by their canonical names, as `runtime/state.py` does."""
    own = "canonical_parameters" if hasattr(model, "canonical_parameters") else "named_parameters"
    return dict(getattr(model, own)())


def load_weights(adapter: Adapter, model: Any, weights: Arrays) -> dict[str, Any]:
    """Write the weights, check that they can be read back, and return the parameters."""
    parameters = parameters_of(model)
    assert parameters.keys() == weights.keys(), parameters.keys() ^ weights.keys()
    for name, array in weights.items():
        adapter.write(parameters[name], exchange(model, name, array))
        held = exchange(model, name, adapter.read(parameters[name]))
        np.testing.assert_array_equal(held, array, err_msg=name)
    return parameters


def exchange(model: Any, name: str, array: np.ndarray) -> np.ndarray:
    """Convert between the layout of a model and the canonical one, which PyTorch's is."""
    convert = getattr(model, "canonical_layout", lambda name, array: array)
    exchanged: np.ndarray = convert(name, array)
    back = convert(name, exchanged)
    np.testing.assert_array_equal(back, array, err_msg=f"{name}: not its own inverse")
    return exchanged
