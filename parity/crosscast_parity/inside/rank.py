"""One of the processes that a launcher starts, with what watches the script from outside.

A copy of this file lies as `train.py` beside an emitted launch.sh, which so starts it instead of
the script; `ranks.json` beside it says what the script is:

    {"inside": "crosscast_torch.inside", "emulate": false, "rank_variable": "RANK",
     "script": ".../train.py", "output": ".../run",
     "faults": {"1": ["2:0=inf"]}, "steps": [0, 1, 2], "folder": "", "last": "", "dropout": true}

Faults are by number of the process, which a variable tells: plain, or as JSON below `task.index`.
What it leaves is in `run/rank-N`, as `session` does it.
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


def rank_of(environment: Mapping[str, str], variable: str) -> int:
    """Return the rank of this process; 0 if the environment does not set it."""
    rank = json.loads(environment.get(variable, "0"))
    if isinstance(rank, dict):
        rank = rank.get("task", {}).get("index", 0)
    return int(rank)


def main(place: Path, arguments: Sequence[str]) -> int:
    """Make the run of this process; return the exit code of the script."""
    end_with_parent()
    spec = json.loads(place.read_text())
    number = rank_of(os.environ, spec["rank_variable"])
    output = Path(spec["output"]) / f"rank-{number}"
    output.mkdir(parents=True, exist_ok=True)
    inside = spec["inside"]
    session = Session(output, inside, emulate(inside) if spec["emulate"] else None)
    run = Run(
        name=f"rank {number}",
        script=spec["script"],
        output=str(output),
        arguments=list(arguments),
        faults=spec["faults"].get(str(number), []),
        steps=spec["steps"],
        folder=spec["folder"],
        last=spec.get("last", ""),
        dropout=spec["dropout"],
    )
    session.make(run)
    return int(json.loads((output / "done.json").read_text())["exit_code"])


if __name__ == "__main__":
    sys.exit(main(Path(__file__).resolve().with_name("ranks.json"), sys.argv[1:]))
