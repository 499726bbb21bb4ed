"""Lists the keys of a user's own training state when no recipe is given."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from crosscast.messages.diagnostics import failure
from crosscast.state.saved_file import SavedTensor, saved_file
from crosscast.state.saved_states import saved_states

COLUMNS = ("key", "tensors", "numbers", "taken for")


def outline(path: Path, family: str) -> list[tuple[str, int, int, str]]:
    """Return key, number of tensors, number of elements, and interpretation by a conversion.

    Raises:
        DiagnosticError: As `saved_file`; CC960 for a file that is not a dictionary.
    """
    states = saved_states(path, family)
    with saved_file(path, family, folders=states.folders) as tree:
        if not isinstance(tree, dict):
            raise failure("CC960", f"{path}: not a dictionary of state dictionaries")
        rows = []
        for key, value in tree.items():
            sizes = list(_sizes(value))
            meaning = states.meaning_of(key) or "nothing (CC965)"
            rows.append((str(key), len(sizes), sum(sizes), meaning))
        return rows


def _sizes(value: Any) -> Iterator[int]:
    if isinstance(value, SavedTensor):
        yield value.array.size
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _sizes(part)
