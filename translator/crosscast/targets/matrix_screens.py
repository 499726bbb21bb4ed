"""The support matrix in a terminal: numbers first, then what is below exact, or chosen rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from crosscast.messages.screens import Part, Table
from crosscast.targets.capability import Verdict
from crosscast.targets.default_tables import value_text

Rows = Sequence[Mapping[str, Any]]
VERDICTS = tuple(map(str, Verdict))
COLUMNS = ("target", "field", "verdict", "code", "how", "holds")
_LONG = ("how", "holds")


def row_cells(rows: Rows) -> Iterator[tuple[str, ...]]:
    """Yield the cells of rows: where a row holds and how that is known stand together."""
    for row in rows:
        asked = row["dialects"] == "all" or "@" in row["target"]
        only = "" if asked else f"only {row['dialects']}"
        when = f"when {row['when']}" if row["when"] not in ("", "always") else ""
        holds = "; ".join(filter(None, (when, only, row["evidence"])))
        yield (*(str(row[name]) for name in COLUMNS[:-1]), holds)


def field_parts(rows: Rows, *, reasons: bool, exact: bool) -> Iterator[Part]:
    """Yield the tables of the fields.

    Args:
        rows: the rows.
        reasons: each row with its reason; otherwise the names of the fields below exact.
        exact: also the rows that are exact, with their reasons.
    """
    targets = [*dict.fromkeys(row["target"] for row in rows)]
    if not exact:
        numbers = Counter((row["target"], row["verdict"]) for row in rows)
        yield Table(
            ("target", *VERDICTS),
            [(name, *(str(numbers[name, verdict]) for verdict in VERDICTS)) for name in targets],
        )
    shown = [row for row in rows if exact or row["verdict"] != Verdict.EXACT]
    if reasons or exact:
        if shown:
            yield Table(COLUMNS, [*row_cells(shown)], long=_LONG)
    else:
        yield Table(("target", "verdict", "fields"), [*_names(shown)], long=("fields",))
        yield "--to TARGET or --field PATH shows the reasons, --dialects the versions of targets."
    if hidden := len(rows) - len(shown):
        yield f"exact: {hidden} rows; --all shows every row."


def _names(rows: Rows) -> Iterator[tuple[str, str, str]]:
    """Yield the fields of every target and verdict, the worst first."""
    for target in dict.fromkeys(row["target"] for row in rows):
        for verdict in reversed(VERDICTS):
            same = (row for row in rows if (row["target"], row["verdict"]) == (target, verdict))
            if names := ", ".join(dict.fromkeys(row["field"] for row in same)):
                yield target, verdict, names


def dialect_parts(rows: Rows) -> Iterator[Part]:
    """Yield the table of the versions of targets."""
    yield Table(
        ("target", *VERDICTS, "version"),
        [
            (
                row["target"],
                *(str(row[verdict]) for verdict in VERDICTS),
                f"{row['title']}; {row['versions']}; dialect {row['dialect']}, {row['evidence']}",
            )
            for row in rows
        ],
        long=("version",),
    )


def default_parts(rows: Rows, *, all: bool) -> Iterator[Part]:
    """Yield the table of default values, or without `all` their numbers."""
    if all:
        for target in dict.fromkeys(row["target"] for row in rows):
            own = [*_defaults([row for row in rows if row["target"] == target])]
            columns = ("api", "versions", "defaults")
            yield Table(columns, own, long=("versions", "defaults"), title=target)
        return
    values = Counter(row["target"] for row in rows)
    apis = Counter(target for target, _ in dict.fromkeys((r["target"], r["api"]) for r in rows))
    numbers = [(name, str(apis[name]), str(count)) for name, count in values.items()]
    yield Table(("target", "APIs", "values"), numbers)
    yield "--to TARGET shows the values of a target, --all everything."


def _defaults(rows: Rows) -> Iterator[tuple[str, str, str]]:
    """Yield every API and version with its values; *fixed* is what no argument can change."""
    by_api: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        key = (row["api"], f"{row['versions']}, {row['evidence']}")
        fixed = "fixed " if row["kind"] == "fixed" else ""
        by_api.setdefault(key, []).append(f"{fixed}{row['name']}={value_text(row['default'])}")
    for (api, versions), values in by_api.items():
        yield api, versions, ", ".join(values)
