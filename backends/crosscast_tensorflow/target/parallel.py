"""What the templates print of several processes: the all-reduce and what depends on it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from crosscast.emit.frame import Frame
from crosscast.emit.launching import StartView, start_view
from crosscast.plan import predicates
from crosscast.plan.operations import Plan
from crosscast.targets.backend import Dialect
from crosscast_tensorflow.target.keras import decorator
from crosscast_tensorflow.target.literals import WIDTH

_MEASURES = {
    True: "Make the step if the gradients are finite; return loss, norm and finding.",
    False: "Make one optimizer step; return the loss and the norm of the gradients.",
}
_REDUCES = "Average over all processes and make the step."


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionsView:
    """The compiled functions of a step."""

    decorator: str
    """Of those without collective operations."""
    full_decorator: str
    """Of the one for a full window, which averages over the processes."""
    last: Literal["window_step", "reduced_step"]
    """The one that makes the step of a window whose gradients are summed."""
    window_head: tuple[str, ...]
    """Signature and docstring of `window_step`, as lines."""
    reduced_head: tuple[str, ...]
    """Signature and docstring of `reduced_step`, as lines."""


def functions_view(plan: Plan, dialect: Dialect, *, jit_compile: bool) -> FunctionsView:
    """Return the view of the compiled functions.

    Whatever looks at gradients gets their mean over the processes. XLA has no collective operations
    on CPUs, so the mean is taken in a function of its own, which it never compiles.
    """
    scaled, several = predicates.scaled(plan), predicates.parallel(plan)
    return FunctionsView(
        decorator=decorator(dialect, jit_compile=jit_compile),
        full_decorator=decorator(dialect, jit_compile=jit_compile and not several),
        last="reduced_step" if several else "window_step",
        window_head=_head("window_step", _MEASURES[scaled], scaled=scaled, means=several),
        reduced_head=_head("reduced_step", _REDUCES, scaled=scaled, means=False),
    )


def launch_view(frame: Frame) -> StartView:
    """Return the view for starting the processes.

    Every process is told the address of every other one, so launch.sh needs those of all nodes.
    """
    # Jobs next to each other may share a node: none takes a port of the next one's.
    turn = f"SLURM_JOB_ID * {frame.processes}"
    return replace(start_view(frame), one_address=False, port_turn=turn)


def parallel_advice(plan: Plan) -> tuple[str, ...]:
    """Return the requests of a step's head to a program with several processes, as lines."""
    if not predicates.parallel(plan):
        return ()
    return (
        "Make a tf.distribute.MultiWorkerMirroredStrategy before anything else, build model",
        "and optimizer in its scope, and TrainState(model, optimizer, strategy) after it.",
    )


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
    if len(line) <= WIDTH:
        lines: tuple[str, ...] = (line,)
    elif len(arguments) + 4 <= WIDTH:
        lines = (f"def {name}(", f"    {arguments}", ") -> tf.Tensor:")
    else:
        each = (f"    {argument}," for argument in arguments.split(", "))
        lines = (f"def {name}(", *each, ") -> tf.Tensor:")
    return (*lines, f'    """{docstring}"""')
