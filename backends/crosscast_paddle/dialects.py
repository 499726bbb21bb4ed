"""API generations of Paddle that can be emitted."""

from __future__ import annotations

from crosscast.target import Dialect

DIALECTS = (Dialect(name="paddle.amp", since="3.0"),)
