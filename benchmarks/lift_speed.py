"""Scripts per second of `lift` and `lint` on a folder, after start-up.

    python benchmarks/lift_speed.py FOLDER [--jobs 2] [--rounds 3] [--alone]

Files are read before the clock starts. Files that belong together are read together, as the
commands do it; --alone takes every file for itself. The pool of processes is started and has
loaded all readers and rules before the clock starts; the best round counts. On a busy machine
only the seconds of CPU mean something.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from crosscast.messages.source import Source
from crosscast_reading.lift.batch import groups_of, lift_sources, read_sources
from crosscast_reading.lint.engine import lint_sources
from crosscast_reading.sources.files import kind_of
from crosscast_reading.sources.prefilter import may_train

Group = tuple[Source, ...]
WARM = Source("warm.py", "import torch\nloss.backward()\noptimizer.step()\n")


def lift_one(group: Group) -> float:
    started = time.process_time()
    lift_sources(group, {})
    return time.process_time() - started


def lint_one(group: Group) -> float:
    started = time.process_time()
    lint_sources(group)
    return time.process_time() - started


def filter_one(group: Group) -> float:
    started = time.process_time()
    any(may_train(source) for source in group)
    return time.process_time() - started


def warm_up(_: int) -> None:
    lift_one((WARM,))
    lint_one((WARM,))


def measure(
    work: Callable[[Group], float], groups: Sequence[Group], jobs: int, rounds: int
) -> list[tuple[float, float]]:
    """Return wall seconds and seconds of CPU of every round over all groups."""
    context = multiprocessing.get_context("spawn")
    seconds = []
    with ProcessPoolExecutor(jobs, context) as pool:
        list(pool.map(warm_up, range(4 * jobs)))
        for _ in range(rounds):
            started = time.perf_counter()
            cpu = sum(pool.map(work, groups, chunksize=4))
            seconds.append((time.perf_counter() - started, cpu))
    return seconds


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--alone", action="store_true", help="every file for itself")
    args = parser.parse_args()
    sources, _ = read_sources([str(args.folder)])
    groups = [(s,) for s in sources if may_train(s)] if args.alone else groups_of(sources, ())
    files = {source.name for group in groups for source in group}
    size = sum(len(source.text) for source in sources if source.name in files)
    scripts = sum(kind_of(source) == "python" for source in sources if source.name in files)
    print(
        f"{len(sources)} files, of which {len(files)} may train ({scripts} Python, {size / 1e6:.1f}"
        f" MB) in {len(groups)} groups; {args.jobs} processes"
    )
    everything = [(source,) for source in sources]
    for name, work, what in (
        ("filter", filter_one, everything),
        ("lift", lift_one, groups),
        ("lint", lint_one, groups),
    ):
        seconds = measure(work, what, args.jobs, args.rounds)
        count = len(sources) if work is filter_one else len(files)
        wall, cpu = (min(column) for column in zip(*seconds, strict=True))
        print(
            f"{name:6} {count / wall:8.1f} files/s; {count / cpu:.1f} for each second of CPU"
            f" (best of {args.rounds} rounds)"
        )


if __name__ == "__main__":
    main()
