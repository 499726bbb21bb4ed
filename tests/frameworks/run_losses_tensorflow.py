"""Computes the losses of emitted TensorFlow scripts: `run_losses_tensorflow.py FOLDER…`.

Every folder has a script, the user's model and losses, and `rows.npz`. Prints as JSON, by name of
the folder: the loss of all rows as one micro-batch and the evaluation, or how they fail.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import tensorflow as tf


def loaded(folder: Path) -> ModuleType:
    """Import the script of a folder and the user's modules; the runtime is the same in all."""
    for name in [name for name in sys.modules if name.startswith("my_")]:
        del sys.modules[name]
    sys.path[0] = str(folder)
    spec = importlib.util.spec_from_file_location(f"train_{folder.name}", folder / "train.py")
    assert spec
    assert spec.loader
    sys.modules[spec.name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def losses(script: Any, model: Any, rows: dict[str, Any]) -> dict[str, Any]:
    """Return the loss, compiled for any number of rows, and the evaluation."""
    arrays = {name: tf.TensorSpec((None, *a.shape[1:]), a.dtype) for name, a in rows.items()}
    loss = tf.function(
        lambda batch: script.micro_batch_loss(model, batch), input_signature=[arrays]
    )
    return {
        "loss": float(loss(rows)),
        "eval": script.evaluate(SimpleNamespace(model=model), [rows]),
    }


def main() -> None:
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    folders = [Path(name) for name in sys.argv[1:]]
    sys.path.insert(0, str(folders[0]))
    from runtime.sources import read_rows

    found: dict[str, Any] = {}
    for folder in folders:
        script: Any = loaded(folder)
        rows = read_rows(folder / "rows.npz", script.SETTINGS)
        model = script.build_model()
        try:
            found[folder.name] = losses(script, model, rows)
        except (ValueError, tf.errors.InvalidArgumentError) as error:
            found[folder.name] = {"error": str(error)}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
