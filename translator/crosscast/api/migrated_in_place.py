"""Programs with the current API of their framework."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from crosscast.api import html
from crosscast.api.calls import public
from crosscast.api.files import counted
from crosscast.api.migrated import Migration
from crosscast.messages.code import Exit
from crosscast.messages.console import EXIT_CANNOT_RUN, EXIT_FINDINGS
from crosscast.messages.console import exit_code as exit_code_of
from crosscast.messages.diagnostics import Diagnostic, DiagnosticError, Severity, failure

if TYPE_CHECKING:
    from crosscast_migrate.before_after import Comparison
    from crosscast_migrate.chosen_proof import ChosenProof
    from crosscast_migrate.executed_proof import Demand
    from crosscast_migrate.in_place import InPlaceMigration
    from crosscast_migrate.interactive import Answer, Question
    from crosscast_migrate.smoke_build import SmokeBuild
    from crosscast_migrate.summary import Summary
    from crosscast_parity.side_by_side.proof import Execution
    from crosscast_reading.lint.result import Result as Finding
    from crosscast_reading.sources.files import Text

Mode = Literal["diff", "check", "write", "interactive"]
CHANGES = ("place", "code", "change")
COMPARED = ("file", "field", "verdict", "why")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class InPlace(Migration):
    """A migration in place. The files are unchanged unless `write` was asked for."""

    to: str
    """The API: the one that was given, or that the old APIs in the programs belong to."""
    said: Summary
    """What was done, what to decide, and what is at risk: a sentence for each."""
    mode: Mode
    no_run: bool = False
    """Whether a migration that was not run is good enough."""
    verified: bool
    """Whether both sides were compared."""
    compared: tuple[Comparison, ...] = ()
    """Every field that was read of both sides, if they were compared."""
    execution: Execution | None = None
    """What came of the runs of both sides, with `run`."""
    smoke: SmokeBuild | None = None
    """What came of building the models, with `build`, or where neither side could be run."""
    proof: ChosenProof
    """The strongest proof that could be had."""
    problems: tuple[Diagnostic, ...] = ()
    """What failed: reading, changing, writing."""
    unread: tuple[Diagnostic, ...] = ()
    """Files that are no programs that can be read."""
    diagnostics: tuple[Diagnostic, ...]
    """All problems, and what the runs showed."""
    _files: Mapping[str, Text]
    _migrated: InPlaceMigration

    @property
    def changed(self) -> dict[str, str]:
        """Changed file to its new text."""
        return dict(self._migrated.texts)

    @property
    def added(self) -> dict[str, str]:
        """New file to its text: modules that the changed programs import."""
        return dict(self._migrated.added)

    @property
    def changes(self) -> tuple[Finding, ...]:
        """What was changed, with place, message and hint."""
        return self._migrated.changes

    @property
    def refusals(self) -> tuple[Finding, ...]:
        """What a person must decide, with place, message and hint."""
        return self._migrated.refusals

    @property
    def diff(self) -> str:
        """The changes as a unified diff."""
        from crosscast_reading.lint.fix import diff_of

        return "".join(
            diff_of(self._files[name].source, text) for name, text in self.changed.items()
        )

    @public
    def write(
        self, folder: str | os.PathLike[str] | None = None, *, force: bool = False
    ) -> tuple[Path, ...]:
        """Change the files, all or none; return the paths. See `Migration.write`.

        Raises:
            DiagnosticError: CC502 if a file cannot be written or was changed in the meantime, CC016
                for a folder.
        """
        if folder is not None or force:
            raise failure("CC016", "a migration in place changes the files themselves")
        from crosscast_migrate.write_back import write_back

        failed = write_back(self._files, self._migrated)
        if failed:
            raise DiagnosticError(*failed)
        return tuple(Path(name) for name in (*self.changed, *self.added))

    @property
    def exit_code(self) -> Exit:
        """0 if both sides were run and made the same updates, and nothing is left to decide.

        With `no_run`, also if nothing was run. With `check`, 1 if anything changes.
        """
        if code := exit_code_of(self.diagnostics):
            return code
        if self.smoke is not None and self.smoke.places:
            return EXIT_FINDINGS
        if self.execution is not None and self.execution.outcome == "cannot be verified here":
            return EXIT_CANNOT_RUN
        if self.smoke is not None and self.smoke.diagnostics and self.state != "open":
            return EXIT_CANNOT_RUN
        return EXIT_FINDINGS if self.mode == "check" and self.changed else self._exit_of_state

    def to_json(self) -> dict[str, Any]:
        """Return plain data as `schema/migrate-v1.json` describes it."""
        data: dict[str, Any] = {
            "summary": self.said.to_json(),
            "files": {
                name: {"changed": name in self.changed, "text": self.changed.get(name)}
                for name in self._files
            },
            "added": self.added,
            "changes": _plain(self.changes),
            "refusals": _plain(self.refusals),
            "problems": [problem.to_json() for problem in self.diagnostics],
        }
        if self.verified:
            from crosscast_migrate.executed_proof import plain

            data["proof"] = self.proof.to_json()
            data["verification"] = [asdict(comparison) for comparison in self.compared]
            data["execution"] = None if self.execution is None else plain(self.execution)
        if self.smoke is not None:
            data["build"] = self.smoke.built.to_json()
        return data

    def _html(self) -> Iterator[str]:
        if self.changed:
            files = counted(len(self.changed), "changed file")
            yield html.folded(files, html.pre(self.diff))
        if self.changes:
            title = counted(len(self.changes), "change")
            yield html.folded(title, _table(self.changes))
        if self.refusals:
            yield html.paragraph("To decide:") + _table(self.refusals)
        if self.smoke is not None:
            yield html.folded(self.smoke.words, html.pre("\n".join(self.smoke.lines)))
        if self.compared:
            rows = [(c.name, c.field, str(c.verdict), c.why) for c in self.compared]
            yield html.folded("compared", html.table(COMPARED, rows, long=("why",)))


def _table(findings: tuple[Finding, ...]) -> str:
    rows = [(str(f.span or ""), f.code, f"{f.message}\n{f.hint}") for f in findings]
    return html.table(CHANGES, rows, long=("change",))


def _plain(results: tuple[Finding, ...]) -> list[dict[str, Any]]:
    return [result.diagnostic().to_json() | {"name": result.name} for result in results]


def failures(problems: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Return the problems that are more than notes."""
    return [problem for problem in problems if problem.severity is not Severity.NOTE]


