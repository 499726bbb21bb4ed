"""Trace emitted JAX scripts without compiling them: `run_traced_jax.py TEXTS` prints JSON.

TEXTS is a JSON file with the Python files of each script, by its name. Printed is of each what
stops it, if anything, and a hash of the programs that its windows and its evaluation would run.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

FIXED = {
    "full_window": 3,
    "begin_window": 1,
    "add_micro_batch": 2,
    "end_window": 2,
    "evaluate_batch": 1,
}
"""The compiled functions of a script, and how many of their arguments are no arrays."""
WINDOWS = ((4, 4, 4, 4), (4, 4, 4, 4), (2,))
"""Rows of the micro-batches: the second window gets what the first left, the last is short."""
OWN = re.compile("(train|model|runtime.*)")


def batch(rows: int) -> dict[str, np.ndarray]:
    """Return rows of tokens."""
    tokens = np.ones((rows, 12), np.int64)
    inputs = dict.fromkeys(("input_ids", "attention_mask", "token_type_ids"), tokens)
    return {**inputs, "labels": np.arange(rows) % 3}


def loaded(texts: Mapping[str, str]) -> Any:
    """Return the module of a script."""
    for name in [name for name in sys.modules if OWN.fullmatch(name)]:
        del sys.modules[name]
    with TemporaryDirectory() as folder:
        for name, text in texts.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        sys.path.insert(0, folder)
        importlib.invalidate_caches()
        try:
            script = importlib.import_module("train")
            importlib.import_module("runtime.state")
        finally:
            sys.path.remove(folder)
    return script


def traced(function: Any, fixed: int, programs: list[str]) -> Callable[..., Any]:
    """Return a function that notes its program and returns zeros of the right shapes.

    As one that is compiled, it is traced once for the same fixed arguments and shapes.
    """
    known: dict[Any, tuple[Any, Any]] = {}

    def call(*args: Any) -> Any:
        def free(*arrays: Any) -> Any:
            return function.__wrapped__(*args[:fixed], *arrays)

        leaves, tree = jax.tree.flatten(args[fixed:])
        key = *map(id, args[:fixed]), tree, *map(jax.typeof, leaves)
        if key not in known:
            program, shapes = jax.make_jaxpr(free, return_shape=True)(*args[fixed:])
            programs.append(re.sub("0x[0-9a-f]+", "", str(program)))
            known[key] = shapes, args[:fixed]  # kept, so that no other gets one of these numbers
        shapes, _ = known[key]
        return jax.tree.map(lambda shape: jnp.zeros(shape.shape, shape.dtype), shapes)

    return call


def programs_of(texts: Mapping[str, str]) -> str:
    """Return a hash of what windows, evaluation and checkpoint of a script compute."""
    script, programs = loaded(texts), list[str]()
    for name, fixed in FIXED.items():
        setattr(script, name, traced(getattr(script, name), fixed, programs))
    state = script.start(script.build_model(nnx.Rngs(0)))
    for rows in WINDOWS:
        script.train_window(state, [batch(n) for n in rows], script.micro_batch_loss)
    script.evaluate(state, [batch(4)])
    runtime: Any = sys.modules["runtime.state"]
    moments = runtime.optimizer_arrays(state)
    runtime.restore_model(state, runtime.model_arrays(state))
    runtime.restore_optimizer(state, moments, script.SETTINGS)
    return hashlib.sha256("".join(programs).encode()).hexdigest()


def told(texts: Mapping[str, str]) -> dict[str, str]:
    """Return what stops a script, and its hash."""
    try:
        return {"stopped": "", "programs": programs_of(texts)}
    except Exception as error:
        return {"stopped": repr(error), "programs": ""}


def main(path: str) -> None:
    """Print what is told of every script."""
    jax.config.update("jax_platforms", "cpu")
    sys.dont_write_bytecode = True
    scripts: dict[str, dict[str, str]] = json.loads(Path(path).read_text())
    print(json.dumps({name: told(texts) for name, texts in scripts.items()}))


if __name__ == "__main__":
    main(*sys.argv[1:])
