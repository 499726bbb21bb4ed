"""Measure a cold `crosscast compile` of all targets, and recipes a second in one process.

Every round runs each command once, one after the other, so that a busy machine slows all of them
alike. CPU time is that of the child process; wall time is also printed, and means something only
on an idle machine. Bytecode is cached, of modules and of templates, as it is for a user.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RECIPE = ROOT / "examples" / "bert-small" / "recipe.yaml"
LIBRARIES = "import pydantic, jinja2, typer, rich"
LOADED = f"{LIBRARIES}; pydantic.BaseModel"  # importing pydantic alone loads little of it
MAIN = "from crosscast.cli import run; run()"


@dataclass
class Timing:
    """Seconds of every run of one command."""

    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)


def commands(targets: Sequence[str], output: Path) -> dict[str, list[str]]:
    """Return what is measured, by the name it has in the table."""
    compile_one = ["-c", MAIN, "compile", str(RECIPE), "-o", str(output), "--force", "--to"]
    return {
        "python -c pass": ["-c", "pass"],
        "import the libraries": ["-c", LIBRARIES],
        "load the libraries": ["-c", LOADED],
        "crosscast --version": ["-c", MAIN, "--version"],
        f"compile {targets[0]}": [*compile_one, targets[0]],
        f"compile {', '.join(targets)}": [*compile_one, ",".join(targets)],
    }


def run_once(arguments: Sequence[str], timing: Timing) -> None:
    """Run Python with these arguments, its output thrown away."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    started = time.perf_counter()
    with Path(os.devnull).open("w") as nowhere:
        files = [(os.POSIX_SPAWN_DUP2, nowhere.fileno(), stream) for stream in (1, 2)]
        child = os.posix_spawn(
            sys.executable, [sys.executable, *arguments], environment, file_actions=files
        )
        _, status, usage = os.wait4(child, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        raise SystemExit(f"failed: python {' '.join(arguments)}")
    timing.wall.append(time.perf_counter() - started)
    timing.cpu.append(usage.ru_utime + usage.ru_stime)


def measure(listed: Mapping[str, Sequence[str]], rounds: int) -> dict[str, Timing]:
    """Return the timings of all commands; a first round, which fills caches, does not count."""
    timings = {name: Timing() for name in listed}
    for number in range(rounds + 1):
        for name, arguments in listed.items():
            run_once(arguments, timings[name] if number else Timing())
    return timings


def print_table(timings: Mapping[str, Timing]) -> None:
    """Print medians and minima, and the minima as multiples of what the libraries take."""
    bases = [min(timings[f"{verb} the libraries"].cpu) for verb in ("import", "load")]
    width = max(map(len, timings))
    print(f"{'':{width}}  CPU s (min)      wall s (min)     / import, / load")
    for name, timing in timings.items():
        ratios = [min(timing.cpu) / base for base in bases]
        cpu, wall = statistics.median(timing.cpu), statistics.median(timing.wall)
        print(
            f"{name:{width}}  {cpu:.3f} ({min(timing.cpu):.3f})    "
            f"{wall:.3f} ({min(timing.wall):.3f})    {' '.join(f'{r:8.2f}' for r in ratios)}"
        )


def recipes_per_second(targets: Sequence[str], seconds: float) -> float:
    """Return how many recipes a warm process reads and compiles for all targets in a second."""
    from crosscast.emit.compiler import compile_recipe
    from crosscast.recipe.load import load

    compile_recipe(load(str(RECIPE)), targets)
    count, started = 0, time.process_time()
    while (spent := time.process_time() - started) < seconds:
        compile_recipe(load(str(RECIPE)), targets)
        count += 1
    return count / spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=15, help="runs of every command")
    parser.add_argument("--to", default="torch,tensorflow,paddle", help="targets to compile")
    options = parser.parse_args()
    targets = options.to.split(",")
    with tempfile.TemporaryDirectory() as output:
        print_table(measure(commands(targets, Path(output)), options.rounds))
    print(f"{recipes_per_second(targets, 3.0):.0f} recipes a second, read and compiled, warm")


if __name__ == "__main__":
    main()
