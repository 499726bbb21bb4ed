"""Lists the keys of a file of torch.save when no recipe is given."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from crosscast.messages.diagnostics import failure
from crosscast.state.saved_file import SavedTensor, saved_file
from crosscast.state.torch_keys import PARTS, WITHIN_WINDOW

COLUMNS = ("key", "tensors", "numbers", "taken for")


def outline(path: Path, family: str) -> list[tuple[str, int, int, str]]:
    """Return key, number of tensors, number of elements, and interpretation by a conversion.

    Raises:
        DiagnosticError: As `saved_file`; CC960 for a file that is not a dictionary.
    """
    with saved_file(path, family) as tree:
        if not isinstance(tree, dict):
            raise failure("CC960", f"{path}: not a dictionary of state dictionaries")
        rows = []
        for key, value in tree.items():
            sizes = list(_sizes(value))
            rows.append((str(key), len(sizes), sum(sizes), _meaning(key)))
        return rows


def _sizes(value: Any) -> Iterator[int]:
    if isinstance(value, SavedTensor):
        yield value.array.size
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _sizes(part)


def _meaning(key: Any) -> str:
    if key in ("windows", "updates"):
        return "position"
    if key in WITHIN_WINDOW:
        return "the middle of a window, which begins again (CC968)"
    return next((part for part, names in PARTS.items() if key in names), "nothing (CC965)")
