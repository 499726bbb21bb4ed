"""What a loaded script needs before it is wrapped: compiled code is kept, micro-batches count.

One call of a compiled function may train a whole window, and XLA runs what does not depend on each
other in any order, so counting tells nothing. What is known about a micro-batch must therefore be
in its data: before the script is wrapped by anything else, its windows get an array more, which
its loss function does not see.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jax
import numpy as np

COMPILED = "CROSSCAST_COMPILED"
"""The variable in which the harness names a folder for compiled code (`processes.process`)."""
WORTH_KEEPING = 0.1
"""Seconds of compiling from which a function is kept."""
NUMBER = "crosscast: number of the micro-batch"


class Numbered(Sequence[Any]):
    """The micro-batches of a window, each with its number, once for every row."""

    def __init__(self, micro_batches: Sequence[Any]) -> None:
        self._micro_batches = micro_batches

    def __len__(self) -> int:
        return len(self._micro_batches)

    def __getitem__(self, index: Any) -> Any:
        return self._micro_batches[index]

    def __iter__(self) -> Iterator[Any]:
        for number, batch in enumerate(self._micro_batches):
            rows = len(next(iter(batch.values())))
            yield {**batch, NUMBER: np.full(rows, number, np.int32)}


class _Current:
    number: Any = None


def number() -> Any:
    """Return the number of the micro-batch whose loss was called last; None if it has none.

    While the loss is traced, an array of that trace.
    """
    return _Current.number


def prepare(module: Any) -> None:
    """Number the micro-batches of a loaded script; its source stays as it is."""
    _keep_compiled()
    train, loss = module.train_window, module.micro_batch_loss

    def train_window(state: Any, micro_batches: Any, *args: Any, **kwargs: Any) -> Any:
        return train(state, Numbered(micro_batches), *args, **kwargs)

    def micro_batch_loss(model: Any, batch: Mapping[str, Any], *args: Any, **kwargs: Any) -> Any:
        numbers = batch.get(NUMBER)
        _Current.number = None if numbers is None else numbers[0]
        own = {name: array for name, array in batch.items() if name != NUMBER}
        return loss(model, own, *args, **kwargs)

    module.train_window, module.micro_batch_loss = train_window, micro_batch_loss


def _keep_compiled() -> None:
    """Let the runs of a comparison share compiled functions, unless the user keeps them already.

    JAX compiles every function of a script that is loaded again, and compiling takes most of the
    time of a short run. Functions with callbacks are never kept.
    """
    folder = os.environ.get(COMPILED)
    if folder and not jax.config.jax_compilation_cache_dir:
        jax.config.update("jax_compilation_cache_dir", folder)
        jax.config.update("jax_persistent_cache_min_compile_time_secs", WORTH_KEEPING)