def in_place(
    paths: list[str],
    api: str,
    *,
    allowed: frozenset[str],
    experimental: bool,
    mode: Mode,
    verify: bool,
    demand: Demand | None,
    ask: Callable[[Question], Answer] | None,
    on_run: Callable[[str], None],
    runs: bool = True,
    no_run: bool = False,
) -> InPlace:
    """Change programs, or compute what would change.

    Args:
        paths: files and folders.
        api: the API to migrate to.
        allowed: names of changes of meaning that may be made.
        experimental: whether to apply experimental migrations.
        mode: whether to write the files, unless a run shows that they train differently.
        verify: compare both sides.
        demand: the script to execute, if any.
        ask: decides about every change.
        on_run: called with what is executed.
        runs: whether both sides are run; otherwise the models of the new one are built.
        no_run: whether a migration that was not run is good enough.

    Raises:
        DiagnosticError: the demand is invalid, a requirement is missing, or standard input cannot
            be changed.
    """
    from crosscast.targets.source_support import support_problems
    from crosscast_migrate.binding.places import with_more, with_unbound
    from crosscast_migrate.chosen_proof import in_place_proof
    from crosscast_migrate.executed_proof import (
        MigratedFiles,
        diagnostics_of,
        execute,
        with_execution,
    )
    from crosscast_migrate.experimental import (
        applied,
        experimental_words,
        held_back,
        never_looked_at,
        not_looked_at,
    )
    from crosscast_migrate.imported_files import left_out
    from crosscast_migrate.in_place import migrate_in_place
    from crosscast_migrate.interactive import Review
    from crosscast_migrate.nothing import unread_programs
    from crosscast_migrate.registry import codemod_problems, codemods_to
    from crosscast_migrate.summary import in_place_summary
    from crosscast_migrate.verifying import how_to_verify
    from crosscast_reading.sources.files import read_all

    write = mode in ("write", "interactive")
    if "-" in paths and write:
        message = "the text of standard input cannot be changed in place"
        raise failure("CC970", message, "name a file, or use --diff")
    files, problems = read_all(paths)
    sources = [file.source for file in files.values()]
    review = Review(ask=ask) if ask else None
    codemods = codemods_to(api)
    chosen = applied(codemods, experimental=experimental)
    migrated = migrate_in_place(sources, chosen, allowed=allowed, review=review)
    held = [] if experimental else [*held_back(sources, codemods)]
    problems += held
    problems += migrated.problems
    problems += [*left_out(sources, codemods), *support_problems(), *codemod_problems()]
    problems = [*dict.fromkeys(problems)]  # what does not load is also said for every program
    unread = unread_programs(sources, paths, codemods)
    if not migrated.texts and not migrated.refusals and not held:
        never = never_looked_at(codemods)
        from crosscast.api.unchanged_in_place import nothing_to_change

        return nothing_to_change(
            files,
            migrated,
            problems,
            unread,
            api,
            never,
            mode=mode,
            verify=verify,
            demand=None if runs else demand,
            on_run=on_run,
        )
    bound = with_unbound(migrated, sources, api)
    migrated = bound.migrated
    compared: list[Comparison] = []
    execution: Execution | None = None
    ran: list[Diagnostic] = []
    if verify:
        from crosscast_migrate.before_after import compare_texts

        compared = compare_texts(sources, migrated.texts)
    left = MigratedFiles(files, api, migrated.texts, migrated.added)
    if demand and runs and migrated.texts:
        execution = execute(left, demand, on_run)
        compared = with_execution(compared, execution)
        ran = diagnostics_of(execution)
    smoke = None
    unable = execution is None or (
        execution.outcome == "cannot be verified here" and not execution.alone
    )
    if demand and unable and (migrated.texts or not runs):
        from crosscast_migrate.smoke_build import smoke_build

        smoke = smoke_build(left, demand, on_run)
        migrated = replace(migrated, refusals=with_more(migrated.refusals, smoke.places))
        ran += smoke.diagnostics
    written = execution is None or execution.outcome != "different"
    if write and written:
        from crosscast_migrate.write_back import write_back

        failed = write_back(files, migrated)
        problems += failed
        written = not failed
    how = ""
    if execution is None:
        allow = sorted(allowed)
        how = how_to_verify(paths, sources, api, experimental=experimental, allowed=allow).words
    proof = in_place_proof(
        how=how,
        verify=verify,
        changed=bool(migrated.texts),
        compared=any(comparison.verdict != "not comparable" for comparison in compared),
        execution=execution,
        built=smoke.words if smoke is not None and not smoke.diagnostics else "",
    )
    said = in_place_summary(
        migrated,
        problems=[*problems, *(each for each in ran if each.severity is Severity.ERROR)],
        unread=list(unread),
        mode=mode,
        written=written,
        compared=compared,
        proof=proof.sentence if execution is None else proof.words,
        is_same=execution is not None and execution.outcome == "same",
        bound=bound.words,
        experimental=experimental_words(migrated, codemods),
        not_looked_at=not_looked_at(codemods, (*migrated.changes, *migrated.refusals)),
    )
    return InPlace(
        to=api,
        said=said,
        mode=mode,
        no_run=no_run,
        verified=verify,
        compared=tuple(compared),
        execution=execution,
        smoke=smoke,
        proof=proof,
        problems=tuple(problems),
        unread=tuple(unread.values()),
        diagnostics=(*problems, *unread.values(), *ran),
        _files=files,
        _migrated=migrated,
    )
