"""The tools, each by its documented invocation, and what each made of an input."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cases import Case

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
Interpreters = Mapping[str, str]
"""Interpreter by name: `here` has today's frameworks, `paconvert` PaConvert, and so on."""


@dataclass(frozen=True, kw_only=True)
class Made:
    """What a tool made of an input."""

    script: Path | None
    """What it wrote; none if it refused or failed."""
    said: Sequence[str] = ()
    """Its lines about what it could not do or what a person must look at."""
    refused: str = ""
    """Its own words, if it declined with a message."""
    failed: str = ""
    """How it broke down."""
    changed: bool = True
    arguments: Sequence[str] = ()
    """Of the script, when it is run."""
    losses: str = "loss %"
    """Where the losses of a run are: printed lines, or a file of rows."""


def environment(**more: str) -> dict[str, str]:
    """Return the variables of a process: one thread, and nothing of the caller's Python."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    quiet = {"OMP_NUM_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONDONTWRITEBYTECODE": "1"}
    return kept | quiet | more


def call(
    command: Sequence[str], folder: Path, seconds: float = 300, **more: str
) -> subprocess.CompletedProcess[str]:
    """Run a command; exit code 124 if it took longer than its time."""
    try:
        return subprocess.run(
            command,
            cwd=folder,
            env=environment(**more),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        text = (late.stdout or b"").decode(errors="replace")
        return subprocess.CompletedProcess(command, 124, text, f"more than {seconds:.0f} s")


def crosscast(arguments: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the command of this checkout."""
    path = os.pathsep.join(str(ROOT / one) for one in ("translator", "backends", "parity"))
    return call([sys.executable, "-m", "crosscast", *arguments], folder, PYTHONPATH=path)


def _copy(case: Case, folder: Path) -> Path:
    return Path(shutil.copy(case.path, folder / case.path.name))


def in_place(case: Case, folder: Path, _: Interpreters) -> Made:
    """Bring a copy to the present API of its own framework."""
    script = _copy(case, folder)
    done = crosscast(["migrate", script.name, "--to", case.api, "--write", "--json"], folder)
    if done.returncode not in (0, 1):
        return Made(script=None, failed=_last(done.stderr))
    found = json.loads(done.stdout)
    said = [_sentence(one) for one in (*found["refusals"], *found["problems"])]
    changed = script.read_text(encoding="utf-8") != case.text
    if said and not changed:
        return Made(script=None, said=said, refused=said[0])
    notes = [one["hint"] for one in found["changes"] if one.get("hint")]
    return Made(script=script, said=[*said, *notes], changed=changed)


def _sentence(diagnostic: Mapping[str, str]) -> str:
    return f"{diagnostic['code']} {diagnostic['message']}"


def to_paddle(case: Case, folder: Path, given: Interpreters) -> Made:
    return across(case, folder, "paddle")


def to_tensorflow(case: Case, folder: Path, given: Interpreters) -> Made:
    return across(case, folder, "tensorflow")


def across(case: Case, folder: Path, target: str) -> Made:
    """Lift and compile; the model and the data are filled in, as its user would."""
    script = _copy(case, folder)
    settings = case.fill_in | {
        "data.train": "rows.npz",
        "data.eval": "rows.npz",
        "data.shuffle": "false",
        f"model.factory.{target}": f"{target}_net:build_model",
    }
    say = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
    done = crosscast(["migrate", script.name, "--to", target, "-o", "out", *say], folder)
    lines = [one for one in (done.stdout + done.stderr).splitlines() if one.strip()]
    written = folder / "out" / target / "train.py"
    if not written.exists():
        written = folder / "out" / "train.py"
    if not written.exists():
        said = [one for one in lines if re.search(r"\bCC\d{3}\b", one)]
        if done.returncode == 1 and said:
            return Made(script=None, said=lines, refused=said[0])
        return Made(script=None, failed=_last(done.stderr))
    for extra in (HERE / "models" / f"{target}_net.py", HERE / "models" / "start.py"):
        shutil.copy(extra, written.parent)
    write_rows = call([sys.executable, str(HERE / "models" / "rows.py"), str(script)], folder)
    assert not write_rows.returncode, write_rows.stderr
    rows = str(folder / "rows.npz")
    arguments = ["--train", rows, "--eval", rows, "--output", str(folder / "run"), "--device=cpu"]
    report = folder / "out" / "report.md"
    if report.exists():
        lines += report.read_text(encoding="utf-8").splitlines()
    half = case.facts.get("precision.compute_dtype") == "float16"
    if target == "paddle" and half:
        arguments += ["--use_fp16", "false"]  # a CPU has no float16 in Paddle
    return Made(
        script=written, said=lines, arguments=arguments, losses=str(folder / "run/trace.jsonl")
    )


