"""What the templates print of several processes: the all-reduce and what depends on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crosscast.emit.frame import Frame
from crosscast.plan.operations import Plan
from crosscast_tensorflow.adaptations import TensorflowAdaptation

_MEASURES = {
    True: "Make the step if the gradients are finite; return loss, norm and finding.",
    False: "Make one optimizer step; return the loss and the norm of the gradients.",
}
_REDUCES = "Average over all processes and make the step."
_WIDTH = 88
"""Of an emitted line."""


def parallel_view(view: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of the view that depends on the number of processes.

    Whatever looks at gradients gets their mean over the processes. XLA has no collective operations
    on CPUs, so the mean is taken in a function of its own, which it never compiles.
    """
    scaled, several = view["scaled"], view["distributed"]
    counted = ("rows", "n_micro", *(("tokens",) if view["tokens"] else ()))
    step = "reduced_step" if several else "window_step"
    # Python calls the loss scale that a window hands to its functions `scale_tensor`.
    scale, scale_tensor = (("scale",), ("scale_tensor",)) if scaled else ((), ())
    micro = ("state", "loss_fn", "batch", "divisor")
    return {
        "micro_arguments": ", ".join((*micro, *scale)),
        "short_micro_arguments": ", ".join((*micro, *scale_tensor)),
        "full_arguments": ", ".join(("state", "loss_fn", "stacked", "divisor", *scale_tensor)),
        "step_call": f"{step}({', '.join(('state', 'window_loss', *scale))})",
        "short_step_call": f"{step}({', '.join(('state', 'window_loss', *scale_tensor))})",
        "reduced_arguments": ", ".join(("state", "window_loss", "gradients", *scale)),
        "window_head": _head("window_step", _MEASURES[scaled], scaled=scaled, means=several),
        "reduced_head": _head("reduced_step", _REDUCES, scaled=scaled, means=False),
        "window_decorator": view["decorator" if several else "step_decorator"],
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


def _head(name: str, docstring: str, *, scaled: bool, means: bool) -> tuple[str, ...]:
    """Return the signature and the docstring of a function that makes the step."""
    arguments = ", ".join(
        (
            "state: TrainState",
            "window_loss: tf.Tensor",
            *(("gradients: list[tf.Tensor]",) if means else ()),
            *(("scale: tf.Tensor",) if scaled else ()),
        )
    )
    line = f"def {name}({arguments}) -> tf.Tensor:"
    if len(line) <= _WIDTH:
        lines: tuple[str, ...] = (line,)
    elif len(arguments) + 4 <= _WIDTH:
        lines = (f"def {name}(", f"    {arguments}", ") -> tf.Tensor:")
    else:
        each = (f"    {argument}," for argument in arguments.split(", "))
        lines = (f"def {name}(", *each, ") -> tf.Tensor:")
    return (*lines, f'    """{docstring}"""')


def parallel_advice(view: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what the head of a step asks of a program with several processes."""
    if not view["distributed"]:
        return ()
    return (
        "Make a tf.distribute.MultiWorkerMirroredStrategy before anything else, build model",
        "and optimizer in its scope, and TrainState(model, optimizer, strategy) after it.",
    )
