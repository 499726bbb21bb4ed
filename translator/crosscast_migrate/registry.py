"""The codemods of the installed packages; a broken plug-in is a diagnostic."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache

from crosscast.messages.diagnostics import Diagnostic
from crosscast.targets.source_support import (
    Era,
    installed_support,
    migration_apis,
    modules_of,
    not_loaded,
)
from crosscast_migrate.codemod import Codemod

_CODE = re.compile(r"CM\d{3}")


def all_codemods() -> Mapping[str, Codemod]:
    """Return code to codemod, ordered by code."""
    return _load()[0]


def codemod_problems() -> tuple[Diagnostic, ...]:
    """Return a diagnostic for every codemod that does not load, or whose code or name is taken."""
    return _load()[1]


def codemods_to(api: str) -> tuple[Codemod, ...]:
    """Return the codemods that migrate programs to an API."""
    return tuple(codemod for codemod in all_codemods().values() if codemod.api == api)


@cache
def _load() -> tuple[dict[str, Codemod], tuple[Diagnostic, ...]]:
    codemods: dict[str, Codemod] = {}
    problems: list[Diagnostic] = []
    names: set[str] = set()
    for era, module in _modules(problems):
        try:
            codemod: Codemod = replace(importlib.import_module(module).CODEMOD, era=era)
            taken = codemod.code in codemods or codemod.name in names
            if taken or not _CODE.fullmatch(codemod.code):
                raise ValueError(f"{codemod.code} {codemod.name} is malformed or taken")
            if codemod.api not in migration_apis():
                raise ValueError(f"{codemod.code} migrates to an unknown API, {codemod.api!r}")
        except Exception as error:  # a third-party package may raise anything on import
            problems.append(not_loaded(f"codemod {module}", error))
        else:
            codemods[codemod.code] = codemod
            names.add(codemod.name)
    return dict(sorted(codemods.items())), tuple(problems)


def _modules(problems: list[Diagnostic]) -> Iterator[tuple[Era, str]]:
    for era in (era for support in installed_support().values() for era in support.eras):
        try:
            yield from ((era, module) for module in modules_of(era.codemods))
        except Exception as error:  # as above
            problems.append(not_loaded(f"codemods {era.codemods}", error))
