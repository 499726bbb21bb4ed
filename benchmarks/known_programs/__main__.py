"""Compare what `lift` writes of well-known programs with what they do, field by field.

    python benchmarks/known_programs FILES [--show] [--only NAME] [--docs]

FILES holds OWNER+NAME@COMMIT8/PATH: all Python files, scripts and configurations of a repository,
since what lift reads beside a program depends on them. `programs.json` beside this file names, for
each program, its repository and commit, a command of its documentation, and the true value of every
field that the recipe of this command has, from reading the program.
`--docs` writes docs/measurements/known-programs.md. The exit code is 1 if a field is wrong or not
judged.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fields import Verdict, judged

from crosscast.messages.source import Source
from crosscast.messages.text_tables import layout
from crosscast_reading.lift.analysis import analyse, together
from crosscast_reading.lift.drafting import lift
from crosscast_reading.lift.related_files import with_nearby

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs" / "measurements" / "known-programs.md"
SCRIPT = "command.sh"
"""The name under which the command is read, in the folder where it is started."""
COLUMNS = ("program", "right", "FILL IN", "wrong", "not judged")
VERDICTS: tuple[Verdict, ...] = ("right", "FILL IN", "wrong", "unjudged")


@dataclass(frozen=True, slots=True)
class Result:
    """One program: its entry, and a verdict for each of its fields."""

    entry: dict[str, Any]
    fields: list[tuple[str, Verdict, Any]]
    diagnostics: list[str]

    @property
    def counts(self) -> list[int]:
        """How many fields have each verdict."""
        found = Counter(verdict for _, verdict, _ in self.fields)
        return [found[verdict] for verdict in VERDICTS]


def folder_of(entry: dict[str, Any], files: Path) -> Path:
    """Return where the files of a program lie."""
    return files / f"{entry['repo'].replace('/', '+')}@{entry['commit'][:8]}"


def changed(entry: dict[str, Any], files: Path) -> Iterator[str]:
    """Yield the files that are missing or not those that the truth was read from."""
    for name, digest in entry["files"].items():
        path = folder_of(entry, files) / name
        if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != digest:
            yield str(path)


def read(entry: dict[str, Any], files: Path) -> Result:
    """Lift one program as its command starts it."""
    script = folder_of(entry, files) / entry["start"] / SCRIPT
    command = Source(str(script), f"#!/bin/sh\n{entry['command']}")
    sources = with_nearby([command], [command.name]).sources
    lifted = lift(analyse(together(sources)))
    found = [f"{d.code} {d.path}: {d.message}" for d in lifted.diagnostics]
    return Result(entry, list(judged(lifted, entry["fields"])), found)


def show(result: Result) -> None:
    """Print every field of a program."""
    print(f"\n== {result.entry['name']}")
    rows = [
        (path, verdict, str(said), json.dumps(result.entry["fields"].get(path)))
        for path, verdict, said in result.fields
    ]
    table = layout(("field", "verdict", "lifted", "true"), rows)
    print(*table.head, *table.rows, *result.diagnostics, sep="\n")


def page(results: Sequence[Result]) -> str:
    """Return the page."""
    total = [sum(column) for column in zip(*(r.counts for r in results), strict=True)]
    head = f"""\
# Well-known programs

<!-- Written by `python benchmarks/known_programs FILES --docs`; do not edit. -->

What `crosscast lift` writes of {len(results)} commands from the documentation of well-known
programs, compared field by field with what the program does: {total[0]} fields are right,
{total[1]} are left open (`FILL IN`), {total[2]} are wrong. The true values are in
`benchmarks/known_programs/programs.json`. They were written down from reading the programs before
`lift` was run on them; where the two disagreed, the program was read again, and what had been
written down was corrected for about a dozen fields (seeds that no program sets, rates that skipped
steps move on, ways to train that are the same for one process). A field that the program decides
at run time, or for which a recipe has no word, must be left open. `lift` was repaired where it was
wrong on these programs, so the table says nothing of others: `benchmarks/lift_corpus` measures
files that were not looked at.

| program | source | right | FILL IN | wrong |
|---|---|---:|---:|---:|
"""
    rows = []
    for result in results:
        entry = result.entry
        at = f"[{entry['repo']}](https://github.com/{entry['repo']}/tree/{entry['commit']})"
        numbers = " | ".join(str(count) for count in result.counts[:3])
        rows.append(f"| {entry['name']} | {at} | {numbers} |\n")
    parts = [head, *rows, "\n## Left open\n"]
    for result in results:
        left = [f"`{path}`" for path, verdict, _ in result.fields if verdict == "FILL IN"]
        parts.append(f"\n**{result.entry['name']}**: {', '.join(left)}.\n")
        if "note" in result.entry:
            parts.append(f"{result.entry['note']}\n")
    return "".join(parts)


def main() -> None:
    """Parse the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", type=Path)
    parser.add_argument("--show", action="store_true", help="every field of every program")
    parser.add_argument("--only", default="", help="a part of the names of the programs")
    parser.add_argument("--docs", action="store_true", help=f"write docs/measurements/{PAGE.name}")
    args = parser.parse_args()
    entries = json.loads((HERE / "programs.json").read_text())
    entries = [entry for entry in entries if args.only.lower() in entry["name"].lower()]
    if others := [name for entry in entries for name in changed(entry, args.files)]:
        parser.error(f"missing or changed: {', '.join(others)}")
    results = [read(entry, args.files) for entry in entries]
    for result in results:
        if args.show:
            show(result)
    rows = [(r.entry["name"], *map(str, r.counts)) for r in results]
    table = layout(COLUMNS, rows)
    print(*table.head, *table.rows, sep="\n")
    for result in results:
        for path, verdict, said in result.fields:
            if verdict in ("wrong", "unjudged"):
                true = json.dumps(result.entry["fields"].get(path))
                print(f"{result.entry['name']}: {path} is {verdict}: {said}, not {true}")
    if args.docs:
        PAGE.write_text(page(results))
    sys.exit(any(result.counts[2] or result.counts[3] for result in results))


if __name__ == "__main__":
    main()
