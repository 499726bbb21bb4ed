"""Lint installed packages: no failure, and no finding in code that does not train.

    python benchmarks/lint_installed.py [--files 1000] [--seed 0] [--under FOLDER]

Prints what was found, and how many files a second one core looks at: of all files, and of those
that get past the pre-filter. Exits with 1 if a part of crosscast failed.
"""

from __future__ import annotations

import argparse
import random
import sys
import sysconfig
import time
from pathlib import Path

from crosscast.messages.source import Source
from crosscast_reading.lint.engine import lint_sources
from crosscast_reading.sources.files import Text, read_text
from crosscast_reading.sources.prefilter import may_train


def main() -> int:
    """Look, and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--files", type=int, default=1000, help="how many, chosen at random")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--under", type=Path, default=Path(sysconfig.get_path("purelib")))
    parser.add_argument("--slowest", type=int, default=3, help="how many of the slowest to name")
    options = parser.parse_args()
    paths = sorted(options.under.rglob("*.py"))
    paths = random.Random(options.seed).sample(paths, min(options.files, len(paths)))
    lint_sources([Source("warm.py", "import torch\nloss.backward()\noptimizer.step()\n")])
    failures = findings = words = 0
    spent: list[tuple[float, Path]] = []
    start = time.process_time()
    for path in paths:
        begun = time.process_time()
        text = read_text(path, named=False)
        if not isinstance(text, Text):
            continue
        words += may_train(text.source)
        for result in lint_sources([text.source]):
            failures += not result.is_finding
            findings += result.is_finding
            place = result.span or path
            print(f"{place}: {result.severity} {result.code}: {result.message}")
        spent.append((time.process_time() - begun, path))
    seconds = time.process_time() - start
    print(
        f"{len(paths)} files, {words} with words of training: {failures} failures, "
        f"{findings} findings; {len(paths) / seconds:.0f} files a second"
    )
    for duration, path in sorted(spent, reverse=True)[: options.slowest]:
        print(f"  {duration:.2f} s {path}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
