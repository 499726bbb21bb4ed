"""The command `crosscast migrate`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crosscast.console import EXIT_FINDINGS, EXIT_OK, exit_code, print_diagnostics, print_json
from crosscast.diagnostics import Diagnostic, DiagnosticError

if TYPE_CHECKING:
    from crosscast.lint.files import Text
    from crosscast.lint.result import Result
    from crosscast.migrate.codemod import Api
    from crosscast.migrate.inplace import Migrated


def migrate(
    paths: Annotated[list[str], typer.Argument(metavar="PATH...", help="Files and folders.")],
    to: Annotated[str, typer.Option("--to", metavar="API", help="torch.amp, keras3 or paddle3.")],
    diff: Annotated[
        bool, typer.Option("--diff", help="Print what would change; the default.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Only say what would change; exit code 1 if any.")
    ] = False,
    write: Annotated[bool, typer.Option("--write", help="Change the files.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Bring programs to the present API of their framework; what is not certain stays."""
    from crosscast.lint.files import read_all
    from crosscast.migrate.inplace import migrate_in_place
    from crosscast.migrate.registry import codemods_to

    if sum((diff, check, write)) > 1:
        raise DiagnosticError(Diagnostic(code="CC970", message="choose --diff, --check or --write"))
    files, problems = read_all(paths)
    sources = [one.source for one in files.values()]
    migrated = migrate_in_place(sources, codemods_to(_api(to)))
    problems += migrated.problems
    if write:
        from crosscast.lint.fix import write as write_texts

        problems += write_texts(files, migrated.texts)
    if json:
        print_json(_plain(files, migrated, problems))
    else:
        if not check and not write:
            _print_diff(files, migrated)
        _tell(migrated, listed=check or write)
        print_diagnostics(problems)
    if code := exit_code(problems):
        return code
    open_ = migrated.refusals or (check and migrated.texts)
    return EXIT_FINDINGS if open_ else EXIT_OK


def _api(name: str) -> Api:
    from crosscast.migrate.codemod import APIS

    for one in APIS:
        if name == one:
            return one
    raise DiagnosticError(
        Diagnostic(
            code="CC970",
            message=f"--to {name}: not an API that programs can be brought to",
            hint=f"choose one of {', '.join(APIS)}",
        )
    )


def _print_diff(files: dict[str, Text], migrated: Migrated) -> None:
    from crosscast.lint.fix import diff_of

    for name, text in migrated.texts.items():
        print(diff_of(files[name].source, text), end="")


def _tell(migrated: Migrated, *, listed: bool) -> None:
    """Print the changes if they are asked for, then what stays, then how many of each."""
    from crosscast.lint.formats.text import text

    if listed:
        for one in migrated.changes:
            print(f"{one.span}: {one.code} {one.message}")
    notes = dict.fromkeys(one.hint for one in migrated.changes if one.hint)
    print(text(migrated.refusals), end="", file=sys.stderr)
    for note in notes:
        print(f"Note: {note}", file=sys.stderr)
    changed, left = len(migrated.changes), len(migrated.refusals)
    print(
        f"{changed} changed in {len(migrated.texts)} file{'s' * (len(migrated.texts) != 1)}, "
        f"{left} left for you to decide",
        file=sys.stderr,
    )


def _plain(
    files: dict[str, Text], migrated: Migrated, problems: list[Diagnostic]
) -> dict[str, Any]:
    def of(results: tuple[Result, ...]) -> list[dict[str, Any]]:
        return [one.diagnostic().to_json() | {"name": one.name} for one in results]

    return {
        "files": {
            name: {"changed": name in migrated.texts, "text": migrated.texts.get(name)}
            for name in files
        },
        "changes": of(migrated.changes),
        "refusals": of(migrated.refusals),
        "problems": [one.to_json() for one in problems],
    }
