"""Read rows ahead, in threads."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np

from .sources import Batch, Rows


def load(rows: Rows, numbers: Iterable[np.ndarray], workers: int) -> Iterator[Batch]:
    """Yield the rows with these numbers, one micro-batch after the other."""
    if not workers:
        yield from map(rows.rows, numbers)
        return
    left = iter(numbers)
    with ThreadPoolExecutor(workers) as pool:
        ahead: deque[Future[Batch]] = deque()
        try:
            for indices in itertools.islice(left, 2 * workers):
                ahead.append(pool.submit(rows.rows, indices))
            while ahead:
                batch = ahead.popleft().result()
                for indices in itertools.islice(left, 1):
                    ahead.append(pool.submit(rows.rows, indices))
                yield batch
        finally:
            for future in ahead:
                future.cancel()
