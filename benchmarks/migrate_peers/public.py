"""The public programs of benchmarks/migrate_programs, by crosscast and by the tool for their era.

PaConvert translates PyTorch to Paddle, so its rows stand beside `crosscast migrate --to paddle`;
tf_upgrade_v2 and paddle_upgrade_tool stay in their framework, as crosscast does in place. What a
tool writes is judged without the tool: whether it parses, which names of it the installed release
does not have, and, in place, what a run with the same stand-ins observes.
"""

from __future__ import annotations

import ast
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from means import HERE, Means, call, crosscast, last_line

from crosscast.messages.source import Source
from crosscast_paddle.migration.experimental.paddle_names.present import absent_part
from crosscast_paddle.migration.experimental.paddle_names.uses import whole_names
from crosscast_reading.pysource.programs.module import Module

sys.path.append(str(HERE.with_name("migrate_programs")))
from programs import Program, programs_of
from trial import UPDATES, parses, run_program

Row = dict[str, Any]
Migrated = tuple[Path, str]
"""The folder that a tool wrote, and its last line if it failed."""


def crosscast_in_place(program: Program, folder: Path, means: Means) -> Migrated:
    """Migrate in place."""
    paths = [path for path in program.paths if path.endswith((".py", ".sh", ".ipynb"))]
    extra = program.entry.get("options", [])
    done = crosscast(
        ["migrate", *paths, "--to", program.to, "--write", "--experimental", *extra], folder
    )
    return folder, "" if done.returncode in (0, 1) else last_line(done.stderr)


def crosscast_across(program: Program, folder: Path, means: Means) -> Migrated:
    """Write the training script of another framework."""
    paths = [path for path in program.paths if path.endswith((".py", ".sh"))]
    done = crosscast(["migrate", *paths, "--to", "paddle", "-o", "out"], folder)
    out = folder / "out"
    return out, "" if out.is_dir() else last_line(done.stdout + done.stderr)


def paconvert(program: Program, folder: Path, means: Means) -> Migrated:
    """Translate the whole folder."""
    tool = Path(means["paconvert"]).with_name("paconvert")
    out = folder.with_name("out")
    command = [str(tool), "--in_dir", folder.name, "--out_dir", out.name, "--log_dir", "log.txt"]
    done = call(command, folder.parent, means.limit)
    return out, last_line(done.stderr) if done.returncode or not out.is_dir() else ""


def tf_upgrade(program: Program, folder: Path, means: Means) -> Migrated:
    """Upgrade the whole folder; its report is not read."""
    tool = Path(means["here"]).with_name("tf_upgrade_v2")
    out = folder.with_name("out")
    command = [str(tool), "--intree", str(folder), "--outtree", str(out)]
    more = ["--copyotherfiles", "True", "--reportfile", str(folder.with_name("report.txt"))]
    done = call([*command, *more], folder.parent, means.limit)
    return out, last_line(done.stderr) if done.returncode or not out.is_dir() else ""


def paddle_upgrade(program: Program, folder: Path, means: Means) -> Migrated:
    """Upgrade the whole folder in place."""
    tool = Path(means["paddle-upgrade"]).with_name("paddle_upgrade_tool")
    command = [str(tool), "-i", ".", "-w", "--no-confirm", "--no-log-file"]
    backup = ["-b", str(folder.with_name("backup"))]
    done = call([*command, *backup], folder, means.limit)
    return folder, last_line(done.stderr) if done.returncode else ""


@dataclass(frozen=True, kw_only=True)
class PublicTool:
    """A tool, the eras that it is for, and the framework of what it writes."""

    title: str
    eras: tuple[str, ...]
    make: Callable[[Program, Path, Means], Migrated]
    writes: str
    in_place: bool = True
    needs: str = "here"


