"""Counts contestants of one framework: `half_memory_worker.py torch|tensorflow|paddle`.

Reads a job from every line of its input and answers with one line of JSON: what was counted, shape
by shape. Its first line is the versions.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import sys
import warnings
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from kept_bytes import Shape

DISTRIBUTIONS = {
    "torch": ("torch", "transformers"),
    "tensorflow": ("tensorflow", "tensorflow-cpu", "keras"),
    "paddle": ("paddlepaddle",),
}


def versions(framework: str) -> dict[str, str]:
    """Return the versions of what is measured, as far as it is installed."""
    installed = {}
    for name in DISTRIBUTIONS[framework]:
        with contextlib.suppress(PackageNotFoundError):
            installed[name.removesuffix("-cpu")] = version(name)
    return installed


def main() -> None:
    framework, answers = sys.argv[1], sys.stdout
    warnings.simplefilter("ignore")  # about fake tensors, and programs that are only built
    with contextlib.redirect_stdout(sys.stderr):
        models = importlib.import_module(f"kept_bytes.{framework}_models")
        print(json.dumps(versions(framework)), file=answers, flush=True)
        for line in sys.stdin:
            job = json.loads(line)
            shapes = [Shape(**shape) for shape in job.pop("shapes")]
            counts = models.measure(**job | {"shapes": shapes, "folder": Path(job["folder"])})
            answer = [counted.as_dict() for counted in counts]
            print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
