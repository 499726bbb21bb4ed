"""Commands about crosscast itself and this machine: init, schema, matrix, doctor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from crosscast.cli.compile import JsonOption
from crosscast.messages.console import EXIT_CANNOT_RUN, cell_text, print_json, print_table


def init(
    path: Annotated[Path, typer.Argument(help="File to write.")] = Path("recipe.yaml"),
    force: Annotated[bool, typer.Option("--force", help="Replace existing files.")] = False,
) -> None:
    """Write a commented starter recipe and the JSON Schema that editors use for completion."""
    from crosscast.emit.render import template_root
    from crosscast.messages.output import OutputFile, write_files
    from crosscast.recipe.schema import schema_text

    starter = (template_root() / "_shared" / "starter.recipe.yaml").read_text(encoding="utf-8")
    files = {path.name: OutputFile(starter), "recipe-v1.json": OutputFile(schema_text())}
    write_files(path.parent, files, force=force, manifest=False)
    for name in files:
        print(path.parent / name)


def schema() -> None:
    """Print the JSON Schema of recipes."""
    from crosscast.recipe.schema import schema_text

    print(schema_text(), end="")


def matrix(
    json: JsonOption = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the docs page.")] = False,
    defaults: Annotated[
        bool, typer.Option("--defaults", help="Show the default values of framework APIs.")
    ] = False,
    dialects: Annotated[
        bool,
        typer.Option(
            "--dialects", help="Show the versions of the targets, with counts of verdicts."
        ),
    ] = False,
) -> None:
    """Print what every target supports."""
    _refuse_both(("--json", json), ("--markdown", markdown))
    _refuse_both(("--dialects", dialects), ("--defaults", defaults))
    _refuse_both(("--dialects", dialects), ("--markdown", markdown))
    from crosscast.targets.backend import backend_names, load_backend
    from crosscast.targets.default_tables import default_rows, defaults_page, value_text
    from crosscast.targets.matrix import dialect_rows, markdown_page, matrix_rows

    backends = [load_backend(name) for name in backend_names()]
    if markdown:
        print((defaults_page if defaults else markdown_page)(backends), end="")
        return
    rows: Sequence[Mapping[str, Any]] = matrix_rows(backends)
    hidden = {"when", "probe"}
    if defaults:
        rows, hidden = default_rows(backends), {"kind", "measured", "source", "note"}
    elif dialects:
        rows, hidden = dialect_rows(backends), set()
    if json:
        print_json(rows)
        return
    columns = [column for column in rows[0] if column not in hidden]
    # Distinguish the number 1 from the text '1', and print 65536 as 2**16.
    cells = [
        [(value_text if name == "default" else cell_text)(row[name]) for name in columns]
        for row in rows
    ]
    print_table(columns, cells, long=("how",))


def _refuse_both(first: tuple[str, bool], other: tuple[str, bool]) -> None:
    """Refuse two options that exclude each other."""
    if first[1] and other[1]:
        raise typer.BadParameter(f"{first[0]} and {other[0]} exclude each other")


def doctor(json: JsonOption = False) -> int:
    """Report which frameworks are installed here and what they can run natively."""
    from crosscast.targets.backend import load_backend, program_names
    from crosscast.targets.doctor import examine

    found = [examine(load_backend(name)) for name in program_names()]
    if json:
        print_json([diagnostic.to_json() for diagnostic in found])
    else:
        columns = ("target", "version", "devices", "float32", "bfloat16", "float16", "note")
        print_table(columns, [machine.cells() for machine in found], long=("note",))
    return 0 if any(machine.usable for machine in found) else EXIT_CANNOT_RUN
