"""The number of processes that a launcher starts."""

from __future__ import annotations

import re
from dataclasses import replace

from crosscast.messages.diagnostics import Span
from crosscast_reading.facts.fact import Fact, Layer
from crosscast_reading.readers.settings import number_of
from crosscast_reading.readers.shell.launch import Launch
from crosscast_reading.readers.shell.text import Piece

_PER_NODE = ("nproc_per_node", "num_gpus", "nproc", "n_gpus", "ngpus")
_NODES = ("nnodes", "num_nodes", "num_machines")
_TOTAL = {"mpirun": ("np", "n", "c"), "horovodrun": ("np", "num_proc"), "srun": ("ntasks", "n")}


def with_processes(launch: Launch, slurm: dict[str, Piece]) -> Launch:
    """Return the launch with its numbers of processes and machines, as far as known."""
    processes = _processes(launch, slurm)
    if processes is None:
        return launch
    command = replace(launch.command, processes=processes, nodes=_nodes(launch, slurm))
    return replace(launch, command=command)


def _nodes(launch: Launch, slurm: dict[str, Piece]) -> Fact | None:
    """Return the number of machines, if known."""
    srun = launch.command.launcher == "srun"
    given = _option(launch, *_NODES, *(("nodes", "N") if srun else ()))
    if given is not None:
        product = _product(given)
        return replace(product, field="parallel.nodes") if product.known else None
    nodes = slurm.get("nodes")
    if not srun or nodes is None:
        return None
    return _fact(int(nodes.text), (nodes.span,), field="parallel.nodes")


def _option(launch: Launch, *names: str) -> Fact | None:
    """Return the first of these options of the launcher that is given."""
    return next((launch.options[name] for name in names if name in launch.options), None)


def _processes(launch: Launch, slurm: dict[str, Piece]) -> Fact | None:
    kind = launch.command.launcher
    if kind == "accelerate":
        total = _option(launch, "num_processes")
        return None if total is None else _product(total)
    if not kind:
        return None  # the options are those of a container
    if kind in _TOTAL:
        total = _option(launch, *_TOTAL[kind])
        if total is not None:
            return _product(total)
        return _of_slurm(launch, slurm) if kind == "srun" else None
    nodes = _option(launch, *_NODES)
    per_node = _option(launch, *_PER_NODE)
    if per_node is not None:
        return _product(per_node, nodes)
    devices = _option(launch, "gpus", "devices", "selected_gpus", "include")
    if devices is not None:
        counts = kind == "fabric" and str(devices.value).isdecimal()
        return _product(devices, nodes) if counts else _listed(devices, nodes)
    visible = next(
        (v for v in launch.command.environment if v.expression == "CUDA_VISIBLE_DEVICES"), None
    )
    if kind in ("paddle", "deepspeed") and visible is not None:
        return _listed(visible, nodes)
    return _product(nodes) if kind == "torchrun" and nodes is not None else None


def _of_slurm(launch: Launch, slurm: dict[str, Piece]) -> Fact | None:
    tasks, nodes, per_node = (slurm.get(n) for n in ("ntasks", "nodes", "ntasks-per-node"))
    pieces = [tasks] if tasks else [p for p in (nodes, per_node) if p] if per_node else []
    if not pieces:
        return None
    value = 1
    for piece in pieces:
        value *= int(piece.text)
    return _fact(value, tuple(p.span for p in pieces))


def _listed(devices: Fact, nodes: Fact | None) -> Fact | None:
    """Return the number of devices in a list: `0,1,2`, `localhost:0,1`, `a:0,1@b:2`."""
    if not devices.known:
        return _fact(None, devices.places, devices.reason)
    hosts = str(devices.value).strip("\"'").split("@")
    numbers = ",".join(host.rpartition(":")[2] for host in hosts)
    if not re.fullmatch(r"\d+(,\d+)*", numbers):
        return None
    return _product(_fact(len(numbers.split(",")), devices.places), nodes)


def _product(*parts: Fact | None) -> Fact:
    """Return the product of the numbers that are given."""
    value = 1
    given = [part for part in parts if part is not None]
    places = tuple(dict.fromkeys(place for part in given for place in part.places))
    for count in given:
        least, _, most = str(count.value).partition(":")  # `--nnodes 1:4` is elastic
        number = number_of(least) if most in ("", least) else None
        if not isinstance(number, int):
            reason = count.reason or f"{count.expression} is {count.value}"
            return _fact(None, places, reason)
        value *= number
    return _fact(value, places)


def _fact(
    value: int | None,
    places: tuple[Span, ...],
    reason: str = "",
    field: str = "parallel.world_size",
) -> Fact:
    return Fact(
        field=field,
        value=value,
        known=value is not None,
        reason=reason,
        places=places,
        layer=Layer.LAUNCHER,
        origin="derived",
        reader="shell",
    )
