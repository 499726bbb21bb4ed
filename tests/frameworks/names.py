"""The frameworks whose training scripts crosscast writes, by the names of its back ends."""

from __future__ import annotations

from typing import Any

import pytest

from crosscast.targets.backend import program_names

FRAMEWORKS = tuple(sorted(program_names(), key=lambda name: (name != "torch", name)))
"""PyTorch first, with which the others are compared."""
QUICK = tuple(name for name in FRAMEWORKS if name != "jax")
"""Those of most tests in `make test`; JAX compiles whatever is run, for seconds."""
MARKS = [getattr(pytest.mark, name) for name in FRAMEWORKS]


def marked(*names: str) -> list[Any]:
    """Return frameworks as values of a parametrized test, all by default."""
    return [pytest.param(n, marks=getattr(pytest.mark, n)) for n in names or FRAMEWORKS]