PUBLIC_TOOLS = {
    "crosscast-across": PublicTool(
        title="crosscast, to Paddle",
        eras=("apex", "cuda_amp"),
        make=crosscast_across,
        writes="paddle",
        in_place=False,
    ),
    "paconvert": PublicTool(
        title="PaConvert",
        eras=("apex", "cuda_amp"),
        make=paconvert,
        writes="paddle",
        in_place=False,
        needs="paconvert",
    ),
    "crosscast": PublicTool(
        title="crosscast, in place",
        eras=("tensorflow1", "paddle1"),
        make=crosscast_in_place,
        writes="",
    ),
    "tf_upgrade_v2": PublicTool(
        title="tf_upgrade_v2", eras=("tensorflow1",), make=tf_upgrade, writes="tensorflow"
    ),
    "paddle_upgrade_tool": PublicTool(
        title="paddle_upgrade_tool",
        eras=("paddle1",),
        make=paddle_upgrade,
        writes="paddle",
        needs="paddle-upgrade",
    ),
}


def public_rows(files: Path, means: Means, only: str) -> dict[str, dict[str, Row]]:
    """Return program to tool to row."""
    eras = dict.fromkeys(era for tool in PUBLIC_TOOLS.values() for era in tool.eras)
    found: dict[str, dict[str, Row]] = {}
    for program in programs_of(files, list(eras), "", only):
        found[f"{program.era}/{program.name}"] = dict(_rows(program, means))
    return found


def _rows(program: Program, means: Means) -> Iterator[tuple[str, Row]]:
    for name, tool in PUBLIC_TOOLS.items():
        if program.era not in tool.eras:
            continue
        if tool.needs not in means.interpreters:
            yield name, {"answer": "not installed"}
            continue
        with tempfile.TemporaryDirectory(prefix="crosscast-") as made:
            folder = Path(made) / program.name
            folder.mkdir()
            program.copy(folder)
            row = _row(program, tool, folder, means)
        print(program.era, program.name, name, row, file=sys.stderr, flush=True)
        yield name, row


def _row(program: Program, tool: PublicTool, folder: Path, means: Means) -> Row:
    before = {path for path in program.paths if parses(folder / path)}
    out, failed = tool.make(program, folder, means)
    if failed:
        why = re.sub(r"/[\w./-]+/", "", failed)[:160]
        no_run = {"updates": 0, "runs": False, "scaled": False} if _runs(program, tool) else {}
        return {"answer": "failed", "why": why} | no_run
    if tool.in_place:
        broken = [path for path in sorted(before) if not parses(out / path)]
    else:
        broken = [str(p.relative_to(out)) for p in sorted(out.rglob("*.py")) if not parses(p)]
    row: Row = {"answer": "written", "broken": len(broken)}
    if (tool.writes or program.era.removesuffix("1")) == "paddle":
        row["absent"] = sorted({name for path in out.rglob("*.py") for name in _absent(path)})
    if _runs(program, tool):
        row |= _run(program, out)
    return row


def _runs(program: Program, tool: PublicTool) -> bool:
    return tool.in_place and program.can_run


def _run(program: Program, out: Path) -> Mapping[str, Any]:
    ended, attempts = run_program(program, program.start(out), seconds=300.0)
    scaled = any(attempt.scale not in (None, 1.0) for attempt in attempts)
    works = len(attempts) >= UPDATES or ended == "to its end"
    why = "" if works else re.sub(r"/[\w./-]+/", "", ended)[:160]
    return {"updates": len(attempts), "runs": works, "scaled": scaled, "why": why}


def _absent(path: Path) -> Iterator[str]:
    """Yield the names of paddle in a file that the installed release does not have."""
    try:
        text = path.read_text(encoding="utf-8")
        module = Module(Source(path.name, text), ast.parse(text))
    except (SyntaxError, UnicodeDecodeError, ValueError):
        return
    for _, name in whole_names(module):
        if name.startswith("paddle.fluid"):
            yield name
        elif gone := absent_part(name):
            yield gone
