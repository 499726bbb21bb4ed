"""Print what own_losses of migrated files returns, as JSON by file: framework, folder."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np


def main() -> None:
    """Call every `*.py` of a folder with the rows beside it; the model returns its input."""
    framework, folder = sys.argv[1], Path(sys.argv[2])
    arrays = dict(np.load(folder / "rows.npz"))
    found = {}
    for path in sorted(folder.glob("*.py")):
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module: Any = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        found[path.stem] = [float(x) for x in losses(framework, module, arrays)]
    print(json.dumps(found))


def losses(framework: str, module: Any, arrays: dict[str, np.ndarray]) -> Any:
    if framework == "tensorflow":
        import tensorflow as tf

        batch: Any = {name: tf.constant(array) for name, array in arrays.items()}
        return module.own_losses(lambda inputs, training: inputs["x"], batch, training=True)
    if framework == "torch":
        import torch

        batch = {name: torch.from_numpy(array) for name, array in arrays.items()}
    elif framework == "jax":
        import jax.numpy as jnp

        batch = {name: jnp.asarray(array) for name, array in arrays.items()}
    else:
        import paddle

        batch = {name: paddle.to_tensor(array) for name, array in arrays.items()}
    return module.own_losses(lambda x: x, batch)


if __name__ == "__main__":
    main()
