"""The command `crosscast migrate`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from crosscast.cli.completion import complete_changes, complete_migrations, complete_settings
from crosscast.cli.error_handling import positive
from crosscast.cli.lift import VersionOption, on_run
from crosscast.cli.migrate_across import print_across, progress_of
from crosscast.cli.migrate_in_place import print_in_place
from crosscast.cli.migrate_review import answers_on_terminal, show_refusals
from crosscast.cli.progress import waiting
from crosscast.cli.screens import show
from crosscast.messages.console import EXIT_OK, print_json
from crosscast.messages.diagnostics import Diagnostic, DiagnosticError, failure

if TYPE_CHECKING:
    from crosscast.api.migrated import Migration


def migrate_command(
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="PATH...", help="Files and folders.")
    ] = None,
    to: Annotated[
        list[str] | None,
        typer.Option(
            "--to",
            autocompletion=complete_migrations,
            metavar="API|TARGET,...",
            help="In place: torch.amp, keras3, paddle3 or tf.compat.v1; default: what the old APIs "
            "belong to. With -o: targets, as for compile.",
        ),
    ] = None,
    output: Annotated[
        str,
        typer.Option(
            "-o", "--output", metavar="DIR", help="Folder for the migration to another framework."
        ),
    ] = "",
    diff: Annotated[
        bool, typer.Option("--diff", help="Print a diff of the changes; the default.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Only list the changes; exit with 1 if there are any.")
    ] = False,
    write: Annotated[bool, typer.Option("--write", help="Change the files.")] = False,
    interactive: Annotated[
        bool,
        typer.Option("--interactive", help="Ask about every change; write those you accept."),
    ] = False,
    verify: Annotated[
        bool,
        typer.Option(
            "--verify",
            help="Verify the migration: in place, see --run; with -o, run the new script.",
        ),
    ] = False,
    run: Annotated[
        str,
        typer.Option(
            metavar="'SCRIPT ARG...'",
            help="With --verify: execute this script. In place before and after the migration, to "
            "compare every update; with -o to prove what was read. Your code is never executed "
            "without this option.",
        ),
    ] = "",
    python: Annotated[
        str,
        typer.Option(metavar="PATH", help="With --run: the interpreter; default: the current one."),
    ] = "",
    old_python: Annotated[
        str, typer.Option(metavar="PATH", help="With --run: an interpreter with the old API.")
    ] = "",
    device: Annotated[
        Literal["cpu", "gpu"], typer.Option(help="With --run: cpu hides the GPUs from the script.")
    ] = "cpu",
    updates: Annotated[
        int, typer.Option(min=1, help="With --run: number of updates after which a run ends.")
    ] = 100,
    timeout: Annotated[
        float,
        typer.Option(callback=positive, help="With --run: time limit of a run in seconds."),
    ] = 600.0,
    memory: Annotated[
        float, typer.Option(min=0, help="With --run: memory limit of a run in GiB; 0 for none.")
    ] = 0.0,
    allow: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            autocompletion=complete_changes,
            help="In place: allow a change of meaning, see --list-changes.",
        ),
    ] = None,
    experimental: Annotated[
        bool,
        typer.Option(
            "--experimental",
            help="In place: apply experimental migrations, as all are today: too few of the "
            "programs that had no part in writing them came out right.",
        ),
    ] = False,
    list_changes: Annotated[
        bool, typer.Option("--list-changes", help="List the changes of meaning for --allow.")
    ] = False,
    keep_bugs: Annotated[
        bool, typer.Option("--keep-bugs", help="Keep mistakes that a recipe can express.")
    ] = False,
    say: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            autocompletion=complete_settings,
            metavar="FIELD=VALUE",
            help="Set a recipe field that no source contains.",
        ),
    ] = None,
    explore: Annotated[
        str,
        typer.Option(
            "--explore",
            metavar="FILE",
            help="With -o: also write a page with source, fields and emitted lines side by side.",
        ),
    ] = "",
    version: VersionOption = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite files that crosscast did not write.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Update programs to the current API of their framework, or with -o to another framework."""
    if list_changes:
        return _list_changes()
    from crosscast.api.migrated_across import Across
    from crosscast.api.migrated_in_place import InPlace
    from crosscast.api.migrating import migrate

    _check_choices(to or (), output, diff, check, write, interactive, json, explore)
    found: Migration
    alone = run and not output and not interactive
    with (
        waiting("reading the programs" if alone else "") as now,
        progress_of(verify and bool(output)) as on_progress,
    ):
        found = migrate(
            paths or (),
            to or (),
            out=output or None,
            write=write or interactive,
            check=check,
            ask=answers_on_terminal() if interactive and "-" not in (paths or ()) else None,
            verify=verify,
            run=run,
            python=python,
            old_python=old_python,
            device=device,
            updates=updates,
            timeout=timeout,
            memory=memory,
            allow=allow or (),
            experimental=experimental,
            keep_bugs=keep_bugs,
            set=say or (),
            version=version or (),
            force=force,
            on_run=(lambda name: now(f"running the {name}")) if alone else on_run,
            on_progress=on_progress,
        )
    if explore and isinstance(found, Across):
        from crosscast.cli.explore import file_of, print_page

        print_page(found.explore(out=file_of(explore), force=force))
    if json:
        print_json(found.to_json())
    elif isinstance(found, Across):
        print_across(found, Path(output))
    elif isinstance(found, InPlace):
        if not to:
            print(f"--to {found.to}", file=sys.stderr)
        left = show_refusals(found.refusals) if interactive else found.refusals
        print_in_place(found, left)
    return found.exit_code


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
