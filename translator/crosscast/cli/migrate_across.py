"""Migration to another framework: `crosscast migrate ... --to TARGET -o DIR`."""

from __future__ import annotations

import json as json_
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crosscast.messages.console import (
    EXIT_CANNOT_RUN,
    EXIT_FINDINGS,
    EXIT_OK,
    exit_code,
    print_diagnostics,
    print_json,
)
from crosscast.messages.diagnostics import Diagnostic, DiagnosticError, Severity

if TYPE_CHECKING:
    from crosscast.lift.run_proof import Demand
    from crosscast.messages.source import Source
    from crosscast.migrate.across_frameworks import CrossMigration


def migrate_to_targets(
    paths: Sequence[str],
    targets: Sequence[str],
    output: str,
    *,
    versions: Mapping[str, str],
    settings: Sequence[str],
    keep_bugs: bool,
    verify: bool,
    reading: Demand | None,
    explore: str,
    force: bool,
    json: bool,
) -> int:
    """Write the migrated scripts with a report; return the exit code.

    `reading`: the program to execute for a proof of what was read, if any. `explore`: file for the
    page with source, fields and emitted lines; empty for none.

    Raises:
        DiagnosticError: the sources cannot be read or contain no training, a target cannot express
            it, the folder cannot be written.
    """
    from crosscast.migrate.across_frameworks import migrate_across
    from crosscast.migrate.report import OTHERWISE, report
    from crosscast.migrate.settings import parse_settings
    from crosscast.migrate.summary import across_summary

    sources, problems = sources_of(paths)
    across = migrate_across(
        sources,
        targets,
        versions=versions,
        keep_bugs=keep_bugs,
        settings=parse_settings(settings),
    )
    data = report(across)
    root = Path(output)
    diagnostics = [*problems, *across.diagnostics, *_kept(across, root)]
    _write(across, data, root, force=force)
    if explore:
        _explore(across, targets, explore, force=force)
    if verify:
        from crosscast.migrate.proof import diagnostics_of

        verification = _verified(across, root)
        if reading is not None:
            from crosscast.lift.run_proof import prove_by_run, run_diagnostics, run_json

            proof = prove_by_run(across.lifted, reading)
            verification["reading"] = run_json(proof)
            diagnostics += run_diagnostics(proof, corrected=False)
        data = report(across, verification)
        _write(across, data, root, force=True)
        diagnostics += diagnostics_of(data["verification"])
    if json:
        print_json(data)
    else:
        print(*across_summary(data).lines, sep="\n", flush=True)
        print_diagnostics(diagnostics)
        _print_proof(data)
        print(root / "report.md")
    if code := exit_code(diagnostics):
        return code
    if any(diagnostic.code in ("CC976", "CC979") for diagnostic in diagnostics):
        return EXIT_CANNOT_RUN
    undecided = any(diagnostic.code in ("CC935", *OTHERWISE) for diagnostic in diagnostics)
    return EXIT_FINDINGS if undecided or _is_open(data) else EXIT_OK


def sources_of(paths: Sequence[str]) -> tuple[tuple[Source, ...], list[Diagnostic]]:
    """Return the sources of the run at the given paths, and diagnostics of unreadable files.

    Named files belong together; a folder must contain exactly one run.

    Raises:
        DiagnosticError: CC971 for several runs, the errors of reading if there is none.
    """
    from crosscast.lift.analysis import analyse, together
    from crosscast.lift.batch import groups_of, read_sources
    from crosscast.lift.drafting import lift

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


def _write(across: CrossMigration, data: Mapping[str, Any], root: Path, *, force: bool) -> None:
    """Write all files or none; an existing model file is the user's and is kept."""
    from crosscast.messages.output import OutputFile, write_files
    from crosscast.migrate.page import page

    kept = _existing(across, root)
    files = {path: file for path, file in across.files.items() if path not in kept}
    files["report.json"] = OutputFile(json_.dumps(data, indent=2) + "\n")
    files["report.md"] = OutputFile(page(data))
    write_files(root, files, force=force)


def _explore(across: CrossMigration, targets: Sequence[str], output: str, *, force: bool) -> None:
    from crosscast.cli.explore import write_page
    from crosscast.explore.reading import read_side

    side = read_side(across.lifted, across.fields, across.recipe, across.sources)
    beside: dict[str, dict[str, str]] = {}
    for arrived in across.arrived:
        folder, emitted = arrived.compiled.target.folder, arrived.compiled.files
        names = [
            path.removeprefix(f"{folder}/")
            for path in across.files
            if path.startswith(f"{folder}/")
        ]
        beside[folder] = {
            name: across.files[f"{folder}/{name}"].text for name in names if name not in emitted
        }
    write_page([replace(side, beside=beside)], targets, output, force=force)


def _existing(across: CrossMigration, root: Path) -> list[str]:
    """Return the files about the user's model that are there already."""
    from crosscast.migrate.own_model import FILE, TEST_FILE

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
        for path in _existing(across, root)
        if (root / path).read_text(encoding="utf-8") != across.files[path].text
    ]


def _verified(across: CrossMigration, root: Path) -> dict[str, Any]:
    from crosscast.migrate.proof import verify

    try:
        from crosscast_parity.report.progress import progress_on
    except ModuleNotFoundError:
        return verify(across, root, lambda progress: None)
    with progress_on(sys.stderr) as on_progress:
        return verify(across, root, on_progress)


def _is_open(data: Mapping[str, Any]) -> bool:
    """Whether a part of the training is left to the user."""
    from crosscast.migrate.left_open import OWN

    return any(not entry["field"].startswith(OWN) for entry in data["fill_in"])


def _print_proof(data: Mapping[str, Any]) -> None:
    """Print what came of the runs, and why there is no stronger proof."""
    from crosscast.migrate.summary import READ_ONLY

    verification = data["verification"]
    if verification is None:
        return
    for entry in verification["targets"]:
        print(f"{entry['target']}: {entry['outcome']}: {entry['wording']}")
        for verdict in dict.fromkeys(field["verdict"] for field in entry["fields"]):
            count = sum(field["verdict"] == verdict for field in entry["fields"])
            print(f"  {count} fields {verdict}")
        if entry["outcome"] == "same":
            print("  the emitted script does what this recipe says (proven)")
    reading = verification["reading"]
    print(READ_ONLY if reading is None else reading["sentence"])
