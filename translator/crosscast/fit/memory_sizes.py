"""Parse and format amounts of memory."""

from __future__ import annotations

import re
from fractions import Fraction

from crosscast.messages.diagnostics import DiagnosticError, failure

UNITS = {
    "B": 1,
    **{f"{letter}iB": 2 ** (10 * power) for power, letter in enumerate("KMGT", 1)},
    **{f"{letter}B": 10 ** (3 * power) for power, letter in enumerate("KMGT", 1)},
}
"""Bytes of a unit: `GiB` is 2**30, `GB` is 10**9."""
MOST = 2**60
_AMOUNT = re.compile(r"([0-9]{1,20}(?:\.[0-9]{1,9})?) ?([A-Za-z]{1,3})")


def parse_memory(text: str) -> int:
    """Return the bytes of an amount such as `16GiB`, `16GB` or `16384MiB`, rounded down.

    Raises:
        DiagnosticError: CC461 for anything else: `16G` could be either.
    """
    match = _AMOUNT.fullmatch(text.strip())
    unit = UNITS.get(match[2]) if match else None
    if match is None or unit is None:
        raise _refused(f"{text[:40]!r} is not an amount of memory")
    size = int(Fraction(match[1]) * unit)
    if not 1 <= size <= MOST:
        raise _refused(f"{text[:40]!r} is outside 1 byte to 2**60")
    return size


def _refused(message: str) -> DiagnosticError:
    hint = "write a number and a unit: 16GiB (2**30 bytes each), 16GB (10**9) or 16384MiB"
    return failure("CC461", message, hint)


def show_bytes(size: int) -> str:
    """Return bytes for people: `0 B`, `12.0 MiB`, `3.45 GiB`, four digits at most."""
    if size < 1024:
        return f"{size} B"
    value, unit = float(size), "B"
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        value /= 1024
        if value < 999.5 or unit == "TiB":
            break
    digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:.{digits}f} {unit}"
