"""Ask all trainers the neutral questions and print or write the table (`python -m`)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from crosscast.messages.diagnostics import DiagnosticError
from crosscast_parity.adapters.columns import COLUMNS, Column, observe
from crosscast_parity.adapters.table import build, markdown, text_lines, to_text


def measure(
    columns: Sequence[Column],
    *,
    jobs: int,
    python: str = sys.executable,
    complain: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Return the table of these columns, without columns that cannot be measured here.

    Args:
        columns: who is asked.
        jobs: probe processes side by side.
        python: interpreter that has the trainers.
        complain: told of every column that was left out.
    """

    def ask(column: Column) -> dict[str, Any] | None:
        try:
            return observe(column, python)
        except DiagnosticError as error:
            for diagnostic in error.diagnostics:
                complain(
                    f"{diagnostic.code}: {diagnostic.message}; {diagnostic.hint}".removesuffix("; ")
                )
            return None

    with ThreadPoolExecutor(jobs) as pool:
        answers = list(pool.map(ask, columns))
    named = zip((column.name for column in columns), answers, strict=True)
    return build({name: observation for name, observation in named if observation is not None})


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; exit code 3 if somebody could not be asked."""
    names = [column.name for column in COLUMNS]
    parser = argparse.ArgumentParser(
        prog="crosscast_parity.adapters.conformance", description=__doc__
    )
    parser.add_argument(
        "--only", choices=names, action="append", help="column to measure; repeatable"
    )
    parser.add_argument("--python", default=sys.executable, help="interpreter with the trainers")
    parser.add_argument("--jobs", type=int, default=2, help="parallel processes")
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="conformance.{json,md}")
    options = parser.parse_args(argv)
    columns = [c for c in COLUMNS if not options.only or c.name in options.only]
    problems: list[str] = []
    table = measure(
        columns, jobs=max(1, options.jobs), python=options.python, complain=problems.append
    )
    for line in (*text_lines(table), *problems):
        print(line)
    if options.write and not problems:
        (options.write / "conformance.json").write_text(to_text(table), encoding="utf-8")
        (options.write / "conformance.md").write_text(markdown(table), encoding="utf-8")
    return 3 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
