"""The evidence level of a statement about a framework."""

from __future__ import annotations

from enum import StrEnum


class Evidence(StrEnum):
    """Where the knowledge behind a row or a default comes from."""

    MEASURED_CPU = "measured-cpu"
    MEASURED_GPU = "measured-gpu"
    DOCUMENTED = "documented"
