"""Types of a model's operations under emulated float16: `own_model_types.py FRAMEWORK FILE`.

FILE is JSON: a list of [name, source of the model, options of auto_cast]. Prints the manifest of
one forward pass of each, by name.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import numpy as np

from crosscast_parity.inside.emulate import install
from crosscast_parity.inside.manifest import Recorder
from crosscast_parity.inside.modules import module_of

TOKENS = np.arange(16).reshape(2, 8) % 7
Call = Callable[[Any], Any]
Build = Callable[[ModuleType], Any]
Region = Callable[[dict[str, Any]], AbstractContextManager[Any]]


def torch_calls() -> tuple[Call, Region]:
    import torch

    def region(options: dict[str, Any]) -> Any:
        return torch.autocast("cpu", torch.float16, **options)

    return lambda model: model.eval()(torch.from_numpy(TOKENS)), region


def paddle_calls() -> tuple[Call, Region]:
    import paddle

    def call(model: Any) -> Any:
        model.eval()
        return model(paddle.to_tensor(TOKENS))

    def region(options: dict[str, Any]) -> Any:
        return paddle.amp.auto_cast(dtype="float16", **options)

    return call, region


def tensorflow_calls() -> tuple[Call, Region]:
    import keras
    import tensorflow as tf

    keras.config.set_dtype_policy("mixed_float16")

    def call(model: Any) -> Any:
        return model({"tokens": tf.constant(TOKENS)}, training=False)

    return call, lambda options: nullcontext()


def jax_calls() -> tuple[Call, Region]:
    import jax
    import jax.numpy as jnp

    def call(model: Any) -> Any:
        return jax.eval_shape(model, jnp.asarray(TOKENS))

    return call, lambda options: nullcontext()


def typed_by_a_script() -> Build:
    """Return what builds a model of Flax whose layers have the types that a script gives them."""
    from flax import nnx

    from frameworks.emitted_script import FLOAT16, emit, tiny_recipe

    with TemporaryDirectory() as folder:
        own = {"kind": "custom", "factory": {"jax": "own:build_model"}}
        emit(tiny_recipe(model=own, precision=FLOAT16), "jax", Path(folder))
        (Path(folder) / "own.py").write_text("build_model = None\n")
        sys.path.insert(0, folder)
        set_types = importlib.import_module("train").set_types

    def build(module: ModuleType) -> Any:
        model = module.build_tiny(nnx.Rngs(0))
        set_types(model)
        model.eval()
        return model

    return build


CALLS = {
    "torch": torch_calls,
    "tensorflow": tensorflow_calls,
    "paddle": paddle_calls,
    "jax": jax_calls,
}


def main(framework: str, programs: list[tuple[str, str, dict[str, Any]]]) -> dict[str, Any]:
    inside = f"crosscast_{framework}.inside"
    install(inside)
    call, region = CALLS[framework]()
    build = typed_by_a_script() if framework == "jax" else lambda module: module.build_tiny()
    found = {}
    for name, source, options in programs:
        module = ModuleType(name)
        exec(compile(source, f"{name}.py", "exec"), module.__dict__)
        model, recorder = build(module), Recorder()
        tap = module_of(inside, "manifest").make_tap()
        with region(options):
            tap.start(recorder, model)
            try:
                call(model)
            finally:
                tap.stop()
        found[name] = recorder.facts() | recorder.sequence() | {"format": 1}
    return found


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], json.loads(Path(sys.argv[2]).read_text()))))
