"""In-place migration: `crosscast migrate ... --to API`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from crosscast.messages.console import (
    EXIT_CANNOT_RUN,
    EXIT_FINDINGS,
    EXIT_OK,
    exit_code,
    print_diagnostics,
    print_json,
)
from crosscast.messages.diagnostics import Diagnostic
from crosscast.sources.files import path_of

if TYPE_CHECKING:
    from crosscast.lint.result import Result
    from crosscast.migrate.before_after import Comparison
    from crosscast.migrate.codemod import Api
    from crosscast.migrate.executed_proof import Demand
    from crosscast.migrate.in_place import InPlaceMigration
    from crosscast.sources.files import Text
    from crosscast_parity.side_by_side.proof import Execution


def in_place(
    paths: list[str],
    api: Api,
    *,
    allowed: frozenset[str],
    check: bool,
    write: bool,
    verify: bool,
    demand: Demand | None,
    json: bool,
) -> int:
    """Change programs, or show what would change; return the exit code.

    Args:
        paths: files and folders.
        api: the API to migrate to.
        allowed: names of changes of meaning that may be made.
        check: only list the changes.
        write: change the files, unless a run shows that they train differently.
        verify: compare both sides.
        demand: the script to execute, if any.
        json: print JSON.

    Raises:
        DiagnosticError: the demand is invalid, or a requirement is missing.
    """
    from crosscast.migrate.in_place import migrate_in_place
    from crosscast.migrate.registry import codemods_to
    from crosscast.sources.files import read_all

    files, problems = read_all(paths)
    sources = [file.source for file in files.values()]
    migrated = migrate_in_place(sources, codemods_to(api), allowed)
    problems += migrated.problems
    compared: list[Comparison] = []
    execution: Execution | None = None
    if verify:
        from crosscast.migrate.before_after import compare_texts

        compared = compare_texts(sources, migrated.texts)
    if demand and migrated.texts:
        from crosscast.migrate.executed_proof import diagnostics_of, execute, with_execution

        execution = execute(files, migrated.texts, api, demand, _on_run)
        compared = with_execution(compared, execution)
        problems += diagnostics_of(execution)
    differs = execution is not None and execution.outcome == "different"
    if write and not differs:
        from crosscast.lint.fix import write as write_texts

        problems += [*write_texts(files, migrated.texts), *_write_added(migrated.added)]
    if json:
        data = _plain(files, migrated, problems)
        if verify:
            data |= _plain_verification(compared, execution)
        print_json(data)
    else:
        if not check and not write:
            _print_diff(files, migrated)
        _print_summary(migrated, listed=check or write)
        if verify:
            _print_comparison(compared, execution)
        print_diagnostics(problems)
        if write and differs:
            print("No file was changed.", file=sys.stderr)
    if code := exit_code(problems):
        return code
    if execution is not None and execution.outcome == "cannot be verified here":
        return EXIT_CANNOT_RUN
    other = any(comparison.verdict == "different" for comparison in compared)
    open_ = migrated.refusals or (check and migrated.texts) or other
    return EXIT_FINDINGS if open_ else EXIT_OK


def _write_added(added: Mapping[str, str]) -> list[Diagnostic]:
    """Write new files; return diagnostics for those that cannot be written."""
    problems: list[Diagnostic] = []
    for name, text in added.items():
        try:
            with path_of(name).open("x", encoding="utf-8") as stream:
                stream.write(text)
        except FileExistsError:
            if path_of(name).read_bytes() != text.encode():
                message = f"{name}: not written: the file exists with other content"
                problems.append(Diagnostic(code="CC502", message=message))
        except OSError as error:
            message = f"{name}: not written: {error.strerror or error}"
            problems.append(Diagnostic(code="CC502", message=message))
    return problems


def _on_run(name: str) -> None:
    """Print the current run on a terminal."""
    if sys.stderr.isatty():
        print(f"running the {name}", file=sys.stderr)


def _plain_verification(
    compared: Sequence[Comparison], execution: Execution | None
) -> Mapping[str, Any]:
    from crosscast.migrate.executed_proof import plain

    return {
        "verification": [asdict(comparison) for comparison in compared],
        "execution": None if execution is None else plain(execution),
    }


def _print_comparison(compared: Sequence[Comparison], execution: Execution | None) -> None:
    """Print the differences, a summary, and the results of the execution."""
    from crosscast.migrate.before_after import NOT_RUN

    for comparison in compared:
        if comparison.verdict == "different":
            print(f"{comparison.name}: {comparison.field}: {comparison.why}", file=sys.stderr)
    counts = {
        verdict: sum(comparison.verdict == verdict for comparison in compared)
        for verdict in ("same", "changed on purpose", "different", "not comparable")
    }
    words = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    if execution is None:
        print(f"verified: {words} ({NOT_RUN})", file=sys.stderr)
        return
    if execution.outcome == "cannot be verified here":
        print(f"verified: {words} (by reading only)", file=sys.stderr)
        return
    executed = sum(comparison.evidence == "executed" for comparison in compared)
    print(f"verified: {words} ({executed} of these by execution)", file=sys.stderr)
    print(f"executed: {execution.outcome}: {execution.wording}", file=sys.stderr)
    for note in execution.notes:
        print(f"  {note}", file=sys.stderr)


def _print_diff(files: dict[str, Text], migrated: InPlaceMigration) -> None:
    from crosscast.lint.fix import diff_of

    for name, text in migrated.texts.items():
        print(diff_of(files[name].source, text), end="")
    for name, text in migrated.added.items():
        print(f"New file: {name} ({len(text.splitlines())} lines)")


def _print_summary(migrated: InPlaceMigration, *, listed: bool) -> None:
    """Print the changes if `listed`, then the refusals, then a summary."""
    from crosscast.lint.formats.text import text

    if listed:
        for change in migrated.changes:
            print(f"{change.span}: {change.code} {change.message}")
        for name in migrated.added:
            print(f"{name}: a new file, which the changed programs import")
    notes = dict.fromkeys(change.hint for change in migrated.changes if change.hint)
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
    files: dict[str, Text], migrated: InPlaceMigration, problems: list[Diagnostic]
) -> dict[str, Any]:
    def of(results: tuple[Result, ...]) -> list[dict[str, Any]]:
        return [result.diagnostic().to_json() | {"name": result.name} for result in results]

    return {
        "files": {
            name: {"changed": name in migrated.texts, "text": migrated.texts.get(name)}
            for name in files
        },
        "added": migrated.added,
        "changes": of(migrated.changes),
        "refusals": of(migrated.refusals),
        "problems": [problem.to_json() for problem in problems],
    }
