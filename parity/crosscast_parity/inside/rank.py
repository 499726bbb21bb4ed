"""One of the processes that a launcher starts, with what watches the script from outside.

A copy of this file lies as `train.py` beside an emitted launch.sh, which so starts it instead of
the script; `ranks.json` beside it says what the script is:

    {"framework": "torch", "emulate": false, "script": ".../train.py", "output": ".../run",
     "faults": {"1": ["2:0=inf"]}, "steps": [0, 1, 2]}

Faults are by number of the process. What it leaves is in `run/rank-N`, as `session` does it.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from crosscast_parity.inside.emulate import install as emulate
from crosscast_parity.inside.orphans import end_with_parent
from crosscast_parity.inside.session import Run, Session

NUMBERS = ("RANK", "PADDLE_TRAINER_ID")
"""Variables in which launchers tell a process its number."""


def rank_of(environment: Mapping[str, str]) -> int:
    """Return the number of this process among those that were started together."""
    for name in NUMBERS:
        if name in environment:
            return int(environment[name])
    cluster = json.loads(environment.get("TF_CONFIG", "{}"))
    return int(cluster.get("task", {}).get("index", 0))


def main(place: Path, arguments: Sequence[str]) -> int:
    """Make the run of this process; return the exit code of the script."""
    end_with_parent()
    spec = json.loads(place.read_text())
    number = rank_of(os.environ)
    output = Path(spec["output"]) / f"rank-{number}"
    output.mkdir(parents=True, exist_ok=True)
    session = Session(
        output, spec["framework"], emulate(spec["framework"]) if spec["emulate"] else None
    )
    run = Run(
        name=f"rank {number}",
        script=spec["script"],
        output=str(output),
        arguments=list(arguments),
        faults=spec["faults"].get(str(number), []),
        steps=spec["steps"],
    )
    session.make(run)
    return int(json.loads((output / "done.json").read_text())["exit_code"])


if __name__ == "__main__":
    sys.exit(main(Path(__file__).resolve().with_name("ranks.json"), sys.argv[1:]))
