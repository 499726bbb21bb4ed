"""Run all neutral cases in one trainer and print what was seen, as JSON (`python -m`).

A process of its own, because PyTorch and TensorFlow do not live in one.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import sys
from importlib import metadata
from typing import Any

from crosscast_parity.adapters.cases import CASES, NotAsked


def observe(name: str) -> dict[str, Any]:
    """Return versions and observations of a trainer, by the name of its probe module."""
    module = importlib.import_module(f"crosscast_parity.adapters.probes.{name}")
    seen = {}
    for case in CASES:
        try:
            seen[case.name] = module.run(case).to_json()
        except NotAsked as reason:
            seen[case.name] = str(reason)  # the trainer decides nothing here
    return {
        "versions": {package: metadata.version(package) for package in module.PACKAGES},
        "half": module.half(),
        "cases": seen,
    }


if __name__ == "__main__":
    # Trainers print to standard output, too.
    with contextlib.redirect_stdout(sys.stderr):
        observation = observe(sys.argv[1])
    print(json.dumps(observation, allow_nan=False))
