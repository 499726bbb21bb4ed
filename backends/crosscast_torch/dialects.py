"""API generations of PyTorch that can be emitted."""

from __future__ import annotations

from crosscast.target import Dialect

DIALECTS = (Dialect(name="torch.amp", since="2.4"),)
