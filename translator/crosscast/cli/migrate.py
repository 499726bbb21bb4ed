"""The command `crosscast migrate`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from crosscast.api.parameters import Parameter
from crosscast.cli.lift import on_run
from crosscast.cli.migrate_across import print_across, progress_of
from crosscast.cli.migrate_in_place import print_in_place
from crosscast.cli.migrate_review import answers_on_terminal, show_refusals
from crosscast.cli.options import JSON, options_of, output
from crosscast.cli.progress import waiting
from crosscast.cli.screens import show
from crosscast.messages.console import EXIT_OK, print_json
from crosscast.messages.diagnostics import Diagnostic, DiagnosticError, failure

if TYPE_CHECKING:
    from crosscast.api.migrated import Migration


@options_of(
    "migrating.migrate",
    output="to",
    diff="to",
    interactive="write",
    list_changes="experimental",
    explore="set",
)
def migrate_command(
    migrate: Callable[..., Migration],
    *,
    paths: list[str] | None = None,
    to: list[str] | None,
    output: Annotated[str, output("Folder for the migration to another framework.")] = "",
    diff: Annotated[bool, Parameter("Print a diff of the changes; the default.")] = False,
    check: bool,
    write: bool,
    interactive: Annotated[
        bool, Parameter("Ask about every change; write those you accept.")
    ] = False,
    verify: bool,
    run: str,
    build: str,
    list_changes: Annotated[bool, Parameter("List the changes of meaning for --allow.")] = False,
    explore: Annotated[
        str,
        Parameter(
            "With -o: also write a page with source, fields and emitted lines side by side.",
            "FILE",
        ),
    ] = "",
    force: bool,
    json: Annotated[bool, JSON] = False,
) -> int:
    """Update programs to the current API of their framework, or with -o to another framework."""
    if list_changes:
        return _list_changes()
    from crosscast.api.migrated_across import Across
    from crosscast.api.migrated_in_place import InPlace

    _check_choices(to or (), output, diff, check, write, interactive, json, explore)
    migration: Migration
    alone = (run or build) and not output and not interactive
    with (
        waiting("reading the programs" if alone else "") as now,
        progress_of(verify and bool(output)) as on_progress,
    ):
        migration = migrate(
            paths=paths or (),
            out=output or None,
            write=write or interactive,
            ask=answers_on_terminal() if interactive and "-" not in (paths or ()) else None,
            on_run=(lambda name: now(f"running the {name}")) if alone else on_run,
            on_progress=on_progress,
        )
    if explore and isinstance(migration, Across):
        from crosscast.cli.explore import file_of, print_page

        print_page(migration.explore(out=file_of(explore), force=force))
    if json:
        print_json(migration.to_json())
    elif isinstance(migration, Across):
        print_across(migration, Path(output))
    elif isinstance(migration, InPlace):
        if not to:
            print(f"--to {migration.to}", file=sys.stderr)
        left = show_refusals(migration.refusals) if interactive else migration.refusals
        print_in_place(migration, left)
    return migration.exit_code


def _check_choices(
    to: Sequence[str],
    output: str,
    diff: bool,
    check: bool,
    write: bool,
    interactive: bool,
    json: bool,
    explore: str,
) -> None:
    """Refuse options of which one has no meaning beside the others.

    Raises:
        DiagnosticError: CC970.
    """
    from crosscast.targets.source_support import migration_apis

    if any(name in migration_apis() for name in to) or not (to or output):
        if sum((diff, check, write, interactive)) > 1 or (interactive and json):
            message = "choose only one of --diff, --check, --write and --interactive, the last "
            message += "without --json"
            raise failure("CC970", message)
        if explore:
            raise failure("CC970", "--explore applies only to a migration to a target, with -o")
    elif to and not output:
        raise DiagnosticError(_no_folder(to))
    elif diff:
        raise failure("CC970", "--diff applies only to a migration in place")


def _list_changes() -> int:
    from crosscast.api.migrating import migrate_changes

    show(migrate_changes())
    return EXIT_OK


def _no_folder(to: Sequence[str]) -> Diagnostic:
    from crosscast.api.calls import words_of
    from crosscast.api.migrating import is_target, unknown
    from crosscast.targets.source_support import migration_apis

    words = words_of(to)
    if not is_target(words):
        return unknown(words)
    known = {name.partition("@")[0] for name in words}
    here = [name for name, api in migration_apis().items() if api.framework in known]
    return Diagnostic(
        code="CC970",
        message=f"--to {', '.join(to)} is another framework: choose a folder with -o",
        hint=f"to update programs in place: --to {' or '.join(here)}" if here else "",
    )
