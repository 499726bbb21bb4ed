"""What crosscast itself brings, without the plug-ins that are installed: pages are about it."""

from __future__ import annotations

from importlib.metadata import distribution

from crosscast.targets.backend import Backend, load_backend
from crosscast.targets.source_support import GROUP
from crosscast_migrate.codemod import Codemod
from crosscast_migrate.registry import all_codemods
from crosscast_reading.lint.registry import all_rules
from crosscast_reading.lint.rule import Rule

_POINTS = distribution("crosscast").entry_points
_PACKAGES = {point.module.partition(".")[0] for point in _POINTS.select(group=GROUP)}


def own_backends() -> list[Backend]:
    """Return crosscast's backends, by name."""
    return [load_backend(name) for name in sorted(_POINTS.select(group="crosscast.backends").names)]


def own_rules() -> list[Rule]:
    """Return crosscast's rules, by code."""
    return [rule for rule in all_rules().values() if _is_own(rule.check.__module__)]


def own_codemods() -> list[Codemod]:
    """Return crosscast's codemods, by code."""
    return [codemod for codemod in all_codemods().values() if _is_own(codemod.run.__module__)]


def _is_own(module: str) -> bool:
    return module.partition(".")[0] in _PACKAGES
