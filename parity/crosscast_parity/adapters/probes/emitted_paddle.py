"""The emitted Paddle script on the neutral cases, with half precision emulated on the CPU."""

from __future__ import annotations

import importlib
import math
from types import ModuleType
from typing import Any

from crosscast_parity.adapters.cases import START, Case, NotAsked, Seen
from crosscast_parity.adapters.probes import emitted
from crosscast_parity.inside.emitted import offered, part_of, prepared
from crosscast_parity.inside.emulate import install

PACKAGES = ("crosscast", "paddlepaddle")

adapt = install("crosscast_paddle.inside")
paddle: Any = importlib.import_module("paddle")


def build_model() -> Any:
    """Return a model with one weight; the loss of a row is weight * row."""

    class Toy(paddle.nn.Layer):
        def __init__(self) -> None:
            super().__init__()
            start = paddle.nn.initializer.Constant(START)
            self.weight = self.create_parameter([1], default_initializer=start)

        def forward(self, rows: Any) -> Any:
            return self.weight * rows

    return Toy()


def load(case: Case, build: Any) -> ModuleType:
    """Import the script, made to believe in half precision."""
    module = emitted.load_script(case, "paddle", build)
    adapt(module)
    return module


def steps(optimizer: Any) -> float:
    """Return the optimizer's own count of steps: it holds beta to the power of the next one."""
    held = optimizer.state_dict()
    (power,) = (float(held[name]) for name in held if name.endswith("beta1_pow_acc_0"))
    return float(round(math.log(power) / math.log(0.9)) - 1)


def run(case: Case) -> Seen:
    """Train the toy."""
    if case.fused:
        raise NotAsked("no such setting")
    module = load(case, build_model)
    state = prepared(module, "cpu")

    def loss(model: Any, batch: dict[str, Any]) -> Any:
        return model(rows=batch["rows"]).astype("float32").sum()

    def look() -> tuple[float, list[float]]:
        weight = float(next(iter(state.model.parameters())))
        if case.optimizer == "sgd":
            return weight, []
        arrays = offered(module, "optimizer_arrays")(state)
        moments = [
            float(array.ravel()[0])
            for slot in ("exp_avg/", "exp_avg_sq/")
            for name, array in arrays.items()
            if name.startswith(slot)
        ]
        return weight, [steps(state.optimizer), *moments] if moments else []

    return emitted.train(case, module, state, loss, look)


def half() -> dict[str, Any]:
    """Ask for float16 on a CPU, without emulation."""
    module = emitted.load_script(Case(name="half", rows=(1.0,), scale=1.0), "paddle", build_model)
    device = part_of(module, "device")
    assert device is not None  # every emitted script has one
    try:
        device.require_amp("cpu", "float16", "use_fp16")
    except device.Stop as stop:
        return {"refused": f"exit code {stop.exit_code}"}
    return {"computed": "float16", "scaler": True, "warned": False}
