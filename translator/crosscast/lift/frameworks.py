"""Which framework a source is of, and the backend whose framework that is."""

from __future__ import annotations

from crosscast.targets.backend import installed_backends
from crosscast.targets.framework import Framework

UNSAID = "pytorch"
"""The fact `framework` of a source that does not say it."""


def framework_of(name: str) -> Framework | None:
    """Return what is known of the framework that a word means; None without a backend for it."""
    found = (one.framework for one in installed_backends())
    return next((one for one in found if one is not None and one.word == name), None)


def backend_for(name: str) -> str:
    """Return the backend to compile to for a word; that of the usual framework if none has it."""
    of = {one.framework.word: one.name for one in installed_backends() if one.framework}
    return of.get(name) or of[UNSAID]
