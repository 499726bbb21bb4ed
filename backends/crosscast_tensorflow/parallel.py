"""What the templates print of several processes: the all-reduce and what depends on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crosscast.emit.frame import Frame
from crosscast.plan.operations import Plan
from crosscast_tensorflow.adaptations import TensorflowAdaptation

_MEASURES = {
    True: "Make one optimizer step, if the gradients are finite; return norm and finding.",
    False: "Make one optimizer step; return the norm of the gradients.",
}


def parallel_view(view: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of the view that depends on the number of processes.

    Whatever looks at gradients gets their mean over the processes. XLA has no collective operations
    on CPUs, so the mean is taken in a function of its own, which it never compiles.
    """
    scaled, several = view["scaled"], view["distributed"]
    scale = ("scale_tensor",) if scaled else ()
    counted = ("rows", "n_micro", *(("tokens",) if view["tokens"] else ()))
    return {
        "micro_arguments": ", ".join(("state", "loss_fn", "batch", "divisor", *scale)),
        "window_arguments": ", ".join(("state", *(("gradients",) if several else ()), *scale)),
        "window_head": _head(scaled=scaled, several=several),
        "counted": ", ".join(counted),
        "rank_seed": ", rank" if several else "",
    }


def start_view(plan: Plan, frame: Frame, view: Mapping[str, Any]) -> dict[str, Any]:
    """Return what launch.sh prints of TF_CONFIG, which is all that TensorFlow knows of a start.

    Every process is told the address of every other one, so launch.sh needs those of all nodes.
    """
    launch, each = view["launch"], frame.processes_per_node
    several = launch["several"]
    # Jobs next to each other may share a node: none takes a port of the next one's.
    turn = {"one_address": False, "port_turn": f"SLURM_JOB_ID * {frame.processes}"}
    kind = (
        "workers_of_nodes"
        if TensorflowAdaptation.WORKERS_OF_NODES in plan.adapted
        else "local_workers"
    )
    return {
        "launch": launch | turn,
        "workers_file": f"tensorflow/{kind}.sh.j2",
        "ranks": (f"node * {each}", f"(node + 1) * {each}") if several else (0, each),
    }


def _head(*, scaled: bool, several: bool) -> tuple[str, ...]:
    """Return the signature of window_step and its docstring."""
    docstring = f'    """{_MEASURES[scaled]}"""'
    returned = "tuple[tf.Tensor, tf.Tensor]" if scaled else "tf.Tensor"
    arguments = ", ".join(
        (
            "state: TrainState",
            *(("gradients: list[tf.Tensor]",) if several else ()),
            *(("scale: tf.Tensor",) if scaled else ()),
        )
    )
    if scaled and several:
        return ("def window_step(", f"    {arguments}", f") -> {returned}:", docstring)
    return (f"def window_step({arguments}) -> {returned}:", docstring)


def parallel_advice(view: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what the head of a step asks of a program with several processes."""
    if not view["distributed"]:
        return ()
    return (
        "Make a tf.distribute.MultiWorkerMirroredStrategy before anything else, build model",
        "and optimizer in its scope, and TrainState(model, optimizer, strategy) after it.",
    )
