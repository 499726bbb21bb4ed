"""Memory that is freed stays in the process, for the next array.

By default glibc returns a large array to the system and fetches new pages for the next one, which
takes much of the time of a replay. Other allocators are left as they are.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache

ARRAY = 32 * 2**20
"""Bytes up to which an array is taken from freed memory; glibc takes no larger number."""
MOST = 2**30
"""Bytes of freed memory that a process keeps."""
VARIABLES = {"MALLOC_MMAP_THRESHOLD_": str(ARRAY), "MALLOC_TRIM_THRESHOLD_": str(MOST)}
"""The same for a process that is started with these in its environment."""
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3


@lru_cache(maxsize=1)
def keep_freed_memory() -> bool:
    """Let this process keep what it frees; return whether its allocator can."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return bool(mallopt and mallopt(_MMAP_THRESHOLD, ARRAY) and mallopt(_TRIM_THRESHOLD, MOST))
