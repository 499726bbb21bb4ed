"""The command `crosscast migrate`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from crosscast.api.calls import named_versions, targets_of
from crosscast.cli.error_handling import positive
from crosscast.cli.lift import VersionOption
from crosscast.messages.console import EXIT_OK, print_table
from crosscast.messages.diagnostics import Diagnostic, DiagnosticError

if TYPE_CHECKING:
    from crosscast.migrate.codemod import Api


def migrate(
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="PATH...", help="Files and folders.")
    ] = None,
    to: Annotated[
        list[str] | None,
        typer.Option(
            "--to",
            metavar="API|T,...",
            help="In place: torch.amp, keras3, paddle3 or tf.compat.v1. With -o: targets, as for "
            "compile.",
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
            metavar="NAME", help="In place: allow a change of meaning, see --list-changes."
        ),
    ] = None,
    list_changes: Annotated[
        bool, typer.Option("--list-changes", help="List the changes of meaning for --allow.")
    ] = False,
    keep_bugs: Annotated[
        bool, typer.Option("--keep-bugs", help="Keep mistakes that a recipe can express.")
    ] = False,
    say: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="FIELD=VALUE", help="Set a recipe field that no source contains."
        ),
    ] = None,
    version: VersionOption = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite files that crosscast did not write.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Update programs to the current API of their framework, or with -o to another framework."""
    from crosscast.migrate.codemod import APIS

    if list_changes:
        return _list_changes()
    if not paths or not to:
        message = "name at least one file or folder, and with --to what to migrate it to"
        raise DiagnosticError(Diagnostic(code="CC970", message=message))
    if run and not verify:
        raise DiagnosticError(Diagnostic(code="CC970", message="--run needs --verify"))
    if (python or old_python) and not run:
        message = "--python and --old-python need --run"
        raise DiagnosticError(Diagnostic(code="CC970", message=message))
    in_place = [name for name in to if name in APIS]
    if in_place and (output or say or keep_bugs or force or version or len(to) > 1):
        message = (
            f"--to {in_place[0]} migrates in place: remove -o, --set, --keep-bugs, --force, "
            "--version and other targets"
        )
        raise DiagnosticError(Diagnostic(code="CC970", message=message))
    if in_place:
        if sum((diff, check, write, interactive)) > 1 or (interactive and json):
            message = "choose only one of --diff, --check, --write and --interactive, the last "
            message += "without --json"
            raise DiagnosticError(Diagnostic(code="CC970", message=message))
        from crosscast.cli.migrate_in_place import in_place as command
        from crosscast.migrate.allowed_changes import allowed
        from crosscast.migrate.executed_proof import Demand

        demand = Demand(
            command=run,
            python=python,
            old_python=old_python,
            device=device,
            updates=updates,
            timeout=timeout,
            memory=memory,
        )
        return command(
            paths,
            _api(to[0]),
            allowed=allowed(allow or (), _api(to[0])),
            check=check,
            write=write,
            verify=verify,
            demand=demand if run else None,
            json=json,
            interactive=interactive,
        )
    if not output:
        raise DiagnosticError(_no_folder(to))
    if diff or check or write or interactive or old_python or allow:
        message = (
            "--diff, --check, --write, --interactive, --old-python and --allow apply only to a "
            "migration in place"
        )
        raise DiagnosticError(Diagnostic(code="CC970", message=message))
    from crosscast.cli.migrate_across import migrate_to_targets
    from crosscast.lift.run_proof import Demand as Reading

    reading = Reading(
        command=run,
        python=python,
        device=device,
        updates=updates,
        timeout=timeout,
        memory=memory,
    )

    return migrate_to_targets(
        paths,
        targets_of(to),
        output,
        versions=named_versions(version or []),
        settings=say or (),
        keep_bugs=keep_bugs,
        verify=verify,
        reading=reading if run else None,
        force=force,
        json=json,
    )


def _list_changes() -> int:
    from crosscast.migrate.allowed_changes import CHANGES

    rows = [
        (name, change.api, change.before, change.after) for name, change in sorted(CHANGES.items())
    ]
    print_table(("name", "to", "before", "after"), rows, long=("before", "after"))
    return EXIT_OK


def _no_folder(to: list[str]) -> Diagnostic:
    from crosscast.migrate.codemod import APIS
    from crosscast.migrate.executed_proof import FRAMEWORK_OF
    from crosscast.targets.backend import backend_names

    known = {name.partition("@")[0] for text in to for name in text.split(",")}
    if known <= set(backend_names()):
        here = [api for api, framework in FRAMEWORK_OF.items() if framework in known]
        return Diagnostic(
            code="CC970",
            message=f"--to {', '.join(to)} is another framework: choose a folder with -o",
            hint=f"to update programs in place: --to {' or '.join(here)}" if here else "",
        )
    return Diagnostic(
        code="CC970",
        message=f"--to {', '.join(to)}: unknown API or target",
        hint=f"choose one of {', '.join(APIS)}; with -o one of {', '.join(backend_names())}",
    )


def _api(name: str) -> Api:
    from crosscast.migrate.codemod import APIS

    return next(api for api in APIS if api == name)
