"""The docs page about the codes of diagnostics."""

from __future__ import annotations

from collections.abc import Sequence

from crosscast.messages.codes import CODES, Code
from crosscast.targets.backend import Backend


def all_codes(backends: Sequence[Backend]) -> dict[str, Code]:
    """Return the codes of the core and of backends by their names."""
    table = dict(CODES)
    for backend in backends:
        table |= {code.code: code for code in backend.codes}
    return table


def codes_page(backends: Sequence[Backend]) -> str:
    """Return the docs page docs/reference/diagnostics.md."""
    table = all_codes(backends)
    lines = ["# Diagnostics", "", "Generated from the tables of codes; do not edit.", ""]
    for name in sorted(table):
        lines += [f"## {name}: {table[name].title}", "", table[name].help, ""]
    return "\n".join(lines)
