"""The table: the rows of `rows.txt` and of all modules `rows_*`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from functools import cache
from types import ModuleType

from crosscast_paddle.migration.experimental import paddle_names as package
from crosscast_paddle.migration.experimental.paddle_names.names import by_name
from crosscast_paddle.migration.experimental.paddle_names.row import Mode, NameRow
from crosscast_paddle.migration.experimental.paddle_names.row_table import written_rows


@cache
def all_rows() -> tuple[NameRow, ...]:
    """Return the rows of the file and of every module `rows_*` of the package."""
    return (*written_rows(), *(row for module in _modules() for row in module.ROWS))


@cache
def rows_for(mode: Mode) -> Mapping[str, NameRow]:
    """Return old name to row, for programs of one kind."""
    return by_name(all_rows(), mode)


def _modules() -> Iterator[ModuleType]:
    for name in sorted(module.name for module in pkgutil.iter_modules(package.__path__)):
        if name.startswith("rows_"):
            yield importlib.import_module(f"{package.__name__}.{name}")
