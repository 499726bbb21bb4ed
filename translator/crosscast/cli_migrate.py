"""The command `crosscast migrate`."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crosscast.cli_compile import targets_of
from crosscast.cli_lift import VersionOption, named_versions
from crosscast.console import EXIT_FINDINGS, EXIT_OK, exit_code, print_diagnostics, print_json
from crosscast.diagnostics import Diagnostic, DiagnosticError

if TYPE_CHECKING:
    from crosscast.lint.files import Text
    from crosscast.lint.result import Result
    from crosscast.migrate.before_after import Compared
    from crosscast.migrate.codemod import Api
    from crosscast.migrate.inplace import Migrated


def migrate(
    paths: Annotated[list[str], typer.Argument(metavar="PATH...", help="Files and folders.")],
    to: Annotated[
        list[str],
        typer.Option(
            "--to",
            metavar="API|T,...",
            help="In place: torch.amp, keras3 or paddle3. With -o: targets, as of compile.",
        ),
    ],
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="DIR", help="Folder for another framework.")
    ] = "",
    diff: Annotated[
        bool, typer.Option("--diff", help="Print what would change; the default.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Only say what would change; exit code 1 if any.")
    ] = False,
    write: Annotated[bool, typer.Option("--write", help="Change the files.")] = False,
    verify: Annotated[
        bool, typer.Option("--verify", help="Prove it; with -o by running what was written.")
    ] = False,
    keep_bugs: Annotated[
        bool, typer.Option("--keep-bugs", help="Keep mistakes where a recipe can say them.")
    ] = False,
    say: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="FIELD=VALUE", help="What no source says of the recipe."),
    ] = None,
    version: VersionOption = None,
    force: Annotated[bool, typer.Option("--force", help="Replace foreign files.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Bring programs to the present API of their framework, or with -o to another framework."""
    from crosscast.migrate.codemod import APIS

    in_place = [name for name in to if name in APIS]
    if in_place and (output or say or keep_bugs or force or len(to) > 1):
        message = f"{in_place[0]} is written in place: -o, --set, --keep-bugs, --force do not apply"
        raise DiagnosticError(Diagnostic(code="CC970", message=message))
    if in_place:
        if sum((diff, check, write)) > 1:
            message = "choose --diff, --check or --write"
            raise DiagnosticError(Diagnostic(code="CC970", message=message))
        return _in_place(paths, _api(to[0]), check=check, write=write, verify=verify, json=json)
    if not output:
        raise DiagnosticError(_no_folder(to))
    if diff or check or write:
        message = "--diff, --check and --write are for a migration in place"
        raise DiagnosticError(Diagnostic(code="CC970", message=message))
    from crosscast.cli_across import migrate_to_targets

    return migrate_to_targets(
        paths,
        targets_of(to),
        output,
        versions=named_versions(version or []),
        settings=say or (),
        keep_bugs=keep_bugs,
        verify=verify,
        force=force,
        json=json,
    )


def _no_folder(to: list[str]) -> Diagnostic:
    from crosscast.migrate.codemod import APIS
    from crosscast.target import backend_names

    known = {name.partition("@")[0] for text in to for name in text.split(",")}
    if known <= set(backend_names()):
        return Diagnostic(
            code="CC970",
            message=f"--to {', '.join(to)} is another framework: name a folder with -o",
        )
    return Diagnostic(
        code="CC970",
        message=f"--to {', '.join(to)}: not an API that programs can be brought to",
        hint=f"choose one of {', '.join(APIS)}; with -o one of {', '.join(backend_names())}",
    )


def _in_place(
    paths: list[str], api: Api, *, check: bool, write: bool, verify: bool, json: bool
) -> int:
    from crosscast.lint.files import read_all
    from crosscast.migrate.inplace import migrate_in_place
    from crosscast.migrate.registry import codemods_to

    files, problems = read_all(paths)
    sources = [one.source for one in files.values()]
    migrated = migrate_in_place(sources, codemods_to(api))
    problems += migrated.problems
    if write:
        from crosscast.lint.fix import write as write_texts

        problems += write_texts(files, migrated.texts)
    compared: list[Compared] = []
    if verify:
        from crosscast.migrate.before_after import compare_texts

        compared = compare_texts(sources, migrated.texts)
    if json:
        plain = _plain(files, migrated, problems)
        print_json(plain | {"verification": [asdict(one) for one in compared]} if verify else plain)
    else:
        if not check and not write:
            _print_diff(files, migrated)
        _tell(migrated, listed=check or write)
        if verify:
            _tell_compared(compared)
        print_diagnostics(problems)
    if code := exit_code(problems):
        return code
    other = any(one.verdict == "different" for one in compared)
    open_ = migrated.refusals or (check and migrated.texts) or other
    return EXIT_FINDINGS if open_ else EXIT_OK


def _tell_compared(compared: list[Compared]) -> None:
    """Print what is not the same before and after, and how much is."""
    from crosscast.migrate.before_after import NOT_RUN

    for one in compared:
        if one.verdict == "different":
            print(f"{one.name}: {one.field}: {one.why}", file=sys.stderr)
    counts = {
        verdict: sum(one.verdict == verdict for one in compared)
        for verdict in ("same", "changed on purpose", "different", "not comparable")
    }
    words = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    print(f"verified: {words} ({NOT_RUN})", file=sys.stderr)


def _api(name: str) -> Api:
    from crosscast.migrate.codemod import APIS

    return next(one for one in APIS if one == name)


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
