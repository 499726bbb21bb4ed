"""Migrate one program as a user would, and run what comes of it."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from programs import FRAMEWORKS, Program

if TYPE_CHECKING:
    from crosscast_parity.side_by_side import recording

UPDATES = 20


@dataclass(slots=True)
class Trial:
    """What became of a program.

    `code`: exit code of `crosscast migrate`. `unparsed`: files that parsed before and do not
    any more. `again`: number of changes of a second migration. `ran`: how its run ended; "" if
    it was not run. `updates`: that were observed.
    """

    program: Program
    code: int = 0
    changes: int = 0
    refusals: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    unparsed: list[str] = field(default_factory=list)
    again: int = 0
    ran: str = ""
    updates: int = 0

    @property
    def outcome(self) -> str:
        """Return one word for it; what it means is judged by a person (`after` in the table)."""
        if self.unparsed or self.again or self.problems:
            return "broken"
        if not self.changes:
            return "refused" if self.refusals else "nothing"
        return "partly" if self.refusals else "converted"


def migrate(program: Program, folder: Path, extra: Sequence[str]) -> dict[str, Any]:
    """Migrate a copy in place; return what `--json` says, and the exit code as "code"."""
    paths = [path for path in program.paths if path.endswith((".py", ".sh", ".ipynb"))]
    options = ["--to", program.to, "--write", "--experimental", "--json", *extra]
    done = subprocess.run(
        [sys.executable, "-m", "crosscast", "migrate", *paths, *options],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        return json.loads(done.stdout) | {"code": done.returncode}
    except ValueError:
        problem = {"code": "", "message": (done.stderr or done.stdout)[-300:]}
        return {"code": done.returncode, "changes": [], "refusals": [], "problems": [problem]}


def tried(program: Program, *, run: bool, seconds: float) -> Trial:
    """Migrate a program, look at the result, and run it if that is asked for."""
    with tempfile.TemporaryDirectory(prefix="crosscast-") as name:
        folder = Path(name) / program.name
        folder.mkdir()
        program.copy(folder)
        parsed = {path for path in program.paths if parses(folder / path)}
        extra = program.entry.get("options", [])
        said = migrate(program, folder, extra)
        trial = Trial(
            program=program,
            code=said["code"],
            changes=len(said["changes"]),
            refusals=[f"{_place(r)} {r['code']} {r['message']}" for r in said["refusals"]],
            problems=[f"{p['code']} {p['message']}" for p in said["problems"] if _is_error(p)],
            unparsed=[path for path in sorted(parsed) if not parses(folder / path)],
        )
        if trial.changes:
            trial.again = len(migrate(program, folder, extra)["changes"])
        if run and program.can_run:
            trial.ran, attempts = run_program(program, program.start(folder), seconds)
            trial.updates = len(attempts)
        return trial


def parses(path: Path) -> bool:
    """Whether a file is Python that parses."""
    if path.suffix != ".py":
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(path.read_bytes())
        except (SyntaxError, ValueError):
            return False
    return True


def _is_error(problem: dict[str, Any]) -> bool:
    return problem.get("severity", "error") == "error"


def _place(refusal: dict[str, Any]) -> str:
    span = refusal.get("span") or {}
    return f"{span.get('file', '')}:{span.get('line', '')}" if isinstance(span, dict) else str(span)


def run_program(
    program: Program, folder: Path, seconds: float
) -> tuple[str, Sequence[recording.Attempt]]:
    """Run a migrated program; return how that ended, and the updates that were observed."""
    from crosscast_parity.side_by_side import running

    script = program.entry["main"]
    ran = running.run(
        running.Program(
            framework=FRAMEWORKS[program.era],
            python=sys.executable,
            folder=folder,
            script=script,
            arguments=tuple(program.entry.get("arguments", ())),
            texts={},
        ),
        running.Limits(seconds=seconds, updates=UPDATES),
    )
    attempts = ran.recording.attempts
    if len(attempts) >= UPDATES:
        return f"{UPDATES} updates", attempts
    if not ran.problem or ran.problem == "no optimizer made a step":
        return "to its end", attempts
    return ran.problem, attempts
