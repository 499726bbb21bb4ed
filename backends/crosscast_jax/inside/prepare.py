"""Micro-batches that tell their number, wherever a compiled function is.

One call of a compiled function may train a whole window, and XLA runs what does not depend on each
other in any order, so counting tells nothing. What is known about a micro-batch must therefore be
in its data: before the script is wrapped by anything else, its windows get an array more, which
its loss function does not see.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

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
    train, loss = module.train_window, module.micro_batch_loss

    def train_window(state: Any, micro_batches: Any, *args: Any, **kwargs: Any) -> Any:
        return train(state, Numbered(micro_batches), *args, **kwargs)

    def micro_batch_loss(model: Any, batch: Mapping[str, Any], *args: Any, **kwargs: Any) -> Any:
        numbers = batch.get(NUMBER)
        _Current.number = None if numbers is None else numbers[0]
        own = {name: array for name, array in batch.items() if name != NUMBER}
        return loss(model, own, *args, **kwargs)

    module.train_window, module.micro_batch_loss = train_window, micro_batch_loss
