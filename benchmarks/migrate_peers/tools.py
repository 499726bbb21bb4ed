"""The tools, each by its documented invocation, and what each made of an input."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from cases import Case
from emitted import to_paddle, to_tensorflow, to_torch
from means import HERE, Means, ToolResult, call, copied, crosscast, last_line


def in_place(case: Case, folder: Path, means: Means) -> ToolResult:
    """Bring a copy to the present API of its own framework."""
    script = copied(case, folder)
    done = crosscast(["migrate", script.name, "--to", case.api, "--write", "--json"], folder)
    if done.returncode not in (0, 1):
        return ToolResult(script=None, failed=last_line(done.stderr))
    found = json.loads(done.stdout)
    messages = [_sentence(problem) for problem in (*found["refusals"], *found["problems"])]
    changed = script.read_text(encoding="utf-8") != case.text
    if messages and not changed:
        return ToolResult(script=None, said=messages, refused=messages[0])
    notes = [change["hint"] for change in found["changes"] if change.get("hint")]
    return ToolResult(script=script, said=[*messages, *notes], changed=changed)


def _sentence(diagnostic: Mapping[str, str]) -> str:
    return f"{diagnostic['code']} {diagnostic['message']}"


def paconvert(case: Case, folder: Path, means: Means) -> ToolResult:
    """PyTorch to Paddle, folder by folder."""
    (folder / "in").mkdir()
    shutil.copy(case.path, folder / "in")
    program = Path(means["paconvert"]).with_name("paconvert")
    command = [str(program), "--in_dir", "in", "--out_dir", "out", "--log_dir", "log.txt"]
    done = call(command, folder, means.limit)
    written = folder / "out" / case.path.name
    if done.returncode or not written.exists():
        return ToolResult(script=None, failed=last_line(done.stderr))
    log = (folder / "log.txt").read_text(encoding="utf-8").splitlines()
    return ToolResult(script=written, said=[line for line in log if "[Not Support]" in line])


def tf_upgrade(case: Case, folder: Path, means: Means) -> ToolResult:
    """TensorFlow 1 to 2."""
    program = Path(means["here"]).with_name("tf_upgrade_v2")
    report = folder / "report.txt"
    command = [str(program), "--infile", str(case.path), "--outfile", case.path.name]
    done = call([*command, "--reportfile", report.name], folder, means.limit)
    written = folder / case.path.name
    if done.returncode or not written.exists():
        return ToolResult(script=None, failed=last_line(done.stderr))
    lines = report.read_text(encoding="utf-8").splitlines()
    messages = [line for line in lines if re.search(r"ERROR|WARNING|requires manual", line)]
    return ToolResult(
        script=written, said=messages, changed=written.read_text("utf-8") != case.text
    )


def torchfix(case: Case, folder: Path, means: Means) -> ToolResult:
    """All its rules, with repairs."""
    script = copied(case, folder)
    done = call(
        [means["torchfix"], "-m", "torchfix", "--select=ALL", "--fix", script.name],
        folder,
        means.limit,
    )
    if done.returncode > 1:
        return ToolResult(script=None, failed=last_line(done.stderr))
    messages = [line for line in done.stdout.splitlines() if " TOR" in line]
    return ToolResult(script=script, said=messages, changed=script.read_text("utf-8") != case.text)


def ivy(case: Case, folder: Path, means: Means) -> ToolResult:
    """Transpile the function that trains; it takes functions and classes, not scripts."""
    script = copied(case, folder)
    beside = str(Path(means["ivy"]).parent) + os.pathsep + os.environ["PATH"]  # it calls ruff
    command = [means["ivy"], str(HERE / "ivy_transpile.py"), script.name, "main"]
    stand_in = {"PYTHONPATH": str(HERE / "stand_in")} if "apex" in case.runs_in else {}
    done = call(command, folder, means.limit, PATH=beside, **stand_in)
    found = re.search(r"^output (.+)$", done.stdout, re.MULTILINE)
    if done.returncode or not found:
        return ToolResult(script=None, failed=last_line(done.stderr) or last_line(done.stdout))
    return ToolResult(script=Path(found[1]))


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A tool of the table."""

    title: str
    frameworks: tuple[str, ...]
    """Whose scripts it is for."""
    make: Callable[[Case, Path, Means], ToolResult]
    needs: str = "here"
    """Which interpreter."""


TOOLS = {
    "crosscast": Tool(
        title="crosscast, in place", frameworks=("torch", "tensorflow", "paddle"), make=in_place
    ),
    "to-torch": Tool(
        title="crosscast, to PyTorch", frameworks=("tensorflow", "paddle"), make=to_torch
    ),
    "to-tensorflow": Tool(
        title="crosscast, to TensorFlow", frameworks=("torch", "paddle"), make=to_tensorflow
    ),
    "to-paddle": Tool(
        title="crosscast, to Paddle", frameworks=("torch", "tensorflow"), make=to_paddle
    ),
    "paconvert": Tool(
        title="PaConvert",
        frameworks=("torch",),
        make=paconvert,
        needs="paconvert",
    ),
    "ivy": Tool(title="Ivy", frameworks=("torch",), make=ivy, needs="ivy"),
    "torchfix": Tool(title="TorchFix", frameworks=("torch",), make=torchfix, needs="torchfix"),
    "tf_upgrade_v2": Tool(
        title="tf_upgrade_v2",
        frameworks=("tensorflow",),
        make=tf_upgrade,
    ),
}
