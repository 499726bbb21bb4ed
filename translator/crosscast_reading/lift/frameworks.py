"""Which framework a source is of, and the backend whose framework that is."""

from __future__ import annotations

from crosscast.targets.backend import installed_backends
from crosscast.targets.framework import Framework

UNSAID = "pytorch"
"""The fact `framework` of a source that does not say it."""


def framework_of(name: str) -> Framework | None:
    """Return the framework that a word means; None without a backend for it."""
    known = (backend.framework for backend in installed_backends())
    return next(
        (framework for framework in known if framework is not None and framework.word == name), None
    )


def backend_for(name: str) -> str:
    """Return the backend to compile to for a word; that of the usual framework if none has it."""
    of = {
        backend.framework.word: backend.name
        for backend in installed_backends()
        if backend.framework
    }
    return of.get(name) or of[UNSAID]
