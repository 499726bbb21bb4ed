"""Kill comparisons of real frameworks at random moments and resume them: `make kills`.

A comparison that was killed and resumed must come to the same report as one that was not.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mutants.trials import RECIPE

PASSING = ("seconds", "cached", "command", "peak_memory_mib", "log_tail")
"""What a repetition may change in a report."""


def main(argv: Sequence[str] | None = None) -> int:
    """Kill and resume; return 1 if a report differs."""
    parser = argparse.ArgumentParser(prog="make kills", description=__doc__)
    add = parser.add_argument
    add("--times", type=int, default=10, help="comparisons to kill")
    add("--to", default="torch,tensorflow,paddle", metavar="TARGET,...")
    add("--jobs", type=int, default=2, help="parallel processes")
    add("--seed", type=int, default=0, help="of the moments")
    add("--output", type=Path, default=Path("build/kills"))
    options = parser.parse_args(argv)
    moments, wrong = random.Random(options.seed), 0
    command = [sys.executable, "-m", "crosscast", "parity", str(RECIPE), "--to", options.to]
    command += ["--stress", "--jobs", str(options.jobs), "--output"]
    whole, seconds = _whole(command, options.output / "whole")
    for number in range(options.times):
        folder = options.output / f"killed-{number}"
        moment = _killed([*command, str(folder)], folder, seconds, moments)
        resumed, _ = _whole(command, folder)
        same = _lasting(resumed) == _lasting(whole)
        wrong += not same
        result = "equal" if same else "DIFFERENT"
        when = f"killed after {moment:.1f} s of {seconds:.1f}"
        print(f"{number + 1}: {when}, resumed: the report is {result}", flush=True)
        shutil.rmtree(folder, ignore_errors=True)
    return int(wrong > 0)


def _whole(command: Sequence[str], folder: Path) -> tuple[Any, float]:
    """Run a comparison to its end; return its report and how long it took."""
    begun = time.monotonic()
    ended = subprocess.run(
        [*command, str(folder)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    if ended.returncode != 0:
        raise RuntimeError(f"exit code {ended.returncode}: {ended.stderr[-2000:]}")
    return json.loads((folder / "report.json").read_text()), time.monotonic() - begun


def _killed(command: Sequence[str], folder: Path, seconds: float, moments: random.Random) -> float:
    """Start a comparison and kill it with all its processes; return after how many seconds.

    One that ends before its moment begins again, to be killed earlier.
    """
    moment = moments.uniform(0.5, seconds)
    while True:
        shutil.rmtree(folder, ignore_errors=True)
        if _dies(command, moment):
            return moment
        moment = moments.uniform(0.5, moment)


def _dies(command: Sequence[str], seconds: float) -> bool:
    running = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        running.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()
        return True
    return False


def _lasting(report: Any) -> Any:
    """Return a report without what every repetition changes."""
    if isinstance(report, dict):
        return {key: _lasting(value) for key, value in report.items() if key not in PASSING}
    if isinstance(report, list):
        return [_lasting(value) for value in report]
    return report


if __name__ == "__main__":
    sys.exit(main())
