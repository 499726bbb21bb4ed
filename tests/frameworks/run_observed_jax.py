"""Trains an emitted JAX script in several ways: `run_observed_jax.py SCRIPT FOLDER ARGUMENT...`.

As it is, observed, with given masks, and with a fault; prints the rows of each run as JSON.
"""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path
from typing import Any

from crosscast_parity.inside import masks, observe
from crosscast_parity.inside.inject import make_injector, parse_fault
from crosscast_parity.inside.script import loaded, prepare

INSIDE = "crosscast_jax.inside"
WAYS: dict[str, dict[str, Any]] = {
    "plain": {},
    "observed": {"observed": True},
    "masked": {"masked": True},
    "masked, observed": {"masked": True, "observed": True},
    "fault": {"fault": "1:1=inf", "observed": True},
    "fault in a gradient": {"fault": "1:0=nan@head.bias", "observed": True},
}


def run(script: Path, output: Path, arguments: list[str], way: dict[str, Any]) -> list[Any]:
    """Train, and return the rows."""
    output.mkdir()
    with loaded(script) as module, contextlib.ExitStack() as after:
        prepare(INSIDE, module)
        if way.get("masked"):
            after.callback(masks.install(INSIDE, module, output, seed=7))
        if way.get("fault"):
            injector = make_injector(INSIDE, [parse_fault(way["fault"])])
            injector.install(module)
            after.callback(injector.uninstall)
        if way.get("observed"):
            after.callback(observe.install(INSIDE, module, output / "observed", [0, 1], True))
        code = module.main([*arguments, "--output", str(output / "run")])
    assert code == 0, code
    lines = (output / "run" / "trace.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def main(script: str, folder: str, *arguments: str) -> None:
    """Train in every way."""
    rows = {
        name: run(Path(script), Path(folder) / name, list(arguments), way)
        for name, way in WAYS.items()
    }
    print(json.dumps(rows))


if __name__ == "__main__":
    main(*sys.argv[1:])
