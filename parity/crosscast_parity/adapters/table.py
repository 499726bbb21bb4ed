"""The conformance table: built from observations, kept as JSON, printed for people."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from crosscast_parity.adapters import rows
from crosscast_parity.adapters.cases import CASES
from crosscast_parity.adapters.columns import BY_NAME
from crosscast_parity.adapters.questions import HALF_TITLE, QUESTIONS

FORMAT = 1
COMMAND = "python -m crosscast_parity.adapters.conformance --write docs/reference"
_HEAD = f"""\
# Trainer conformance

Written by `{COMMAND}`; do not edit.

Behavior of the emitted scripts and of trainers in toy runs with known gradients: one weight, the
loss of a row is weight * row, the learning rate is 1. **Bold**: differs from the emitted scripts,
which implement the [neutral meaning](../design.md#neutral-meaning). The measurements are in
[conformance.json](conformance.json); a test repeats them and fails when a trainer's behavior
changes.
"""


def build(observations: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the table as plain data: columns with versions, rows with cells, what was measured."""
    columns = [
        {"name": name, "title": BY_NAME[name].title, "versions": dict(seen["versions"])}
        for name, seen in observations.items()
    ]
    lines = [
        {
            "key": question.key,
            "title": question.title,
            "done": question.done,
            "scaled": question.scaled,
            "cells": {n: question.put(seen["cases"]) for n, seen in observations.items()},
            "silent": [n for n, f in observations.items() if question.silent(f["cases"])],
        }
        for question in QUESTIONS
    ]
    half = {name: rows.half(seen["half"]) for name, seen in observations.items()}
    last = {"key": "half", "title": HALF_TITLE, "done": "as documented", "scaled": False}
    lines.append({**last, "cells": half, "silent": list(half)})
    return {
        "format": FORMAT,
        "columns": columns,
        "rows": lines,
        "cases": [case.to_json() for case in CASES],
        "observations": {name: dict(seen) for name, seen in observations.items()},
    }


def differs(line: Mapping[str, Any], name: str) -> bool:
    """Whether a cell is not what the emitted scripts do."""
    cells, silent = line["cells"], line["silent"]
    text = cells[name]
    ours = {cells[n] for n in cells if n.startswith("emitted") and n not in silent}
    if name in silent or not ours:
        return False
    if line["key"] == "counters":  # not every trainer tells of a counter of its own
        return not any(cell.startswith(text) for cell in ours)
    return text not in ours


def markdown(table: Mapping[str, Any]) -> str:
    """Return the page."""
    names = [column["name"] for column in table["columns"]]
    titles = [column["title"] for column in table["columns"]]
    lines = [f"| | {' | '.join(titles)} |", f"|---|{'---|' * len(titles)}"]
    for line in table["rows"]:
        cells = [_cell(line, name) for name in names]
        lines.append(f"| {line['title']} ({line['done']}) | {' | '.join(cells)} |")
    return "\n".join([_HEAD, *lines, "", *_notes(table)]) + "\n"


def _cell(line: Mapping[str, Any], name: str) -> str:
    text = str(line["cells"][name]).replace("|", "\\|")
    return f"**{text}**" if differs(line, name) else text


def _notes(table: Mapping[str, Any]) -> Iterator[str]:
    yield "How float16 was obtained on a CPU, for the rows with an overflow or a loss scale:\n"
    for column in table["columns"]:
        how = BY_NAME[column["name"]].scaler or "as it is"
        yield f"- {column['title']}: {how}"
    yield "\nVersions:\n"
    for column in table["columns"]:
        versions = ", ".join(f"{name} {number}" for name, number in column["versions"].items())
        yield f"- {column['title']}: {versions}"


def text_lines(table: Mapping[str, Any]) -> Iterator[str]:
    """Return the table for a terminal: for every question, who answers what."""
    titles = {column["name"]: column["title"] for column in table["columns"]}
    for line in table["rows"]:
        yield f"{line['title']} ({line['done']})"
        answers: dict[str, list[str]] = {}
        for name, text in line["cells"].items():
            answers.setdefault(text, []).append(titles[name])
        for text, who in answers.items():
            yield f"  {text}: {', '.join(who)}"


def to_text(table: Mapping[str, Any]) -> str:
    """Return the table as a JSON document; lists of numbers stay on one line."""
    text = json.dumps(table, indent=1, allow_nan=False)
    return re.sub(r"\[[^][{}]*\]", lambda match: " ".join(match[0].split()), text) + "\n"
