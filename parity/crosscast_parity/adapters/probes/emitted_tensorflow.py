"""The emitted TensorFlow script on the neutral cases."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np

from crosscast_parity.adapters.cases import Case, NotAsked, Seen
from crosscast_parity.adapters.probes import emitted
from crosscast_parity.adapters.probes import keras as toy
from crosscast_parity.inside.emitted import offered, prepared

PACKAGES = ("crosscast", "tensorflow-cpu", "keras")


def build_model(layer: Any = None) -> Any:
    """Return a model that is called with a dictionary of arrays."""
    rows = keras.Input((1,), name="rows")
    return keras.Model({"rows": rows}, (layer or toy.Toy())(rows))


def loss(model: Any, batch: dict[str, Any]) -> Any:
    """Summed loss of a micro-batch."""
    rows = keras.ops.expand_dims(batch["rows"], -1)
    return keras.ops.sum(keras.ops.cast(model({"rows": rows}), "float32"))


def run(case: Case) -> Seen:
    """Train the toy."""
    if case.fused:
        raise NotAsked("no such setting")
    keras.config.set_dtype_policy("float32")
    module = emitted.load_script(case, "tensorflow", build_model)
    state = prepared(module, "/CPU:0")

    def look() -> tuple[float, list[float]]:
        weight = float(np.asarray(state.model.trainable_variables[0])[0])
        if case.optimizer == "sgd":
            return weight, []
        arrays = offered(module, "optimizer_arrays")(state)
        moments = [
            float(array.ravel()[0])
            for slot in ("exp_avg/", "exp_avg_sq/")
            for name, array in arrays.items()
            if name.startswith(slot)
        ]
        return weight, [float(state.optimizer.iterations), *moments]

    return emitted.train(case, module, state, loss, look)


def half() -> dict[str, Any]:
    """Train in float16 on a CPU."""
    case = Case(name="half", rows=(1.0,), scale=1.0)
    dense = keras.layers.Dense(1, dtype="mixed_float16")
    module = emitted.load_script(case, "tensorflow", lambda: build_model(dense))
    state = prepared(module, "/CPU:0")
    batch = {"rows": np.ones(1, np.float32), "labels": np.zeros(1, np.int32)}
    module.train_window(state, [batch], loss)
    computed = state.model({"rows": np.ones((1, 1), np.float32)}).dtype.name
    return {"computed": computed, "scaler": True, "warned": False}
