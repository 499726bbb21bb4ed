"""The command `crosscast migrate`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from crosscast.cli.compile import targets_of
from crosscast.cli.lift import VersionOption, named_versions
from crosscast.messages.diagnostics import Diagnostic, DiagnosticError

if TYPE_CHECKING:
    from crosscast.migrate.codemod import Api


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
        bool,
        typer.Option("--verify", help="Prove it: in place see --run; with -o, runs what it wrote."),
    ] = False,
    run: Annotated[
        str,
        typer.Option(
            metavar="'SCRIPT ARG...'",
            help="With --verify in place: execute this script, before and after, and compare every "
            "update. Without this, nothing of yours is executed.",
        ),
    ] = "",
    python: Annotated[
        str, typer.Option(metavar="PATH", help="With --run: the interpreter; default this one.")
    ] = "",
    old_python: Annotated[
        str, typer.Option(metavar="PATH", help="With --run: one in which the old API still runs.")
    ] = "",
    device: Annotated[
        Literal["cpu", "gpu"], typer.Option(help="With --run: cpu hides GPUs from the script.")
    ] = "cpu",
    updates: Annotated[
        int, typer.Option(help="With --run: a run ends after so many updates.")
    ] = 100,
    timeout: Annotated[float, typer.Option(help="With --run: seconds for one run.")] = 600.0,
    memory: Annotated[float, typer.Option(help="With --run: GiB of one run, 0 for any.")] = 0.0,
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
        if run and not verify:
            message = "--run is a part of --verify"
            raise DiagnosticError(Diagnostic(code="CC970", message=message))
        from crosscast.cli.migrate_in_place import in_place as command
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
            check=check,
            write=write,
            verify=verify,
            demand=demand if run else None,
            json=json,
        )
    if not output:
        raise DiagnosticError(_no_folder(to))
    if diff or check or write or run:
        message = "--diff, --check, --write and --run are for a migration in place"
        raise DiagnosticError(Diagnostic(code="CC970", message=message))
    from crosscast.cli.migrate_across import migrate_to_targets

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
    from crosscast.targets.backend import backend_names

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


def _api(name: str) -> Api:
    from crosscast.migrate.codemod import APIS

    return next(one for one in APIS if one == name)
