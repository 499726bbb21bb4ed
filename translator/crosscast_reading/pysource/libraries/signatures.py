"""Parameters of the functions of libraries, by version: tables of several packages (`Words`).

A signature is a text: names of the positional parameters in order, then `*` and the names that can
only be given by keyword. Where an order changed there are several, each with the versions it holds
for (first one included, last one excluded). Defaults are in `crosscast.targets.defaults`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

from crosscast_reading.pysource.libraries.words import Signature, merged


@cache
def table() -> Mapping[str, Signature]:
    """Return all signatures by qualified name."""
    return merged(lambda words: words.signatures)


@cache
def positional(name: str, version: str = "") -> tuple[str, ...]:
    """Return the positional parameters of a function, as far as they are certain.

    Without a version, only the parameters that all versions agree on.
    """
    signature = table().get(name) or table().get(_handed_on(name))
    if signature is None:
        return ()
    if isinstance(signature, str):
        return _names(signature)
    fitting = [_names(text) for since, until, text in signature if holds(version, since, until)]
    return _agreed(fitting)


def _handed_on(name: str) -> str:
    """Return the original name of a re-exported object: `ourpackage.keras.layers.Dense`."""
    place = name.find(".keras.")
    return name[place + 1 :] if place > 0 else ""


def known_names() -> Iterable[str]:
    """Return all names that have a signature."""
    return table().keys()


def parameters(name: str, version: str = "") -> tuple[str, ...]:
    """Return all parameters of a function, keyword-only ones too; of every window that fits."""
    signature = table().get(name)
    if signature is None:
        return ()
    windows = [("", "", signature)] if isinstance(signature, str) else signature
    words = " ".join(text for since, until, text in windows if holds(version, since, until))
    return tuple(dict.fromkeys(w for w in words.split() if w != "*"))


def release(version: str) -> tuple[int, ...]:
    """Return the numbers of a version: `2.4.1+cpu` is (2, 4, 1)."""
    numbers: list[int] = []
    for part in version.partition("+")[0].split("."):
        digits = ""
        for letter in part:
            if not letter.isdigit():
                break
            digits += letter
        if not digits:
            break
        numbers.append(int(digits[:9]))
    return tuple(numbers)


def holds(version: str, since: str, until: str) -> bool:
    """Say whether a version is within a window; an unknown one is within all."""
    if not version:
        return True
    here = release(version)
    return (not since or here >= release(since)) and (not until or here < release(until))


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.partition("*")[0].split())


def _agreed(orders: list[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the longest beginning that contradicts no window."""
    longest = max(orders, key=len, default=())
    for place, name in enumerate(longest):
        if any(place < len(names) and names[place] != name for names in orders):
            return longest[:place]
    return longest
