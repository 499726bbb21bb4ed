"""The bugs of the catalogue as a framework spells them."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from crosscast_parity.self_test.mutation import Mutation
from mutants.shared_bugs import SHARED
from mutants.shared_products import PRODUCTS
from mutants.shared_resumed import RESUMED
from mutants.spelling import Spellings, written

TABLES = {
    "window": "WINDOW",
    "update": "UPDATES",
    "model": "MODEL",
    "products": "PRODUCTS",
    "late": "LATE",
    "single": "SINGLE",
}
"""Modules of every framework, and the table in each."""


def bugs_of(framework: str) -> Sequence[Mutation]:
    """Return the bugs of a framework, its own lines in place of those that are the same in all."""
    tables: list[Spellings] = [
        getattr(import_module(f"mutants.{framework}_{part}"), name) for part, name in TABLES.items()
    ]
    own = set().union(*tables)
    shared = SHARED | PRODUCTS | RESUMED
    return written({name: shared[name] for name in shared if name not in own}, *tables)
