"""Runs of scripts whose dropout is given masks, all of one framework in one process."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from crosscast_parity.recordings.masks import GivenMasks, read_masks
from frameworks.script_runs import Run
from frameworks.subprocesses import start

SESSION = "crosscast_parity.inside.session"
SEED = 5


def asked(script: Path, output: Path, arguments: Sequence[object], **more: Any) -> dict[str, Any]:
    """Return the request for one run; `more` are the fields of `inside.session.Run`."""
    output.mkdir(parents=True)
    flags = [*map(str, arguments), "--output", str(output), "--device", "cpu", "--threads", "1"]
    run = {"name": output.name, "script": str(script), "output": str(output), "arguments": flags}
    return {**run, "masks": SEED, **more}


def masked(
    framework: str, folder: Path, runs: Sequence[dict[str, Any]], *, emulate: bool = False
) -> dict[str, Run]:
    """Make runs, with half precision emulated if asked; return them by name."""
    spec = folder / "spec.json"
    inside = f"crosscast_{framework}.inside"
    spec.write_text(json.dumps({"inside": inside, "emulate": emulate, "runs": list(runs)}))
    done = start(SESSION, framework, spec)
    assert done.returncode == 0, done.stderr[-3000:]
    found = {}
    for run in runs:
        output = Path(run["output"])
        ended = json.loads((output / "done.json").read_text())
        log = (output / "log.txt").read_text()
        assert ended["exit_code"] == 0, log[-3000:]
        found[run["name"]] = Run(output, 0, log, "")
    return found


def given(run: Run) -> GivenMasks:
    """Return what a run was given."""
    found = read_masks(run.output / "masks.json")
    assert found is not None
    return found
