"""The tables of models of the installed packages; a broken plug-in is a diagnostic."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from crosscast.messages.diagnostics import Diagnostic
from crosscast.targets.source_support import installed_support, load_object, not_loaded
from crosscast_migrate.models.tables import ModelTables, ScriptReading


@cache
def _found() -> tuple[dict[str, ModelTables], tuple[Diagnostic, ...]]:
    tables: dict[str, ModelTables] = {}
    problems: list[Diagnostic] = []
    for support in installed_support().values():
        if not support.models:
            continue
        try:
            framework_tables = load_object(support.models)
            if not isinstance(framework_tables, ModelTables):
                raise TypeError("it is no ModelTables")
            if framework_tables.backend in tables:
                raise ValueError(f"the models of {framework_tables.backend} are taken")
        except Exception as error:  # a third-party package may raise anything on import
            problems.append(not_loaded(f"models {support.models}", error))
        else:
            tables[framework_tables.backend] = framework_tables
    return tables, tuple(problems)


def model_tables() -> Mapping[str, ModelTables]:
    """Return backend to what its package says of models, crosscast's own first."""
    return _found()[0]


def model_problems() -> tuple[Diagnostic, ...]:
    """Return a diagnostic for every package whose tables of models do not load."""
    return _found()[1]


def scripts() -> list[ScriptReading]:
    """Return the facts that are known of the scripts of every framework."""
    return [tables.script for tables in model_tables().values()]
