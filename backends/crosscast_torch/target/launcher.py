"""How an API generation of PyTorch starts several processes, on one node or more."""

from __future__ import annotations

import re

from crosscast.emit.frame import Frame
from crosscast.targets.backend import Dialect

_ELASTIC = (
    '--rdzv-backend c10d --rdzv-endpoint "$address:$port"',
    '--rdzv-id "${RDZV_ID:-${SLURM_JOB_ID:-1}}"',
)
_STATIC = ('--node-rank "$node" --master-addr "$address" --master-port "$port"',)


def launcher(frame: Frame, dialect: Dialect) -> tuple[str, ...]:
    """Return the launcher's module and its options as lines of a shell command.

    `nodes.sh.j2` sets the shell variables in them.
    """
    modern = "run" in dialect.features
    nodes, launch = frame.nodes, frame.launch
    elastic = launch.rendezvous == "elastic"
    first = "torch.distributed.run" if modern else "torch.distributed.launch --use_env"
    if nodes > 1:
        first += f" --nnodes {nodes}"
    elif modern:
        first += " --standalone"
    if elastic:
        first += f" --max-restarts {launch.max_restarts}"
    meeting = _ELASTIC if elastic else _STATIC
    each = f"--nproc-per-node {frame.processes_per_node}"
    lines = (first, *(meeting if nodes > 1 else ()), each)
    return lines if "dashes" in dialect.features else tuple(map(_underscored, lines))


def _underscored(line: str) -> str:
    """Return options as launchers before PyTorch 2.0 spell them."""
    return re.sub(r"--[a-z-]+", lambda name: f"--{name[0][2:].replace('-', '_')}", line)
