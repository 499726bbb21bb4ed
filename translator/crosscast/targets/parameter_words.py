"""What libraries call the fields of a recipe: one table a library, whoever reads or writes it.

A parameter is an argument, a key of a configuration or a flag, in the spelling of Python: a flag
`--loss-scale-window` is `loss_scale_window`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crosscast.targets.framework_words import FRAMEWORKS
from crosscast.targets.trainer_words import TRAINERS

_TABLES: Mapping[str, Mapping[str, str]] = {**FRAMEWORKS, **TRAINERS}
LIBRARIES = tuple(_TABLES)


def parameter_words(library: str, *sections: str) -> dict[str, str]:
    """Return parameter to path in a recipe, of these sections or of all; empty for none.

    Args:
        library: name of its table; other libraries have no words.
        sections: `optimizer`, `loss_scaling`, ...; `seed` is a section, too.
    """
    return {
        word: path
        for word, path in _TABLES.get(library, {}).items()
        if not sections or path.partition(".")[0] in sections
    }


def scaling_words(library: str) -> dict[str, str]:
    """Return parameter to path in a recipe, of what scales a library's loss; empty for none."""
    return parameter_words(library, "loss_scaling")


def optimizer_words(library: str) -> dict[str, str]:
    """Return parameter to path in a recipe, of a library's optimizers; empty for none."""
    return parameter_words(library, "optimizer")


def fields_of(library: str, *sections: str) -> dict[str, tuple[str, ...]]:
    """Return path in a recipe to the parameters that set it, the usual one first."""
    found: dict[str, tuple[str, ...]] = {}
    for word, path in parameter_words(library, *sections).items():
        found[path] = (*found.get(path, ()), word)
    return found


def spellings(library: str, path: str) -> tuple[str, ...]:
    """Return the parameters of a library that set a field of a recipe, the usual one first."""
    return fields_of(library, path.partition(".")[0])[path]


def in_words(library: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of fields by the usual parameters of a library, in the same order."""
    return {spellings(library, path)[0]: value for path, value in values.items()}
