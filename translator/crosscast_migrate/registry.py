"""The registered codemods."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Mapping
from functools import cache

from crosscast_migrate import codemods as package
from crosscast_migrate.codemod import Api, Codemod

_CODE = re.compile(r"CM\d{3}")


@cache
def all_codemods() -> Mapping[str, Codemod]:
    """Return code to codemod, ordered by code."""
    found: dict[str, Codemod] = {}
    names: set[str] = set()
    for module in pkgutil.iter_modules(package.__path__):
        if module.name.startswith("_"):
            continue
        codemod = importlib.import_module(f"{package.__name__}.{module.name}").CODEMOD
        taken = codemod.code in found or codemod.name in names
        if taken or not _CODE.fullmatch(codemod.code):
            raise ValueError(f"{module.name}: {codemod.code} {codemod.name} is malformed or taken")
        found[codemod.code] = codemod
        names.add(codemod.name)
    return dict(sorted(found.items()))


def codemods_to(api: Api) -> tuple[Codemod, ...]:
    """Return the codemods that migrate programs to an API."""
    return tuple(codemod for codemod in all_codemods().values() if codemod.api == api)
