"""crosscast to another framework: lift and compile, and what its user fills in."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

from cases import Case
from means import HERE, Means, ToolResult, call, copied, crosscast, last_line

FLOAT32 = {
    "precision.mode": "none",
    "precision.compute_dtype": "float32",
    "loss_scaling.mode": "none",
}
"""What makes a recipe compute in float32 and leaves the rest of it as it is."""
_LEFT_OUT = re.compile(r"\bwarning CC9\d\d\b")
"""Warnings about what was not read, cannot be said, or is for the user to say."""


def to_torch(case: Case, folder: Path, means: Means) -> ToolResult:
    return across(case, folder, "torch")


def to_paddle(case: Case, folder: Path, means: Means) -> ToolResult:
    return across(case, folder, "paddle")


def to_tensorflow(case: Case, folder: Path, means: Means) -> ToolResult:
    return across(case, folder, "tensorflow")


def across(case: Case, folder: Path, target: str) -> ToolResult:
    """Lift and compile; the model and the data are filled in, as its user would.

    A source that computes in float32 on a CPU, where its half precision is off, cannot say within
    rounding whether an output that computes in float16 there trains the same. Such an output is
    compiled a second time, in float32.
    """
    script = copied(case, folder)
    write_rows = call([sys.executable, str(HERE / "models" / "rows.py"), str(script)], folder, 60)
    assert not write_rows.returncode, write_rows.stderr
    half = case.facts.get("precision.compute_dtype") == "float16"
    arguments = ["--device=cpu"]
    if target == "paddle" and half:
        arguments += ["--use_fp16", "false"]  # a CPU has no float16 in Paddle
    made = _written(case, script, folder / "out", target, {}, arguments)
    if made.script is None or not half or target == "paddle" or case.computes_half:
        return made
    plain = _written(case, script, folder / "plain", target, FLOAT32, arguments)
    return made.with_float32(plain)


def _written(
    case: Case,
    script: Path,
    out: Path,
    target: str,
    more: dict[str, str],
    arguments: list[str],
) -> ToolResult:
    settings = {
        **case.fill_in,
        "data.train": "rows.npz",
        "data.eval": "rows.npz",
        "data.shuffle": "false",
        f"model.factory.{target}": f"{target}_net:build_model",
        **more,
    }
    say = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
    done = crosscast(["migrate", script.name, "--to", target, "-o", out.name, *say], out.parent)
    lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    written = out / target / "train.py"
    if not written.exists():
        messages = [line for line in lines if re.search(r"\bCC\d{3}\b", line)]
        if done.returncode == 1 and messages:
            return ToolResult(script=None, said=lines, refused=messages[0])
        return ToolResult(script=None, failed=last_line(done.stderr))
    for extra in (f"{target}_net.py", "start.py"):
        shutil.copy(HERE / "models" / extra, written.parent)
    rows, results = str(out.parent / "rows.npz"), out.parent / f"run-{out.name}"
    return ToolResult(
        script=written,
        said=[line for line in lines if _LEFT_OUT.search(line)],
        arguments=[*arguments, "--train", rows, "--eval", rows, "--output", str(results)],
        trace=results / "trace.jsonl",
    )
