"""Move programs to another API or framework."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, overload

from crosscast.api import html
from crosscast.api.calls import (
    Paths,
    Texts,
    Words,
    named_versions,
    paths_of,
    public,
    targets_of,
    texts_of,
    words_of,
)
from crosscast.api.files import counted
from crosscast.api.parameters import (
    FORCE,
    RUN_DEVICE,
    RUN_MEMORY,
    RUN_PYTHON,
    RUN_TIMEOUT,
    RUN_UPDATES,
    VERSIONS,
    Parameter,
)
from crosscast.api.result import Result
from crosscast.messages.code import Exit
from crosscast.messages.console import EXIT_OK
from crosscast.messages.diagnostics import Diagnostic, DiagnosticError, failure
from crosscast.messages.screens import Part, Table
from crosscast.messages.source import STDIN

if TYPE_CHECKING:
    from crosscast.api.migrated import Migration
    from crosscast.api.migrated_in_place import InPlace
    from crosscast.targets.source_support import AllowedChange
    from crosscast_migrate.interactive import Answer, Question

CHANGE_COLUMNS = ("name", "to", "before", "after")


@overload
def migrate(
    paths: Paths,
    to: str = "",
    *,
    write: bool = False,
    check: bool = False,
    ask: Callable[[Question], Answer] | None = None,
    verify: bool = False,
    run: str = "",
    python: str = "",
    old_python: str = "",
    device: Literal["cpu", "gpu"] = "cpu",
    updates: int = 100,
    timeout: float = 600.0,
    memory: float = 0.0,
    allow: Words = (),
    experimental: bool = False,
    check_only: bool = False,
    build: str = "",
    no_run: bool = False,
    on_run: Callable[[str], None] | None = None,
) -> InPlace: ...


@overload
def migrate(
    paths: Paths,
    to: Words,
    *,
    out: str | os.PathLike[str] | None = None,
    write: bool = False,
    check: bool = False,
    ask: Callable[[Question], Answer] | None = None,
    verify: bool = False,
    run: str = "",
    python: str = "",
    old_python: str = "",
    device: Literal["cpu", "gpu"] = "cpu",
    updates: int = 100,
    timeout: float = 600.0,
    memory: float = 0.0,
    allow: Words = (),
    experimental: bool = False,
    check_only: bool = False,
    build: str = "",
    no_run: bool = False,
    keep_bugs: bool = False,
    set: Texts = (),
    version: Texts = (),
    force: bool = False,
    on_run: Callable[[str], None] | None = None,
    on_progress: Callable[[Any], None] | None = None,
) -> Migration: ...


@public
def migrate(
    paths: Annotated[Paths, Parameter("Files and folders.", "PATH...")],
    to: Annotated[
        Words,
        Parameter(
            "In place: torch.amp, keras3, paddle3 or tf.compat.v1; default: what the old APIs "
            "belong to. To another framework: targets, as for compile.",
            "API|TARGET,...",
            ("--to",),
            words="migrations",
        ),
    ] = (),
    *,
    out: str | os.PathLike[str] | None = None,
    check: Annotated[
        bool, Parameter("Only list the changes; exit with 1 if there are any.")
    ] = False,
    write: Annotated[bool, Parameter("Change the files.")] = False,
    ask: Callable[[Question], Answer] | None = None,
    verify: Annotated[
        bool,
        Parameter("Verify the migration: in place, see `run`; else run the new script."),
    ] = False,
    run: Annotated[
        str,
        Parameter(
            "With `verify`: execute this script. In place before and after the migration, to "
            "compare every update; else to prove what was read. Your code is never executed "
            "without it.",
            "'SCRIPT ARG...'",
        ),
    ] = "",
    python: Annotated[str, RUN_PYTHON] = "",
    old_python: Annotated[
        str, Parameter("With `run`: an interpreter with the old API.", "PATH")
    ] = "",
    device: Annotated[Literal["cpu", "gpu"], RUN_DEVICE] = "cpu",
    updates: Annotated[int, RUN_UPDATES] = 100,
    timeout: Annotated[float, RUN_TIMEOUT] = 600.0,
    memory: Annotated[float, RUN_MEMORY] = 0.0,
    allow: Annotated[
        Words,
        Parameter(
            "In place: allow a change of meaning, see `migrate_changes`.", "NAME", words="changes"
        ),
    ] = (),
    experimental: Annotated[
        bool,
        Parameter(
            "In place: apply experimental migrations, as all are today: too few of the programs "
            "that had no part in writing them came out right."
        ),
    ] = False,
    check_only: Annotated[
        bool,
        Parameter(
            "In place: change nothing; bind every import, name and call to the present release, "
            "whoever wrote or migrated the program."
        ),
    ] = False,
    build: Annotated[
        str,
        Parameter(
            "In place, with `check_only` or `verify`: execute this script past what it misses "
            "here, such as data, and see whether its models build.",
            "'SCRIPT ARG...'",
        ),
    ] = "",
    no_run: Annotated[
        bool,
        Parameter(
            "A migration that was not run is good enough: without it, only one that was run ends "
            "with 0."
        ),
    ] = False,
    keep_bugs: Annotated[bool, Parameter("Keep mistakes that a recipe can express.")] = False,
    set: Annotated[
        Texts,
        Parameter("Set a recipe field that no source contains.", "FIELD=VALUE", words="settings"),
    ] = (),
    version: Annotated[Texts, VERSIONS] = (),
    force: Annotated[bool, FORCE] = False,
    on_run: Callable[[str], None] | None = None,
    on_progress: Callable[[Any], None] | None = None,
) -> Migration:
    """Update programs to the current API of their framework, or move them to another framework.

    Programs are only parsed; `run`, `build` and `verify` execute them. In place, `write` changes no
    files if a run shows that they train differently. The result is `ok` if it is verified, or, with
    `no_run`, if it is converted and nothing is left to decide; with `check`, only if nothing
    changes. Without `experimental`, a warning says how many places experimental migrations would
    change. `keep_bugs` and `set` are for another framework.

    Args:
        out: To another framework: folder to write the scripts and the report to; without it,
            nothing is written.
        ask: In place: decides about every change; returns "yes", "no", "all" or "quit".
        on_run: Called with what is executed in place.
        on_progress: Called whenever a run of the new script begins or ends.

    Returns:
        An `InPlace` or an `Across`.

    Raises:
        DiagnosticError: an argument is invalid, the sources cannot be read or hold no training, a
            target cannot express it, or files cannot be written. What is left to a person is part
            of the result.
    """
    from crosscast.targets.source_support import migration_apis

    named, wanted = paths_of(paths), words_of(to)
    if not named or (not wanted and (out is not None or STDIN in named)):
        message = "name at least one file or folder, and with --to what to migrate it to"
        raise failure("CC970", message)
    wanted = wanted or [_fitting(named)]
    if run and not verify:
        raise failure("CC970", "--run needs --verify")
    if run and no_run:
        raise failure("CC970", "choose only one of --run and --no-run")
    if build and (run or not (verify or check_only)):
        raise failure("CC970", "--build needs --check-only or --verify, and --run builds by itself")
    if (python and not (run or build)) or (old_python and not run):
        raise failure("CC970", "--python and --old-python need --run")
    apis = [name for name in wanted if name in migration_apis()]
    if apis:
        refused = out is not None or texts_of(set) or keep_bugs or force or texts_of(version)
        if refused or len(wanted) > 1:
            message = (
                f"--to {apis[0]} migrates in place: remove -o, --set, --keep-bugs, --force, "
                "--version and other targets"
            )
            raise failure("CC970", message)
        if check and (write or ask):
            raise failure("CC970", "choose only one of check, write and ask")
        from crosscast.api.migrated_in_place import in_place
        from crosscast.api.unchanged_in_place import bound_only
        from crosscast_migrate.allowed_changes import allowed
        from crosscast_migrate.executed_proof import Demand

        api = apis[0]
        demand = Demand(
            command=run or build,
            python=python,
            old_python=old_python,
            device=device,
            updates=updates,
            timeout=timeout,
            memory=memory,
        )
        on_run = on_run or (lambda name: None)
        if check_only:
            if check or write or ask or verify or words_of(allow) or experimental:
                message = "--check-only changes nothing: it stands alone beside --to"
                raise failure("CC970", message)
            return bound_only(named, api, demand if build else None, on_run)
        interactive = ask is not None and write
        return in_place(
            named,
            api,
            allowed=allowed(words_of(allow), api),
            experimental=experimental,
            mode="interactive" if interactive else "write" if write else _shown(check),
            verify=verify,
            demand=demand if run or build else None,
            runs=bool(run),
            ask=ask,
            on_run=on_run,
            no_run=no_run,
        )
    if not is_target(wanted):
        raise DiagnosticError(unknown(wanted))
    changing = check or write or ask or words_of(allow) or experimental
    if changing or old_python or check_only or build:
        message = (
            "--diff, --check, --check-only, --build, --write, --interactive, --old-python, --allow "
            "and --experimental apply only to a migration in place"
        )
        raise failure("CC970", message)
    from crosscast.api.migrated_across import across
    from crosscast_reading.lift.run_proof import Demand as Reading

    reading = Reading(
        command=run,
        python=python,
        device=device,
        updates=updates,
        timeout=timeout,
        memory=memory,
    )
    return across(
        named,
        targets_of(wanted),
        versions=named_versions(version),
        settings=texts_of(set),
        keep_bugs=keep_bugs,
        verify=verify,
        reading=reading if run else None,
        out=Path(out) if out is not None else None,
        force=force,
        on_progress=on_progress or (lambda progress: None),
        no_run=no_run,
    )


def _fitting(paths: list[str]) -> str:
    from crosscast_migrate.nothing import fitting_api
    from crosscast_reading.sources.files import read_all

    files, problems = read_all(paths)
    if not files and problems:
        raise DiagnosticError(*problems)
    return fitting_api([file.source for file in files.values()])


def _shown(check: bool) -> Literal["check", "diff"]:
    return "check" if check else "diff"


def is_target(words: list[str]) -> bool:
    """Whether all words are names of targets, with or without a version."""
    from crosscast.targets.backend import backend_names

    return {name.partition("@")[0] for name in words} <= {*backend_names()}


def unknown(words: list[str]) -> Diagnostic:
    """Return the diagnostic about what is neither an API nor a target."""
    from crosscast.recipe.suggestions import suggest
    from crosscast.targets.backend import backend_names
    from crosscast.targets.source_support import migration_apis
    from crosscast.targets.target_names import backend_meant

    names = backend_names()
    wrong = [name for word in words if (name := word.partition("@")[0]) not in names]
    meant = [near for name in wrong if (near := suggest(name, migration_apis()))]
    meant += [f"{near} with -o" for name in wrong if (near := backend_meant(name, names))]
    did_you = f"did you mean {' or '.join(dict.fromkeys(meant))}? " if meant else ""
    choose = f"choose one of {', '.join(migration_apis())}; with -o one of {', '.join(names)}"
    return Diagnostic(
        code="CC970",
        message=f"--to {', '.join(words)}: unknown API or target",
        hint=f"{did_you}{choose}",
    )


@dataclass(frozen=True, slots=True, repr=False)
class AllowedChanges(Result):
    """Changes of meaning that a migration in place may be allowed to make."""

    changes: tuple[AllowedChange, ...]
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """Name, API, and the meaning before and after."""
        return [(change.name, change.api, change.before, change.after) for change in self.changes]

    @property
    def exit_code(self) -> Exit:
        """Always 0."""
        return EXIT_OK

    @property
    def summary(self) -> str:
        """The number of changes."""
        return counted(len(self.changes), "change")

    @property
    def _about(self) -> str:
        return "the changes that a comparison of both sides allows"

    @property
    def _next(self) -> str:
        return "crosscast migrate FILE --to API --verify compares both sides"

    def _parts(self, *, all: bool) -> Iterator[Part]:
        yield Table(CHANGE_COLUMNS, self.rows, long=("before", "after"))

    def _html(self) -> Iterator[str]:
        yield html.table(CHANGE_COLUMNS, self.rows, long=("before", "after"))


@public
def migrate_changes() -> AllowedChanges:
    """Return the changes of meaning that `migrate` makes only if they are allowed."""
    from crosscast_migrate.allowed_changes import all_changes

    return AllowedChanges(tuple(change for _, change in sorted(all_changes().items())))
