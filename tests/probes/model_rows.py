"""What rows of the tables of models say wrongly of an installed package: `ROWS`, JSON out."""

from __future__ import annotations

import inspect
import json
import sys
from typing import Any

from probes.signatures import plain, resolve

UNKNOWN = "..."
"""A default that is not compared."""


def signature(name: str) -> tuple[list[str], dict[str, Any], bool]:
    """Return the parameters by place, the defaults that are plain values, and if it takes others.

    Raises:
        ValueError: it is written in another language, and says none.
    """
    held = resolve(name)
    is_class = isinstance(held, type)
    function = held.__init__ if is_class else held
    parameters = [p for p in inspect.signature(function).parameters.values() if p.name != "self"]
    others = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    by_place = [
        p.name for p in parameters if p.kind not in {inspect.Parameter.KEYWORD_ONLY, *others}
    ]
    values = (bool, int, float, str, tuple, type(None))
    defaults = {
        p.name: plain(p.default) if isinstance(p.default, values) else UNKNOWN
        for p in parameters
        if p.kind not in others
    }
    return by_place, defaults, any(p.kind in others for p in parameters)


def _one(value: Any) -> Any:
    """Return the size of all axes as one number."""
    return value[0] if isinstance(value, list) and len(set(value)) == 1 else value


def wrong(
    name: str, inputs: int, arguments: list[list[Any]], *, in_order: bool = True
) -> list[str]:
    """Return what is wrong in a row of the table.

    Args:
        name: of the class or function.
        inputs: arrays that a function takes first; 0 for a class or a list of arrays.
        arguments: names, with the default or `UNKNOWN`.
        in_order: whether they may be given without their names.
    """
    try:
        by_place, defaults, takes_others = signature(name)
    except (AttributeError, ImportError):
        return [f"there is no {name}"]
    except ValueError:
        return []
    by_place = by_place[inputs:]
    facts = []
    seen = set[str]()
    for place, (argument, default) in enumerate(arguments):
        if argument in seen:
            continue
        seen.add(argument)
        if argument not in defaults:
            if default != UNKNOWN and not takes_others:
                facts.append(f"{name} has no {argument}")
        elif default != UNKNOWN and _one(defaults[argument]) not in (_one(default), UNKNOWN):
            facts.append(f"{name}: {argument}={defaults[argument]}, not {default}")
        elif in_order and argument in by_place and by_place.index(argument) != place:
            facts.append(f"{name}: {argument} is number {by_place.index(argument)}, not {place}")
    return facts


if __name__ == "__main__":
    print(
        json.dumps(
            [each for row in json.loads(sys.argv[1]) for each in wrong(*row[:3], in_order=row[3])]
        )
    )
