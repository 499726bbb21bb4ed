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
    print_diff,
    print_json,
)
from crosscast.messages.diagnostics import Diagnostic, Severity, failure

if TYPE_CHECKING:
    from crosscast.lint.result import Result
    from crosscast.migrate.before_after import Comparison
    from crosscast.migrate.chosen_proof import ChosenProof
    from crosscast.migrate.codemod import Api
    from crosscast.migrate.executed_proof import Demand
    from crosscast.migrate.in_place import InPlaceMigration
    from crosscast.migrate.summary import Summary
    from crosscast.sources.files import Text
    from crosscast_parity.side_by_side.proof import Execution


def in_place(
    paths: list[str],
    api: Api,
    *,
    allowed: frozenset[str] = frozenset(),
    check: bool,
    write: bool,
    verify: bool,
    demand: Demand | None,
    json: bool,
    interactive: bool = False,
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
        interactive: ask about every change, and write those that are accepted.

    Raises:
        DiagnosticError: the demand is invalid, a requirement is missing, standard input cannot be
            changed, or there is no terminal for `interactive`.
    """
    from crosscast.cli.migrate_review import review_on_terminal, show_refusals
    from crosscast.migrate.chosen_proof import in_place_proof
    from crosscast.migrate.imported_files import left_out
    from crosscast.migrate.in_place import migrate_in_place
    from crosscast.migrate.nothing import unread_programs
    from crosscast.migrate.registry import codemods_to
    from crosscast.migrate.summary import in_place_summary
    from crosscast.sources.files import read_all

    if "-" in paths and (write or interactive):
        message = "the text of standard input cannot be changed in place"
        raise failure("CC970", message, "name a file, or use --diff")
    files, problems = read_all(paths)
    sources = [file.source for file in files.values()]
    review = review_on_terminal() if interactive else None
    codemods = codemods_to(api)
    migrated = migrate_in_place(sources, codemods, allowed=allowed, review=review)
    refusals: Sequence[Result] = migrated.refusals
    if review is not None:
        refusals = show_refusals(migrated.refusals)
        write = True
    problems += migrated.problems
    problems += left_out(sources, codemods)
    unread = unread_programs(sources, paths, codemods)
    if not migrated.texts and not migrated.refusals:
        return _nothing(files, migrated, problems, unread, api, verify=verify, json=json)
    compared: list[Comparison] = []
    execution: Execution | None = None
    ran: list[Diagnostic] = []
    if verify:
        from crosscast.migrate.before_after import compare_texts

        compared = compare_texts(sources, migrated.texts)
    if demand and migrated.texts:
        from crosscast.migrate.executed_proof import diagnostics_of, execute, with_execution

        execution = execute(files, migrated.texts, migrated.added, api, demand, _on_run)
        compared = with_execution(compared, execution)
        ran = diagnostics_of(execution)
    written = execution is None or execution.outcome != "different"
    if write and written:
        from crosscast.migrate.write_back import write_back

        failed = write_back(files, migrated)
        problems += failed
        written = not failed
    proof = in_place_proof(
        verify=verify,
        changed=bool(migrated.texts),
        compared=any(comparison.verdict != "not comparable" for comparison in compared),
        execution=execution,
    )
    summary = in_place_summary(
        migrated,
        problems=problems,
        unread=list(unread),
        mode="interactive" if interactive else "write" if write else "check" if check else "diff",
        written=written,
        compared=compared,
        proof=proof.words,
    )
    told = [*problems, *unread.values(), *ran]
    if json:
        data = _plain(files, migrated, told, summary)
        if verify:
            data |= _plain_verification(compared, execution, proof)
        print_json(data)
    else:
        print(*summary.lines, sep="\n", file=sys.stderr, flush=True)
        if not check and not write:
            _print_diff(files, migrated)
        _print_details(migrated, refusals, listed=check or write)
        if verify:
            _print_comparison(compared, execution, proof)
        print_diagnostics(told)
    if code := exit_code(told):
        return code
    if execution is not None and execution.outcome == "cannot be verified here":
        return EXIT_CANNOT_RUN
    other = any(comparison.verdict == "different" for comparison in compared)
    undecided = migrated.refusals or unread or _failures(problems)
    open_ = undecided or (check and migrated.texts) or other
    return EXIT_FINDINGS if open_ else EXIT_OK


def _failures(problems: Sequence[Diagnostic]) -> list[Diagnostic]:
    return [problem for problem in problems if problem.severity is not Severity.NOTE]


def _nothing(
    files: Mapping[str, Text],
    migrated: InPlaceMigration,
    problems: Sequence[Diagnostic],
    unread: Mapping[str, Diagnostic],
    api: Api,
    *,
    verify: bool,
    json: bool,
) -> int:
    """Say why there is nothing to change; that is fine only for programs of the present API."""
    from crosscast.migrate.chosen_proof import in_place_proof
    from crosscast.migrate.codemod import APIS
    from crosscast.migrate.in_place import migrate_in_place
    from crosscast.migrate.nothing import MODULES, already_there, nothing_for, programs_of
    from crosscast.migrate.registry import codemods_to
    from crosscast.migrate.summary import NO_RISK, NOTHING, Summary, decisions

    sources = [file.source for file in files.values()]
    programs = programs_of(sources)
    programs.unread |= unread
    failed = bool(_failures(problems))
    words = already_there(programs, api)
    others: dict[Api, int] = {}
    for other in APIS:
        related = set(MODULES[other]) & set(MODULES[api])
        if other != api and (related or not words):
            there = migrate_in_place(sources, codemods_to(other))
            others[other] = len(there.changes) + len(there.refusals)
    fits = any(others.values())
    found, decide = [*problems, *unread.values()], decisions((), problems, list(unread))
    if not failed and (fits or not words):  # a file that is missing says enough
        found.append(nothing_for(programs, api, others))
        decide = found[-1].hint
    done = NOTHING if failed or fits or not words else words
    summary = Summary(done=done, decide=decide, risk=NO_RISK)
    if json:
        data = _plain(files, migrated, found, summary)
        if verify:
            proof = in_place_proof(verify=True, changed=False, compared=False, execution=None)
            data |= _plain_verification((), None, proof)
        print_json(data)
    else:
        print(*summary.lines, sep="\n", file=sys.stderr, flush=True)
        print_diagnostics(found)
    return exit_code(found) or (EXIT_FINDINGS if failed or unread else EXIT_OK)


def _on_run(name: str) -> None:
    """Print the current run on a terminal."""
    if sys.stderr.isatty():
        print(f"running the {name}", file=sys.stderr)


def _plain_verification(
    compared: Sequence[Comparison], execution: Execution | None, proof: ChosenProof
) -> Mapping[str, Any]:
    from crosscast.migrate.executed_proof import plain

    return {
        "proof": proof.to_json(),
        "verification": [asdict(comparison) for comparison in compared],
        "execution": None if execution is None else plain(execution),
    }


def _print_comparison(
    compared: Sequence[Comparison], execution: Execution | None, proof: ChosenProof
) -> None:
    """Print the differences, the number of each verdict, and which proof it is."""
    for comparison in compared:
        if comparison.verdict == "different":
            print(f"{comparison.name}: {comparison.field}: {comparison.why}", file=sys.stderr)
    counts = {
        verdict: sum(comparison.verdict == verdict for comparison in compared)
        for verdict in ("same", "changed on purpose", "different", "not comparable")
    }
    words = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    executed = sum(comparison.evidence == "executed" for comparison in compared)
    shown = f" ({executed} of these by execution)" if proof.level == "both sides" else ""
    print(f"compared: {words}{shown}", file=sys.stderr)
    print(f"proof: {proof.sentence}", file=sys.stderr)
    for note in execution.notes if execution is not None else ():
        print(f"  {note}", file=sys.stderr)


def _print_diff(files: dict[str, Text], migrated: InPlaceMigration) -> None:
    from crosscast.lint.fix import diff_of

    for name, text in migrated.texts.items():
        print_diff(diff_of(files[name].source, text))
    sys.stdout.flush()
    for name, text in migrated.added.items():
        print(f"New file: {name} ({len(text.splitlines())} lines)")


def _print_details(migrated: InPlaceMigration, refusals: Sequence[Result], *, listed: bool) -> None:
    """Print the changes if `listed`, then the refusals, then the notes."""
    from crosscast.lint.formats.text import text

    if listed:
        for change in migrated.changes:
            print(f"{change.span}: {change.code} {change.message}")
        for name in migrated.added:
            print(f"{name}: a new file, which the changed programs import")
    notes = dict.fromkeys(change.hint for change in migrated.changes if change.hint)
    print(text(refusals), end="", file=sys.stderr)
    for note in notes:
        print(f"Note: {note}", file=sys.stderr)


def _plain(
    files: Mapping[str, Text],
    migrated: InPlaceMigration,
    problems: Sequence[Diagnostic],
    summary: Summary,
) -> dict[str, Any]:
    def of(results: tuple[Result, ...]) -> list[dict[str, Any]]:
        return [result.diagnostic().to_json() | {"name": result.name} for result in results]

    return {
        "summary": summary.to_json(),
        "files": {
            name: {"changed": name in migrated.texts, "text": migrated.texts.get(name)}
            for name in files
        },
        "added": migrated.added,
        "changes": of(migrated.changes),
        "refusals": of(migrated.refusals),
        "problems": [problem.to_json() for problem in problems],
    }
