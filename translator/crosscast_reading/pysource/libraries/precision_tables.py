"""Look-ups in the tables of mixed precision of all installed packages."""

from __future__ import annotations

import re
from functools import lru_cache

from crosscast_reading.pysource.libraries.precision_words import MixedPrecision, Operations
from crosscast_reading.pysource.libraries.words import all_words


def tables() -> tuple[MixedPrecision, ...]:
    """Return the tables, one for each framework."""
    return tuple(words.mixed_precision for words in all_words() if words.mixed_precision)


@lru_cache(maxsize=4096)
def table_of_region(name: str) -> MixedPrecision | None:
    """Return the table of the framework that a context with a qualified name is of."""
    return next((table for table in tables() if re.fullmatch(table.regions, name)), None)


class Lookup:
    """The operations of one framework by name; each name is looked for once."""

    def __init__(self, table: MixedPrecision) -> None:
        self.table = table
        self._named: dict[str, Operations | None] = {}
        self._rows = [(re.compile(row.names), row) for row in table.operations]
        self._methods = {word: row for row in table.operations for word in row.methods}

    def named(self, name: str) -> Operations | None:
        """Return the row of a function or class of layers; None if there is none."""
        if name not in self._named:
            rows = (row for pattern, row in self._rows if pattern.fullmatch(name))
            self._named[name] = next(rows, None)
        return self._named[name]

    def method(self, word: str) -> Operations | None:
        """Return the row of a method of tensors."""
        return self._methods.get(word)
