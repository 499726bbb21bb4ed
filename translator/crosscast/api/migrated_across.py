"""Programs of one framework as programs of another."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from crosscast.api import html
from crosscast.api.calls import public
from crosscast.api.files import Files
from crosscast.api.migrated import Migration
from crosscast.api.recipes import LoadedRecipe, read
from crosscast.messages.code import Exit
from crosscast.messages.console import EXIT_CANNOT_RUN
from crosscast.messages.console import exit_code as exit_code_of
from crosscast.messages.diagnostics import Diagnostic, DiagnosticError, Severity, failure

if TYPE_CHECKING:
    from crosscast.api.exploring import Exploration
    from crosscast.messages.source import Source
    from crosscast_migrate.across_frameworks import CrossMigration
    from crosscast_migrate.summary import Summary
    from crosscast_reading.lift.run_proof import Demand

COLUMNS = ("target", "field", "verdict", "how")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Across(Migration):
    """A migration to other frameworks, which is not on disk unless `out` was given."""

    no_run: bool = False
    """Whether a migration that was not run is good enough."""
    report: Mapping[str, Any]
    """What became of every field, mistake and line, as in report.json."""
    diagnostics: tuple[Diagnostic, ...]
    _across: CrossMigration

    @property
    def said(self) -> Summary:
        """What was done, what to decide, and what is at risk: a sentence for each."""
        from crosscast_migrate.summary import across_summary

        return across_summary(self.report)

    @property
    def recipe(self) -> LoadedRecipe:
        """The recipe of the new scripts; values that no source contains are marked FILL IN."""
        from crosscast.messages.source import Source

        return read(Source("<migrated recipe>", self._across.text))

    @property
    def files(self) -> Files:
        """The recipe, a folder for every target, report.md and report.json."""
        from crosscast.messages.output import OutputFile
        from crosscast_migrate.page import page

        files = dict(self._across.files)
        files["report.json"] = OutputFile(json.dumps(self.report, indent=2) + "\n")
        files["report.md"] = OutputFile(page(self.report))
        return Files(files)

    @public
    def explore(
        self, *, out: str | os.PathLike[str] | None = None, force: bool = False
    ) -> Exploration:
        """Return a page that shows which lines of the sources and of the scripts carry which field.

        Args:
            out: file to write the page to; without it, nothing is written.
            force: overwrite a file that is not such a page.

        Raises:
            DiagnosticError: CC501 to CC503 if it cannot be written.
        """
        from crosscast.api.exploring import explored
        from crosscast.explore.reading import read_side

        across = self._across
        beside: dict[str, dict[str, str]] = {}
        for arrived in across.arrived:
            folder, emitted = arrived.compiled.target.folder, arrived.compiled.files
            mine = {
                path.removeprefix(f"{folder}/"): file.text
                for path, file in across.files.items()
                if path.startswith(f"{folder}/")
            }
            beside[folder] = {name: text for name, text in mine.items() if name not in emitted}
        side = read_side(across.lifted, across.fields, across.recipe, across.sources)
        targets = [entry["target"] for entry in self.report["targets"]]
        return explored([replace(side, beside=beside)], targets, out=out, force=force)

    @property
    def page(self) -> str:
        """The report as Markdown."""
        return self.files["report.md"]

    @public
    def write(
        self, folder: str | os.PathLike[str] | None = None, *, force: bool = False
    ) -> tuple[Path, ...]:
        """Write all files or none; an existing model file is the user's and is kept.

        Args:
            folder: created if missing.
            force: overwrite files that crosscast did not write.

        Raises:
            DiagnosticError: CC501 to CC503 if they cannot be written, CC016 without a folder.
        """
        if folder is None:
            raise failure("CC016", "write() needs a folder")
        files, kept = self.files, existing(self._across, Path(folder))
        return files.without(kept).write(folder, force=force)

    @property
    def exit_code(self) -> Exit:
        """0 if the new script was run and does what the recipe says, and nothing is left to decide.

        With `no_run`, also if nothing was run.
        """
        if code := exit_code_of(self.diagnostics):
            return code
        if any(diagnostic.code in ("CC976", "CC979") for diagnostic in self.diagnostics):
            return EXIT_CANNOT_RUN
        return self._exit_of_state

    def to_json(self) -> dict[str, Any]:
        """Return plain data as `schema/migrate-v1.json` describes it."""
        return dict(self.report)

    def _html(self) -> Iterator[str]:
        rows = [
            (entry["target"], field["field"], field["verdict"], field["how"])
            for entry in self.report["targets"]
            for field in entry["fields"]
        ]
        yield html.folded(f"{len(rows)} verdicts", html.table(COLUMNS, rows, long=("how",)))
        yield html.folded("report.md", html.pre(self.page))
        yield self.files._repr_html_()


def across(
    paths: Sequence[str],
    targets: Sequence[str],
    *,
    versions: Mapping[str, str],
    settings: Sequence[str],
    keep_bugs: bool,
    verify: bool,
    reading: Demand | None,
    out: Path | None,
    force: bool,
    on_progress: Callable[[Any], None],
    no_run: bool = False,
) -> Across:
    """Migrate one run to other frameworks, and write the scripts with a report if asked.

    `reading`: the program to execute for a proof of what was read, if any. `no_run`: whether a
    migration that was not run is good enough.

    Raises:
        DiagnosticError: the sources cannot be read or contain no training, a target cannot express
            it, the folder cannot be written.
    """
    from crosscast_migrate.across_frameworks import migrate_across
    from crosscast_migrate.report import report
    from crosscast_migrate.settings import parse_settings

    sources, problems = sources_of(paths)
    migrated = migrate_across(
        sources,
        targets,
        versions=versions,
        keep_bugs=keep_bugs,
        settings=parse_settings(settings),
    )
    kept = _kept(migrated, out) if out is not None else []
    diagnostics = [*problems, *migrated.diagnostics, *kept]
    migration = Across(
        report=report(migrated), diagnostics=tuple(diagnostics), no_run=no_run, _across=migrated
    )
    if out is not None:
        migration.write(out, force=force)
    if verify:
        from crosscast_migrate.proof import diagnostics_of
        from crosscast_migrate.proof import verify as run

        if out is not None:
            verification = run(migrated, out, on_progress)
        else:
            with TemporaryDirectory(prefix="crosscast-") as folder:
                verification = run(migrated, Path(folder), on_progress)
        if reading is not None:
            from crosscast_reading.lift.run_proof import prove_by_run, run_diagnostics, run_json

            proof = prove_by_run(migrated.lifted, reading)
            verification["reading"] = run_json(proof)
            diagnostics += run_diagnostics(proof, corrected=False)
        data = report(migrated, verification)
        diagnostics += diagnostics_of(data["verification"])
        migration = Across(
            report=data, diagnostics=tuple(diagnostics), no_run=no_run, _across=migrated
        )
        if out is not None:
            migration.write(out, force=True)
    return migration


def sources_of(paths: Sequence[str]) -> tuple[tuple[Source, ...], list[Diagnostic]]:
    """Return the sources of the run at the given paths, and diagnostics of unreadable files.

    Named files belong together; a folder must contain exactly one run.

    Raises:
        DiagnosticError: CC971 for several runs, the errors of reading if there is none.
    """
    from crosscast_reading.lift.analysis import analyse, together
    from crosscast_reading.lift.batch import groups_of, read_sources
    from crosscast_reading.lift.drafting import lift

    sources, problems = read_sources(paths)
    if not sources:
        raise DiagnosticError(
            *problems,
            Diagnostic(code="CC971", message=f"{', '.join(paths)}: nothing to migrate"),
        )
    groups = groups_of(sources, paths)
    if groups and not any(Path(path).is_dir() for path in paths):
        # A model needs every module that the program imports, not those alone that train.
        order = sorted(sources, key=lambda source: source.name not in paths)
        return together(order), problems
    runs = [members for members in groups if lift(analyse(members)).fields] or groups
    if len(runs) > 1:
        names = ", ".join(members[0].name for members in runs[:4])
        raise DiagnosticError(
            *problems,
            Diagnostic(
                code="CC971",
                message=f"{len(runs)} runs were found: {names}{', ...' * (len(runs) > 4)}",
                hint="name the files of one run",
            ),
        )
    return (runs[0] if runs else tuple(sources)), problems


def existing(across: CrossMigration, root: Path) -> list[str]:
    """Return the files about the user's model that are there already."""
    from crosscast_migrate.own_model import FILE, TEST_FILE

    names = (f"/{FILE}", f"/{TEST_FILE}")
    return [path for path in across.files if path.endswith(names) and (root / path).exists()]


def _kept(across: CrossMigration, root: Path) -> list[Diagnostic]:
    """Return a note for every model file that is kept and is not what would be written."""
    return [
        Diagnostic(
            code="CC972",
            message=f"{root / path} exists and is kept: it is not what this migration would write",
            path="model",
            severity=Severity.NOTE,
            hint="delete it to have it written again",
        )
        for path in existing(across, root)
        if (root / path).read_text(encoding="utf-8") != across.files[path].text
    ]