def paconvert(case: Case, folder: Path, given: Interpreters) -> Made:
    """PyTorch to Paddle, folder by folder."""
    (folder / "in").mkdir()
    shutil.copy(case.path, folder / "in")
    program = Path(given["paconvert"]).with_name("paconvert")
    command = [str(program), "--in_dir", "in", "--out_dir", "out", "--log_dir", "log.txt"]
    done = call(command, folder)
    written = folder / "out" / case.path.name
    if done.returncode or not written.exists():
        return Made(script=None, failed=_last(done.stderr))
    log = (folder / "log.txt").read_text(encoding="utf-8").splitlines()
    return Made(script=written, said=[one for one in log if "[Not Support]" in one])


def tf_upgrade(case: Case, folder: Path, given: Interpreters) -> Made:
    """TensorFlow 1 to 2."""
    program = Path(given["here"]).with_name("tf_upgrade_v2")
    report = folder / "report.txt"
    command = [str(program), "--infile", str(case.path), "--outfile", case.path.name]
    done = call([*command, "--reportfile", report.name], folder)
    written = folder / case.path.name
    if done.returncode or not written.exists():
        return Made(script=None, failed=_last(done.stderr))
    lines = report.read_text(encoding="utf-8").splitlines()
    said = [one for one in lines if re.search(r"ERROR|WARNING|requires manual", one)]
    return Made(script=written, said=said, changed=written.read_text("utf-8") != case.text)


def torchfix(case: Case, folder: Path, given: Interpreters) -> Made:
    """All its rules, with repairs."""
    script = _copy(case, folder)
    done = call([given["torchfix"], "-m", "torchfix", "--select=ALL", "--fix", script.name], folder)
    if done.returncode > 1:
        return Made(script=None, failed=_last(done.stderr))
    said = [one for one in done.stdout.splitlines() if " TOR" in one]
    return Made(script=script, said=said, changed=script.read_text("utf-8") != case.text)


def ivy(case: Case, folder: Path, given: Interpreters) -> Made:
    """Transpile the function that trains; it takes functions and classes, not scripts."""
    script = _copy(case, folder)
    beside = str(Path(given["here"]).parent) + os.pathsep + os.environ["PATH"]  # it calls ruff
    command = [given["ivy"], str(HERE / "ivy_transpile.py"), script.name, "main"]
    stand_in = {"PYTHONPATH": str(HERE / "stand_in")} if "apex" in case.runs_in else {}
    limit = float(given.get("ivy seconds", "420"))
    done = call(command, folder, limit, PATH=beside, **stand_in)
    if done.returncode == 124:
        return Made(script=None, failed=f"not finished after {limit / 60:.0f} minutes")
    found = re.search(r"^output (.+)$", done.stdout, re.MULTILINE)
    if done.returncode or not found:
        return Made(script=None, failed=_last(done.stderr) or _last(done.stdout))
    return Made(script=Path(found[1]))


def _last(text: str) -> str:
    lines = [one.strip() for one in text.replace("\r", "\n").splitlines() if one.strip()]
    return lines[-1][:200] if lines else "no message"


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A tool of the table."""

    title: str
    frameworks: tuple[str, ...]
    """Whose scripts it is for."""
    make: Callable[[Case, Path, Interpreters], Made]
    needs: str = "here"
    """Which interpreter."""
    package: str = ""
    """Whose version is told; crosscast's own is this checkout."""


TOOLS = {
    "crosscast": Tool(
        title="crosscast, in place", frameworks=("torch", "tensorflow"), make=in_place
    ),
    "to-paddle": Tool(title="crosscast, to Paddle", frameworks=("torch",), make=to_paddle),
    "to-tensorflow": Tool(
        title="crosscast, to TensorFlow", frameworks=("torch",), make=to_tensorflow
    ),
    "paconvert": Tool(
        title="PaConvert",
        frameworks=("torch",),
        make=paconvert,
        needs="paconvert",
        package="paconvert",
    ),
    "ivy": Tool(title="Ivy", frameworks=("torch",), make=ivy, needs="ivy", package="ivy"),
    "torchfix": Tool(
        title="TorchFix", frameworks=("torch",), make=torchfix, needs="torchfix", package="torchfix"
    ),
    "tf_upgrade_v2": Tool(
        title="tf_upgrade_v2",
        frameworks=("tensorflow",),
        make=tf_upgrade,
        package="tensorflow-cpu",
    ),
}
