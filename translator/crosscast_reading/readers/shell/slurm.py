"""`#SBATCH` lines: their requests, and the variables that SLURM sets for them."""

from __future__ import annotations

import re

from crosscast_reading.readers.shell.text import Piece, ShellText, Word

_LINE = re.compile(rb"^#SBATCH[ \t]+(--?[\w-]+)(?:[ \t]*=[ \t]*|[ \t]+)?([^\s#]*)", re.M)
_NAMES = {
    "-N": "nodes",
    "-n": "ntasks",
    "-c": "cpus-per-task",
    "-G": "gpus",
}
_TOP = 4_000_000


def directives(text: ShellText) -> dict[str, Piece]:
    """Return the requests by long name: nodes, ntasks, ntasks-per-node, gpus-per-node.

    Numbers only; `--gres=gpu:a100:4` counts as `gpus-per-node`. SLURM stops reading them at the
    first command.
    """
    requests: dict[str, Piece] = {}
    end = re.search(rb"^[ \t]*[^#\s]", text.bytes, re.M)
    for match in _LINE.finditer(text.bytes[: min(end.start() if end else _TOP, _TOP)]):
        name = match[1].decode("ascii", "replace")
        value = match[2].decode("utf-8", "replace")
        name = _NAMES.get(name, name.lstrip("-"))
        if "gpu" not in value and match[1] == b"--gres":
            continue
        name = "gpus-per-node" if name == "gres" else name
        number = re.search(r"(?:^|:)(\d+)(?:\(|$)", value.partition(",")[0])
        value = number[1] if number else ""
        if re.fullmatch(r"\d{1,6}", value):
            span = text.span(match.start(), match.end())
            requests[name] = Piece(text=value, span=span)
    return requests


def variables(requests: dict[str, Piece]) -> dict[str, Word]:
    """Return the variables that SLURM sets in the script, as far as the lines determine them."""
    result: dict[str, Word] = {}
    nodes = requests.get("nodes")
    per_node = requests.get("ntasks-per-node")
    tasks = requests.get("ntasks")
    if nodes is not None:
        for name in ("SLURM_NNODES", "SLURM_JOB_NUM_NODES"):
            result[name] = (nodes,)
    if per_node is not None:
        result["SLURM_NTASKS_PER_NODE"] = (per_node,)
    if tasks is None and nodes is not None and per_node is not None:
        total = str(int(nodes.text) * int(per_node.text))
        tasks = Piece(text=total, span=per_node.span, via=(nodes.span,), origin="derived")
    if tasks is not None:
        for name in ("SLURM_NTASKS", "SLURM_NPROCS"):
            result[name] = (tasks,)
    if (gpus := requests.get("gpus-per-node")) is not None:
        for name in ("SLURM_GPUS_ON_NODE", "SLURM_GPUS_PER_NODE"):
            result[name] = (gpus,)
    if (cpus := requests.get("cpus-per-task")) is not None:
        result["SLURM_CPUS_PER_TASK"] = (cpus,)
    return result
