"""Observe a toy script: `observe_job.py FRAMEWORK SCRIPT FOLDER`; prints what is left behind.

First with faults in both orders of installation, then alone, to look for what stays in the
framework and in the script.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

from crosscast_parity.inside.inject import make_injector, parse_fault
from crosscast_parity.inside.observe import install
from crosscast_parity.inside.script import load_script

FAULTS = [parse_fault("1:0=inf@head.bias"), parse_fault("1:1=nan")]


def watched_owners(framework: str) -> list[Any]:
    """Modules and classes that the observer replaces attributes of for a while."""
    module = importlib.import_module(framework)
    if framework == "torch":
        return [module, module.Tensor, module.nn.functional, module.autograd]
    if framework == "paddle":
        return [module, module.Tensor, module._C_ops]
    keras = importlib.import_module("keras")
    layers = [keras.layers.Embedding, keras.layers.LayerNormalization]
    return [
        module,
        module.nn,
        module.math,
        module.linalg,
        module.Tensor,
        module.GradientTape,
        *layers,
    ]


def snapshot(owners: list[Any]) -> list[dict[str, int]]:
    return [{name: id(value) for name, value in vars(owner).items()} for owner in owners]


def hooks_left(framework: str, state: Any) -> int:
    if framework != "torch":
        return 0
    modes = importlib.import_module("torch.overrides")._get_current_function_mode_stack()
    parameters = state.model.values()
    return len(modes) + sum(bool(parameter._backward_hooks) for parameter in parameters)


def run(framework: str, script: Path, folder: Path, order: str) -> None:
    module: Any = load_script(script)
    inside = f"crosscast_{framework}.inside"
    steps = {
        "inject": lambda: make_injector(inside, FAULTS).install(module),
        "observe": lambda: stops.append(install(inside, module, folder, range(2), True)),
    }
    stops: list[Any] = []
    for step in order.split("-"):
        steps[step]()
    module.main()
    stops[0]()


def main(framework: str, script: Path, folder: Path) -> None:
    owners = watched_owners(framework)
    before = snapshot(owners)
    module: Any = load_script(script)
    seams = (module.train_window, module.micro_batch_loss)
    state = module.make_state()
    module.make_state = lambda: state
    stop = install(f"crosscast_{framework}.inside", module, folder / "observe", range(2), True)
    module.main()
    changed = [
        f"{owner.__name__}.{name}"
        for owner, old, new in zip(owners, before, snapshot(owners), strict=True)
        for name in old.keys() | new.keys()
        if old.get(name) != new.get(name)
    ]
    stop()
    stop()
    restored = seams == (module.train_window, module.micro_batch_loss)
    hooks = hooks_left(framework, state)
    for order in ("inject-observe", "observe-inject"):
        run(framework, script, folder / order, order)
    print(json.dumps({"changed": changed, "restored": restored, "hooks": hooks}))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
