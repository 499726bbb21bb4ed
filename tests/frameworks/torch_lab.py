"""A bench for emitted PyTorch scripts: a folder with data, scripts and what they leave."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from frameworks.emitted_script import BFLOAT16, FLOAT16, TINY, emit, tiny_recipe, write_rows
from frameworks.script_runs import Run, calls
from frameworks.subprocesses import completed, environment, warm

DROPOUT = TINY["model"] | {"dropout": 0.1}
SGD = {"name": "sgd", "learning_rate": 0.05}
DYNAMIC = {"mode": "dynamic", "init_scale": 2.0**24, "growth_interval": 3}
SCALED = {"precision": FLOAT16, "loss_scaling": DYNAMIC}
HALF = {"precision": BFLOAT16}
CHECK = "        check_version(settings)\n"
ROWS = 44
"""Training rows: windows of 16, 16 and 12."""


def accept_newer(folder: Path) -> None:
    """Take out a script's refusal of the installed PyTorch, which has what older ones call."""
    runner = folder / "runtime" / "run.py"
    text = runner.read_text()
    assert text.count(CHECK) == 1
    runner.write_text(text.replace(CHECK, ""))


class Lab:
    """Emits scripts below `folder` and runs them on the same small data."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.train = write_rows(folder / "train.npz", ROWS)
        self.eval = write_rows(folder / "eval.npz", 10, seed=1)
        self.flags = ("--train", self.train, "--eval", self.eval, "--device", "cpu")

    def script(self, name: str, **sections: Any) -> Path:
        """Return the emitted train.py of a tiny recipe."""
        return self.script_for("torch", name, **sections)

    def script_for(self, target: str, name: str, **sections: Any) -> Path:
        """Return it for a version of PyTorch, without its refusal of the installed one."""
        script = emit(tiny_recipe(**sections), target, self.folder / name) / "train.py"
        if target != "torch":
            accept_newer(script.parent)
        return script

    def main(self, script: Path, *runs: tuple[object, ...]) -> list[Run]:
        """Call main() once for each (output name, flags...), in one process."""
        listed = [
            (self.folder / script.parent.name / str(name), (*self.flags, "--threads", 1, *flags))
            for name, *flags in runs
        ]
        return calls(script, "torch", listed)

    def ended(self, script: Path, *runs: tuple[object, ...]) -> list[Run]:
        """As `main`, for runs that must finish."""
        found = self.main(script, *runs)
        for run in found:
            assert (run.code, run.traceback, run.stderr) == (0, "", ""), run
        return found

    def popen(self, *command: object, **env: str) -> subprocess.Popen[str]:
        """Start a command as a user would."""
        return subprocess.Popen(
            list(map(str, command)),
            env=environment() | {"PYTHON": warm("torch")} | env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def shell(self, *command: object, **env: str) -> subprocess.CompletedProcess[str]:
        """Run a command as a user would, to its end."""
        return completed(self.popen(*command, **env))
