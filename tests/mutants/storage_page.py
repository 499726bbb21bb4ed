"""Generate docs/measurements/storage-bugs.md from its figures."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mutants.storage_catalogue import EXEMPT, MISSED, TITLES

DATA = Path(__file__).parents[2] / "docs" / "measurements" / "storage-bugs.json"
PAGE = DATA.with_suffix(".md")
CLEAN = "clean"
NAMES = {"torch": "PyTorch", "tensorflow": "TensorFlow", "paddle": "Paddle", "jax": "JAX"}
DTYPES = ("float16", "bfloat16")

Row = Mapping[str, Any]
"""A bug as one framework shows it in one type: `framework`, `dtype`, `name`, `level`, `depth`."""


def merge(rows: Sequence[Row]) -> None:
    """Replace what the file of figures says about these bugs, and write the page."""
    old: list[Row] = json.loads(DATA.read_text()) if DATA.exists() else []
    known = {_key(row): row for row in (*old, *rows)}
    kept = [known[key] for key in sorted(known)]
    DATA.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(kept), encoding="utf-8")


def _key(row: Row) -> tuple[str, str, str]:
    return row["framework"], row["dtype"], row["name"]


def page(rows: Sequence[Row]) -> str:
    """Return the page.

    Args:
        rows: what was tried, each bug once for a framework and a type.
    """
    return "\n".join([*_head(), *_scores(rows), *_missed(rows), *_bugs(rows)]) + "\n"


def _head() -> Iterator[str]:
    yield "# Bugs of storage"
    yield ""
    yield "Written by `python -m mutants.storage --docs`; do not edit."
    yield ""
    yield "Scripts that compute right, or nearly so, and keep values in another type than the"
    yield "[recipe says](../explanation/half-precision.md). Each bug is planted in the scripts of a"
    yield "recipe that stores half (`tests/mutants/storage.yaml`); its reference is the unchanged"
    yield "script for PyTorch, half precision is emulated. Looked at are the first stages of the"
    yield "quick check; what they see, the quick check sees. A bug needs what the script has: Keras"
    yield "and Flax have no half copies of weights, and bfloat16 no loss scale. What is not tried"
    yield "again keeps its cell, so cells may come from several runs."
    yield ""
    yield "```"
    yield "PYTHONPATH=tests python -m mutants.storage --docs"
    yield "```"
    yield ""


def _scores(rows: Sequence[Row]) -> Iterator[str]:
    yield "| framework | type | tried | caught | exempt | missed | clean script |"
    yield "|---|---|---|---|---|---|---|"
    for framework in NAMES:
        for dtype in DTYPES:
            tried = [r for r in rows if (r["framework"], r["dtype"]) == (framework, dtype)]
            bugs = [row for row in tried if row["name"] != CLEAN]
            counted = [row for row in bugs if row["name"] not in EXEMPT]
            caught = sum(bool(row["level"]) for row in counted)
            clean = next((row for row in tried if row["name"] == CLEAN), None)
            said = "NOT TRIED" if clean is None else "accused" if clean["level"] else "not accused"
            head = f"| {NAMES[framework]} | {dtype} | {len(bugs)} | {caught} |"
            yield f"{head} {len(bugs) - len(counted)} | {len(counted) - caught} | {said} |"
    yield ""


def _missed(rows: Sequence[Row]) -> Iterator[str]:
    yield "## Exempt and missed"
    yield ""
    for name, why in EXEMPT.items():
        yield f"- `{name}`, exempt: {why}."
    for row in rows:
        if not row["level"] and row["name"] not in {*EXEMPT, CLEAN}:
            why = MISSED.get((row["framework"], row["name"]), "not explained yet")
            where = f"{NAMES[row['framework']]}, {row['dtype']}, depth {row['depth']}"
            yield f"- `{row['name']}` ({where}), missed: {why}."
    yield ""


def _bugs(rows: Sequence[Row]) -> Iterator[str]:
    cells = {_key(row): row["level"] or "-" for row in rows}
    columns = [(framework, dtype) for framework in NAMES for dtype in DTYPES]
    yield "## Bugs"
    yield ""
    yield "The level of the first check that saw it; `-` is none; what an empty cell stands for was"
    yield "not tried, or has no place in that script."
    yield ""
    heads = " | ".join(f"{NAMES[framework]} {dtype}" for framework, dtype in columns)
    yield f"| bug | what it is | {heads} |"
    yield f"|---|---|{'---|' * len(columns)}"
    for name, title in TITLES.items():
        levels = " | ".join(cells.get((*column, name), "") for column in columns)
        yield f"| `{name}` | {title} | {levels} |"
