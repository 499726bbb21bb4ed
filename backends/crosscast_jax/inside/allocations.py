"""What XLA allocates for a window of an emitted JAX script, by its own analysis.

`python -m crosscast_jax.inside.allocations SCRIPT JSON`, in a process of its own. A window is one
compiled function, and XLA decides as it compiles it where every array lies. It tells the sizes, so
the model is built and the window compiled, but nothing is trained.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any

# Code is generated after memory was planned, and this one is not for running.
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_backend_optimization_level=0"

import jax

from crosscast_parity.inside.answer import answer
from crosscast_parity.inside.emitted import offered, prepared
from crosscast_parity.inside.script import load_script
from crosscast_parity.inside.user_code import search_in
from crosscast_parity.inside.windows import rows_of, window_of

MATMUL_PRECISION = "highest"
"""As the script chooses it without TensorFloat-32, which a CPU does not have."""


class _Analysed(Exception):
    """The window was compiled, and need not run."""


class CompiledWindow:
    """In place of the script's `full_window`: compiles what it is called with."""

    def __init__(self, full_window: Any) -> None:
        self._full_window = full_window
        self.sizes: Any = None
        """XLA's analysis, once the window was called."""

    def __call__(self, *arguments: Any) -> None:
        """Compile the window and leave `train_window`."""
        self.sizes = self._full_window.lower(*arguments).compile().memory_analysis()
        raise _Analysed

    def peak(self) -> int:
        """Bytes while the window runs.

        XLA holds the arguments, the results that do not take the place of an argument, and one
        piece of memory in which everything else has its place.
        """
        sizes = self.sizes
        results = sizes.output_size_in_bytes - sizes.alias_size_in_bytes
        total: int = sizes.argument_size_in_bytes + results + sizes.temp_size_in_bytes
        return total


def find(path: Path, options: dict[str, Any]) -> dict[str, Any]:
    """Return the peak of the script's window, as XLA plans it."""
    jax.config.update("jax_default_matmul_precision", MATMUL_PRECISION)
    search_in(options["folder"])
    script: Any = load_script(path)
    state = prepared(script, jax.local_devices()[0])
    window = window_of(rows_of(options), options["micro_batch"])
    compiled = script.full_window = CompiledWindow(script.full_window)
    with contextlib.suppress(_Analysed):
        script.train_window(state, window, script.micro_batch_loss)
    return {
        "peak": compiled.peak(),
        "where": [],
        "version": jax.__version__,
        "sizes": known_sizes(script, state),
        "holds_window": True,  # the script stacks its micro-batches
        "planned": True,
    }


def known_sizes(script: Any, state: Any) -> dict[str, int]:
    """Return the memory that a script holds between windows (`inside.windows.known_sizes`)."""
    arrays = state.arrays
    weights = jax.tree.leaves(arrays.weights)
    moments = offered(script, "optimizer_arrays")(state).values()
    return {
        "parameters": sum(array.nbytes for array in [*weights, *_own_numbers(arrays.rest)]),
        "trained": sum(array.size for array in weights),
        "optimizer": sum(array.nbytes for array in moments),
        "ema": sum(array.nbytes for array in jax.tree.leaves(getattr(arrays, "averages", ()))),
    }


def _own_numbers(rest: Any) -> list[Any]:
    """Return the arrays of a model besides weights, without keys of random numbers."""
    leaves, keys = jax.tree.leaves(rest), jax.dtypes.prng_key
    return [array for array in leaves if not jax.dtypes.issubdtype(array.dtype, keys)]


if __name__ == "__main__":
    answer(find)
