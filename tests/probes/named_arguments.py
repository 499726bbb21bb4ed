"""Which functions and arguments a package does not have: `[[name, arguments], ...]`, JSON out."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence

from probes.signatures import ABSENT, of_callable, resolve


def missing(name: str, arguments: Sequence[str]) -> Iterator[str]:
    """Yield what is missing of a function: itself, or some of its arguments."""
    try:
        found = of_callable(resolve(name), list(arguments))
    except (AttributeError, ImportError):
        yield f"there is no {name}"
    else:
        yield from (f"{name} has no {word}" for word, value in found.items() if value == ABSENT)


if __name__ == "__main__":
    print(json.dumps([each for row in json.loads(sys.argv[1]) for each in missing(*row)]))
