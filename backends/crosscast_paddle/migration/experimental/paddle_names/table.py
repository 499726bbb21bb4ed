"""The table: the rows of all modules `rows_*`, and the functions that they need."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from types import ModuleType

from crosscast_paddle.migration.experimental import paddle_names as package
from crosscast_paddle.migration.experimental.paddle_names.helper import Helper
from crosscast_paddle.migration.experimental.paddle_names.names import by_name
from crosscast_paddle.migration.experimental.paddle_names.row import Mode, NameRow


@cache
def all_rows() -> tuple[NameRow, ...]:
    """Return the rows of every module `rows_*` of the package."""
    return tuple(row for module in _modules("rows_") for row in module.ROWS)


@cache
def rows_for(mode: Mode) -> Mapping[str, NameRow]:
    """Return old name to row, for programs of one kind."""
    return by_name(all_rows(), mode)


@cache
def all_helpers() -> dict[str, Helper]:
    """Return name to function of every module `helpers_*` of the package."""
    return {helper.name: helper for module in _modules("helpers_") for helper in module.HELPERS}


def _modules(start: str) -> list[ModuleType]:
    names = sorted(m.name for m in pkgutil.iter_modules(package.__path__))
    return [
        importlib.import_module(f"{package.__name__}.{n}") for n in names if n.startswith(start)
    ]
