"""Results as text and as a page of the documentation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from conditions import Condition
from records import Result

Tried = Sequence[tuple[Condition, Result]]
WHY = {
    "passed": "tests with another course pass",
    "same": "no test in which it changes anything",
    "unreached": "no test reaches it",
}


def group(module: str) -> str:
    """Return the row of a module: rules, what rules share, or the folder."""
    path = PurePosixPath(module)
    if path.parent.parent.name == "rules":
        return "lint: shared by rules" if path.name.startswith("_") else "lint: rules"
    return ": ".join(path.parts[:-1]) if len(path.parts) > 2 else f"{path.parts[0]}: other"


def share(tried: Tried) -> str:
    """Return the share of noticed removals."""
    noticed = sum(result.outcome == "noticed" for _, result in tried)
    return f"{100 * noticed / len(tried):.1f} %" if tried else "-"


def rows(tried: Tried) -> list[tuple[str, ...]]:
    """Return a row for each group, and the sum."""
    groups = sorted({group(condition.module) for condition, _ in tried})
    found = []
    for name in [*groups, "all"]:
        part = [pair for pair in tried if name in (group(pair[0].module), "all")]
        counts = [sum(result.outcome == word for _, result in part) for word in ("noticed", *WHY)]
        found.append((name, str(len(part)), *map(str, counts), share(part)))
    return found


def report(tried: Tried) -> str:
    """Return what was not noticed, and the sums."""
    lines = [
        f"translator/crosscast_reading/{condition.module}:{condition.line} {condition.function} "
        f"[{condition.kind}] {condition.text}: {WHY[result.outcome]}"
        for condition, result in tried
        if result.outcome != "noticed"
    ]
    names = ("", "conditions", "noticed", *WHY, "share")
    table = [names, *rows(tried)]
    widths = [max(len(row[column]) for row in table) for column in range(len(names))]
    lines += [
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in table
    ]
    return "\n".join(lines)


def page(tried: Tried, sample: int, seed: int, most: int) -> str:
    """Return the page."""
    which = (
        f"{len(tried)} conditions, chosen by `--sample {sample} --seed {seed}`"
        if sample
        else f"All {len(tried)} conditions"
    )
    fastest = f"; for each condition at most the {most} fastest that it matters in" if most else ""
    head = f"""\
# Is every condition needed?

<!-- Written by `python benchmarks/needed_conditions --docs`; do not edit. -->

{which} of the lint rules and the readers were removed, one at a time: a test of an `if` without
`else`, an `if` of a comprehension, a guard of a `case`, a term of an `or` or `and`. A removal is
*noticed* if a test fails without the condition; **{share(tried)}** are. Tests are those of
`tests/unit` for lint, readers, lift and migrate{fastest}.

| | conditions | noticed | {" | ".join(WHY.values())} | share |
|---|---:|---:|---:|---:|---:|---:|
"""
    return head + "".join(f"| {' | '.join(row)} |\n" for row in rows(tried))
