"""Read rows ahead, in threads of tf.data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import tensorflow as tf

from .sources import Batch, Rows


def load(rows: Rows, numbers: Iterable[np.ndarray], workers: int) -> Iterator[Batch]:
    """Yield the rows with these numbers, one micro-batch after the other."""
    if not workers:
        yield from map(rows.rows, numbers)
        return
    types = {name: array.dtype for name, array in rows.rows(np.arange(1)).items()}
    failures: list[Exception] = []  # TensorFlow does not hand them over

    def read(indices: np.ndarray) -> list[np.ndarray]:
        try:
            batch = rows.rows(indices)
            return [batch[name] for name in types]
        except Exception as error:
            failures.append(error)
            raise

    def read_tensors(indices: tf.Tensor) -> list[tf.Tensor]:
        return tf.numpy_function(read, [indices], list(types.values()))

    spec = tf.TensorSpec((None,), tf.int64)
    data = tf.data.Dataset.from_generator(lambda: numbers, output_signature=spec)
    data = data.map(read_tensors, num_parallel_calls=workers, deterministic=True)
    batches = data.prefetch(workers).as_numpy_iterator()
    while True:
        try:
            arrays = next(batches)
        except StopIteration:
            return
        except tf.errors.OpError:
            if not failures:
                raise
            break
        yield dict(zip(types, arrays, strict=True))
    # Its threads end here: at the exit of Python both would wait for each other.
    del batches
    raise failures.pop()
