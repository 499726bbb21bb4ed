"""Drives emitted steps that may be faulty: `run_steps.py FRAMEWORK FOLDER...`.

As `frameworks/run_steps_<framework>.py`, but a step that raises is reported as `{"error": ...}`.
"""

from __future__ import annotations

import importlib
import json
import sys
import warnings
from pathlib import Path
from typing import Any


def prepare(framework: str) -> None:
    """Set the process up as the framework's own driver does."""
    if framework == "torch":
        import torch

        torch.set_num_threads(1)
    elif framework == "tensorflow":
        import tensorflow as tf

        tf.config.threading.set_intra_op_parallelism_threads(1)
        tf.config.threading.set_inter_op_parallelism_threads(1)
        tf.config.run_functions_eagerly(True)  # compiling takes longer than running
    elif framework == "jax":
        import jax

        jax.config.update("jax_default_matmul_precision", "highest")
    else:
        from crosscast_paddle.inside.on_cpu import enable_scaler

        enable_scaler()
        # NumPy 2.4 raises TypeError where earlier releases warn.
        warnings.filterwarnings("error", category=DeprecationWarning, message=".*ndim > 0.*")


def report(driver: Any, folder: Path) -> dict[str, Any]:
    try:
        found = driver.drive(folder)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    return {"rows": found["rows"]}


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    prepare(sys.argv[1])
    DRIVER = importlib.import_module(f"frameworks.run_steps_{sys.argv[1]}")
    print(json.dumps({folder: report(DRIVER, Path(folder)) for folder in sys.argv[2:]}))
