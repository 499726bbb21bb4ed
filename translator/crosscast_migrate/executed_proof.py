"""Executes both sides of a migration in place on request and compares every update."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from crosscast.messages.diagnostics import Diagnostic, DiagnosticError, Severity
from crosscast.messages.missing_packages import package_missing
from crosscast.targets.source_support import migration_apis
from crosscast_migrate.before_after import Comparison
from crosscast_reading.sources.files import Text, path_of
from crosscast_reading.sources.run_command import parse_command

if TYPE_CHECKING:
    from crosscast_parity.side_by_side.proof import Execution
    from crosscast_parity.side_by_side.running import Limits, Program


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """A request to execute a script. `command`: the script and its arguments, as text."""

    command: str
    python: str = ""
    old_python: str = ""
    device: Literal["cpu", "gpu"] = "cpu"
    updates: int = 100
    timeout: float = 600.0
    memory: float = 0.0


@dataclass(frozen=True, slots=True)
class MigratedFiles:
    """Programs as a migration leaves them.

    Attributes:
        files: name to file, of all files read.
        api: the API that the programs are for.
        texts: changed file to new text.
        added: new file to text.
    """

    files: Mapping[str, Text]
    api: str
    texts: Mapping[str, str] = field(default_factory=dict)
    added: Mapping[str, str] = field(default_factory=dict)


def execute(migrated: MigratedFiles, demand: Demand, on_run: Callable[[str], None]) -> Execution:
    """Run a script before and after a migration and compare its updates.

    Args:
        migrated: the files of both sides.
        demand: what to run.
        on_run: called with the name of each run that begins.

    Raises:
        DiagnosticError: CC970 for an invalid demand, CC001 for a missing script, CC401 if the
            harness is not installed.
    """
    try:
        from crosscast_parity.planning.options import interpreter
        from crosscast_parity.side_by_side.places import lines_to_watch, places_of
        from crosscast_parity.side_by_side.proof import Execution, prove
        from crosscast_parity.side_by_side.running import Program
    except ModuleNotFoundError as error:
        raise package_missing("running both sides needs", error) from None
    program = program_after(migrated, demand)
    if not isinstance(program, Program):
        return Execution(outcome="cannot be verified here", wording=program[0], hint=program[1])
    there, files = migration_apis()[migrated.api], migrated.files
    before = {
        _below(program.folder, files[name].path): _bytes(files[name]) for name in migrated.texts
    }
    places = places_of(before, {path: program.texts[path] for path in before})
    new = replace(program, lines=lines_to_watch(places, after=True))
    old = demand.old_python or os.environ.get(there.old_python, "")
    original = replace(
        new,
        python=interpreter(old) if old else new.python,
        texts=before,
        environment=dict(there.old_environment),
        lines=lines_to_watch(places, after=False),
    )
    return prove(original, new, limits_of(demand), on_run=on_run)


def limits_of(demand: Demand) -> Limits:
    """Return the limits of every run that a demand asks for."""
    from crosscast_parity.side_by_side.running import Limits

    memory = int(demand.memory * 2**30)
    return Limits(seconds=demand.timeout, memory=memory, updates=demand.updates)


def program_after(
    migrated: MigratedFiles, demand: Demand, option: str = "--run"
) -> Program | tuple[str, str]:
    """Return a program as a migration leaves it, or why it cannot be run and what would help.

    Args:
        migrated: its files.
        demand: what to run.
        option: of the command line that has the command.

    Raises:
        DiagnosticError: CC970 for an invalid demand, CC001 for a missing script.
    """
    from crosscast_parity.planning.options import interpreter
    from crosscast_parity.side_by_side.running import MOST_COPIED, Program, size_of

    command = parse_command(demand.command, "CC970", option)
    folder, files = command.folder, migrated.files
    after = {
        _below(folder, files[name].path): _bytes(files[name], text)
        for name, text in migrated.texts.items()
    }
    new = {_below(folder, path_of(name)): text.encode() for name, text in migrated.added.items()}
    there = migration_apis()[migrated.api]
    if not there.framework:
        return f"runs of scripts migrated to {migrated.api} cannot be observed yet", ""
    if size_of(folder, MOST_COPIED) > MOST_COPIED:
        words = (
            f"{folder} contains more than {MOST_COPIED >> 30} GiB, too much to copy for every run"
        )
        return words, "keep data and checkpoints elsewhere, and use absolute paths for them"
    return Program(
        framework=there.framework,
        python=interpreter(demand.python) if demand.python else sys.executable,
        folder=folder,
        script=command.script,
        arguments=command.arguments,
        texts=after | new,
        device=demand.device,
    )


def _below(folder: Path, path: Path) -> str:
    place = path.parent.resolve() / path.name
    if not place.is_relative_to(folder):
        message = f"{path} changes but is not inside {folder}, which is copied for the runs"
        hint = "run crosscast in a folder that contains the script and all changed files"
        raise DiagnosticError(Diagnostic(code="CC970", message=message, hint=hint))
    return place.relative_to(folder).as_posix()


def _bytes(file: Text, text: str | None = None) -> bytes:
    return (file.source.text if text is None else text).encode(file.encoding)


def with_execution(compared: Sequence[Comparison], execution: Execution) -> list[Comparison]:
    """Return the comparison with the results of the runs."""
    comparisons = [_upgraded(comparison, execution) for comparison in compared]
    field = execution.differs
    if field and not any(comparison.field == field for comparison in comparisons):
        name = comparisons[0].name if comparisons else ""
        comparisons.append(_differs(name, field, execution))
    return comparisons


def _upgraded(comparison: Comparison, execution: Execution) -> Comparison:
    if comparison.field == execution.differs:
        return _differs(comparison.name, comparison.field, execution)
    why = execution.shown.get(comparison.field)
    if why is None or comparison.verdict != "same":
        return comparison
    return replace(comparison, evidence="executed", why=f"{comparison.why}: {why}")


def _differs(name: str, field: str, execution: Execution) -> Comparison:
    return Comparison(
        name=name, field=field, verdict="different", why=execution.wording, evidence="executed"
    )


def diagnostics_of(execution: Execution) -> list[Diagnostic]:
    """Return a diagnostic if the runs were impossible or differ."""
    if execution.outcome == "cannot be verified here":
        message = f"cannot be verified here: {execution.wording}"
        return [
            Diagnostic(
                code="CC976", severity=Severity.WARNING, message=message, hint=execution.hint
            )
        ]
    if execution.outcome == "different":
        message = f"the migrated script trains differently: {execution.wording}"
        return [Diagnostic(code="CC977", message=message)]
    return []


def plain(execution: Execution) -> dict[str, Any]:
    """Return the runs as plain data for JSON."""
    difference = execution.difference
    return {
        "outcome": execution.outcome,
        "wording": execution.wording,
        "updates": execution.updates,
        "exact": execution.exact,
        "difference": None
        if difference is None
        else {"update": difference.update, "what": difference.what, "words": difference.words},
        "notes": list(execution.notes),
    }
