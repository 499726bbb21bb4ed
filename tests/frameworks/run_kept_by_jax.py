"""Compile functions of scripts that were prepared: `run_kept_by_jax.py FOLDER OWN`, prints JSON.

FOLDER is the one that the harness names; OWN is that of the user, empty for none. `kept`: the
number of files in FOLDER after the first script and after the second, whose function is the same.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp

from crosscast_jax.inside import prepare


def compiled(value: float) -> Any:
    """Compile a function again, as a script that is loaded again does."""
    module = SimpleNamespace(train_window=None, micro_batch_loss=None)
    prepare.prepare(module)
    step = jax.jit(lambda x: jnp.tanh(jnp.linalg.cholesky(x @ x.T + jnp.eye(40))).sum())
    return float(step(jnp.full((40, 40), value)))


def main() -> None:
    """Compile the function twice; print what is kept, and what both calls return."""
    folder, own = Path(sys.argv[1]), sys.argv[2]
    os.environ[prepare.COMPILED] = str(folder)
    jax.config.update("jax_compilation_cache_dir", own or None)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    prepare.WORTH_KEEPING = 0.0
    kept, values = [], []
    for _ in range(2):
        values.append(compiled(0.5))
        kept.append(len(list(folder.glob("*"))))
    print(json.dumps({"kept": kept, "values": values}))


if __name__ == "__main__":
    main()
