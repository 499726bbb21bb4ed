"""Commands about crosscast itself and this machine: init, schema, matrix, doctor."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crosscast.cli_compile import JsonOption
from crosscast.console import EXIT_CANNOT_RUN, print_json, print_table


def init(
    path: Annotated[Path, typer.Argument(help="File to write.")] = Path("recipe.yaml"),
    force: Annotated[bool, typer.Option("--force", help="Replace existing files.")] = False,
) -> None:
    """Write a commented recipe to start from, and the schema that editors complete it with."""
    from crosscast.emit import template_root
    from crosscast.output import OutputFile, write_files
    from crosscast.schema import schema_text

    starter = (template_root() / "_shared" / "starter.recipe.yaml").read_text(encoding="utf-8")
    files = {path.name: OutputFile(starter), "recipe-v1.json": OutputFile(schema_text())}
    write_files(path.parent, files, force=force, manifest=False)
    for name in files:
        print(path.parent / name)


def schema() -> None:
    """Print the JSON Schema of recipes."""
    from crosscast.schema import schema_text

    print(schema_text(), end="")


def matrix(
    json: JsonOption = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the docs page.")] = False,
    defaults: Annotated[
        bool, typer.Option("--defaults", help="What APIs do where a script says nothing.")
    ] = False,
    dialects: Annotated[
        bool, typer.Option("--dialects", help="Versions of the targets, with counts of verdicts.")
    ] = False,
) -> None:
    """Print what every target can express, from the backends' own tables."""
    from crosscast.defaults_page import default_rows, defaults_page
    from crosscast.matrix import dialect_rows, markdown_page, matrix_rows
    from crosscast.target import backend_names, load_backend

    backends = [load_backend(name) for name in backend_names()]
    if markdown:
        print((defaults_page if defaults else markdown_page)(backends), end="")
        return
    rows, hidden = matrix_rows(backends), {"when", "probe"}
    if defaults:
        rows, hidden = default_rows(backends), {"kind", "measured", "source", "note"}
    elif dialects:
        rows, hidden = dialect_rows(backends), set()
    if json:
        print_json(rows)
    else:
        columns = [column for column in rows[0] if column not in hidden]
        print_table(columns, [[row[column] for column in columns] for row in rows])


def doctor(json: JsonOption = False) -> int:
    """Report which frameworks are installed here and what they can run natively."""
    from crosscast.doctor import examine
    from crosscast.target import backend_names, load_backend

    found = [examine(load_backend(name)) for name in backend_names()]
    if json:
        print_json([one.to_json() for one in found])
    else:
        columns = ("target", "version", "devices", "float32", "bfloat16", "float16", "note")
        print_table(columns, [one.cells() for one in found])
    return 0 if any(one.usable for one in found) else EXIT_CANNOT_RUN
