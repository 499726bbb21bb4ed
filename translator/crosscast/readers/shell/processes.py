"""The number of processes that a launcher starts."""

from __future__ import annotations

import re
from dataclasses import replace

from crosscast.facts.fact import Fact, Layer
from crosscast.messages.diagnostics import Span
from crosscast.readers.settings import number_of
from crosscast.readers.shell.launch import Launch
from crosscast.readers.shell.text import Piece

_PER_NODE = ("nproc_per_node", "num_gpus", "nproc", "n_gpus", "ngpus")
_NODES = ("nnodes", "num_nodes", "num_machines")
_TOTAL = {"mpirun": ("np", "n", "c"), "horovodrun": ("np", "num_proc"), "srun": ("ntasks", "n")}


def with_processes(launch: Launch, slurm: dict[str, Piece]) -> Launch:
    """Return the launch with its numbers of processes and machines, as far as known."""
    found = _processes(launch, slurm)
    if found is None:
        return launch
    command = replace(launch.command, processes=found, nodes=_nodes(launch, slurm))
    return replace(launch, command=command)


def _nodes(launch: Launch, slurm: dict[str, Piece]) -> Fact | None:
    """Return the number of machines, if known."""
    given = next((launch.options[name] for name in _NODES if name in launch.options), None)
    if given is None and launch.command.launcher == "srun":
        given = launch.options.get("nodes") or launch.options.get("N")
        nodes = slurm.get("nodes")
        if given is None and nodes is not None:
            return _fact(int(nodes.text), (nodes.span,), field="parallel.nodes")
    product = _product([given]) if given is not None else None
    return (
        replace(product, field="parallel.nodes") if product is not None and product.known else None
    )


def _processes(launch: Launch, slurm: dict[str, Piece]) -> Fact | None:
    options = launch.options
    kind = launch.command.launcher
    if kind == "accelerate":
        return _product([options["num_processes"]]) if "num_processes" in options else None
    if kind in _TOTAL:
        for name in _TOTAL[kind]:
            if name in options:
                return _product([options[name]])
        return _of_slurm(launch, slurm) if kind == "srun" else None
    per_node = next((options[name] for name in _PER_NODE if name in options), None)
    nodes = next((options[name] for name in _NODES if name in options), None)
    devices = next(
        (options[n] for n in ("gpus", "devices", "selected_gpus", "include") if n in options), None
    )
    if per_node is not None:
        return _product([per_node, nodes] if nodes is not None else [per_node])
    if devices is not None and kind != "torchrun":
        return _listed(devices, nodes)
    visible = next(
        (v for v in launch.command.environment if v.expression == "CUDA_VISIBLE_DEVICES"), None
    )
    if kind in ("paddle", "deepspeed") and visible is not None:
        return _listed(visible, nodes)
    return _product([nodes]) if kind == "torchrun" and nodes is not None else None


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
    """Return the number of devices in a list: `0,1,2`, `localhost:0,1`."""
    if not devices.known:
        return _fact(None, devices.places, devices.reason)
    text = str(devices.value).strip("\"'").rpartition(":")[2]
    if not re.fullmatch(r"\d+(,\d+)*", text):
        return None
    count = len(text.split(","))
    times = number_of(nodes.value) if nodes is not None and nodes.known else 1
    if times is None:
        return None
    places = devices.places + (nodes.places if nodes is not None else ())
    return _fact(int(count * times), places)


def _product(parts: list[Fact]) -> Fact | None:
    """Return the product of numbers."""
    value = 1
    places = tuple(dict.fromkeys(p for part in parts for p in part.places))
    for count in parts:
        least, _, most = str(count.value).partition(":")  # `--nnodes 1:4` is elastic
        number = number_of(least) if count.known and most in ("", least) else None
        if number is None or number != int(number):
            reason = count.reason or f"{count.expression} is {count.value}"
            return _fact(None, places, reason)
        value *= int(number)
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
